"""Everything that protects privacy; to audit a release, read only this folder, in this order.

1. Guarantees: `rounding` (to the safe side), `conversion` (from totals to guarantees, with proofs), `budget` (the
   allowed total).
2. Mechanisms on paper: `events` (each mechanism's parameters), `gdp` (costs in Gaussian privacy, with proofs),
   `sampled` (the cost of training on samples of the records, with proof), `parameters` (the noise that a cost buys),
   `grid` (the steps that sums of gradients are rounded to), `exact_samplers` and `vector_samplers` (exact draws),
   `rules` (for each event: cost in each currency, failure probability, the noise that a cost buys, words).
3. Spending: `spends` (and their answers and checkpoints), `ledger` (refuses before the draw; each of its tokens pays
   for one draw), `pricing` (the only place where a share of the budget becomes an event).
4. Drawing: `sensitive` (exact statistics, closed to everything but mechanisms), `noise`, `split_tree`, `mechanisms`.
5. Interrupted runs: `journal` (what a run spent and was answered, on disk), `resume` (why a resumed run pays once for
   each answer).
6. Queries, in `doors`: to tables in `scores` (sensitivities, with proofs), `counted_table`, `tables`, `cells` and
   `thresholds`; to one raw column in `sorted_points`, `fine_cuts`, `columns` and `labels`.
7. Training on the records of a table: `gradient_parts`, `watched` and `per_record` (the sum of clipped gradients, by one
   backward pass), and the door `records` (what a session gives, and pays for). What learns of records without being
   trained by them: `teachers` (votes) and `features` (sums of bounded features), doors as well.
8. Reporting: `statement_facts`, `statement`.

A new mechanism is one dataclass in `events`, one rule in `rules` and one draw in `mechanisms`.
"""
