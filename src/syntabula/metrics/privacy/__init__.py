"""Privacy scores of a synthetic table alone; those that train models are in `syntabula.attacks`."""
