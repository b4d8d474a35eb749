"""Everything that protects privacy; to audit a release, read only this folder, in this order.

1. Guarantees: `rounding` (to the safe side), `conversion` (from totals to guarantees, with proofs), `budget` (the
   allowed total).
2. Mechanisms on paper: `events` (each mechanism's parameters), `gdp` (costs in Gaussian privacy, with proofs),
   `sampled` (the cost of training on samples of the records, with proof), `parameters` (the noise that a cost buys),
   `grid` (the steps that sums of gradients are rounded to), `exact_samplers` and `vector_samplers` (exact draws),
   `rules` (for each event: cost in each currency, failure probability, the noise that a cost buys, words).
3. Spending: `spends` (spends and answers), `ledger` (refuses before the draw; each of its tokens pays for one draw),
   `pricing` (the only place where a share of the budget becomes an event).
4. Drawing: `sensitive` (exact statistics, closed to everything but mechanisms), `noise`, `split_tree`, `mechanisms`;
   for gradients `gradient_parts`, `watched`, `per_record` (the clipped sum, by one backward pass).
5. Interrupted runs: `journal` (spends and answers on disk), `resume` (why a resumed run pays once for each answer).
6. Queries, in `doors`: to tables in `scores` (sensitivities, with proofs), `counted_table`, `tables`,
   `cells` and `thresholds`; to its records in `records` (training); to one raw column in `sorted_points`, `columns`
   and `labels`.
7. Reporting: `statement_facts`, `statement`.

A new mechanism is one dataclass in `events`, one rule in `rules` and one draw in `mechanisms`.
"""
