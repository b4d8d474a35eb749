"""Everything that protects privacy; to audit a release, read only this folder, in this order.

1. Guarantees: `rounding` (to the safe side), `conversion` (from totals to guarantees, with proofs), `budget` (the
   allowed total).
2. Mechanisms on paper: `events` (each mechanism's parameters), `gdp` (costs in Gaussian privacy, with proofs),
   `parameters` (the noise that a cost buys), `rules` (for each event: cost in each currency, failure probability, the
   noise that a cost buys, words).
3. Spending: `records` (spends and answers), `ledger` (refuses before the draw; each of its tokens pays for one draw),
   `pricing` (the only place where a share of the budget becomes an event).
4. Drawing: `sensitive` (exact statistics, closed to everything but mechanisms), `exact_samplers`, `noise`,
   `split_tree`, `mechanisms`.
5. Interrupted runs: `journal` (spends and answers on disk), `resume` (why a resumed run pays once for each answer).
6. Queries, in `doors`: to tables in `scores` (sensitivities, with proofs), `counted_table`, `tables`,
   `cells` and `thresholds`; to one raw column in `sorted_points`, `columns` and `labels`.
7. Reporting: `statement_facts`, `statement`.

A new mechanism is one dataclass in `events`, one rule in `rules` and one draw in `mechanisms`.
"""
