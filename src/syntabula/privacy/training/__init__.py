"""What is known of training on samples of the records, without data; a release of marginals loads no file of this folder.

1. Cost: `sampled` (with proof), `grid` (the steps that sums of gradients are rounded to), `vector_samplers` (exact draws
   by the million), `prices` (cost, chance to fail, the noise that a cost buys).
2. Gradients: `gradient_parts`, `watched` and `per_record` (the sum of clipped gradients, by one backward pass).
"""
