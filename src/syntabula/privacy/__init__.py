"""Everything that protects privacy; to audit a release, read only this folder, in this order.

1. Guarantees: `conversion` (from totals to guarantees, with proofs, and rounding to the safe side), `budget` (the allowed
   total), `units` (whom it protects, where persons have several rows, with proofs).
2. Mechanisms on paper: `events` (each mechanism's parameters), `gdp` (costs in Gaussian privacy, with proofs, and the
   noise that a cost buys), `vector_samplers` and `exact_samplers` (exact draws), `training` (a folder, for models that
   are trained on records alone), `rules` (for each event: cost in each currency, failure probability, the noise that a
   cost buys, words).
3. Spending: `journal` (what a run spent and was answered, in memory or on disk), `ledger` (refuses before the draw; each
   of its tokens pays for one draw), `pricing` (the only place where a share of the budget becomes an event).
4. Drawing: `noise`, `mechanisms` (the only functions that see an exact statistic and release a value), `resume` (why an
   interrupted run that is resumed pays once for each answer).
5. Queries, in `doors`: to tables in `scores` (sensitivities, with proofs), `tables` and `queries`; to one raw column in
   `columns` and `labels`. Exact counts, ranks and sums, which they ask for, are found in the room of marginals.
6. Reporting: `statement_facts`, `statement`.

A release of marginals loads no file of `training`; leave it out to audit one.

A new mechanism is one dataclass in `events`, one rule in `rules` and one draw in `mechanisms`.
"""
