"""What only models that learn from the records themselves need; a release of marginals loads no file of this folder.

1. Cost: `sampled` (with proof), `taken` (which records a step takes), `grid` (the steps that sums of gradients are
   rounded to), `prices` (cost, chance to fail, the noise that a cost buys).
2. Gradients: `gradient_parts`, `watched` and `per_record` (the sum of clipped gradients, by one backward pass).
3. Doors, after those to tables: `exact` (records as they are, where privacy is switched off), `records` (gradients),
   `teachers` (their votes), `features` (sums of bounded features), `counts` (votes for the nearest of some rows, and
   counts in the leaves of trees).
"""
