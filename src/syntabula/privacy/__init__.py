"""Everything that guards privacy; a release can be audited by reading this folder alone, in this order.

1. What is promised: `rounding` (to the safe side), `conversion` (what a total promises, with proofs), `budget` (what may
   be spent).
2. What is drawn: `events` (each mechanism in its own parameters), `gdp` (what noise costs in Gaussian privacy, with
   proofs), `sampled` (what training on samples of the records costs there, with proof), `parameters` (the noise that
   a cost buys), `grid` (what a sum of gradients is rounded to), `exact_samplers`, `vector_samplers` (how noise is
   drawn), `rules` (of each event: cost in each currency, chance to fail, what a cost buys, words).
3. What is spent: `spends` (what was spent and answered), `ledger` (refuses before the draw; its tokens pay for one
   draw each), `pricing` (the one place where a share of the budget becomes an event).
4. How it is released: `sensitive` (exact statistics, closed to all but mechanisms), `noise`, `split_tree`,
   `mechanisms`; and of gradients `gradient_parts`, `watched`, `per_record` (the clipped sum, by one backward pass).
5. What outlives a run: `journal` (spends and answers on disk), `resume` (why a resumed run pays once for each answer).
6. What may be asked, in `doors`: of tables by `scores` (sensitivities, with proofs), `counted_table`, `tables`,
   `cells` and `thresholds`; of the records of one by `records` (training); of one raw column by `sorted_points`,
   `columns` and `labels`.
7. What is said: `statement_facts`, `statement`.

A new mechanism is one dataclass in `events`, one rule in `rules` and one draw in `mechanisms`.
"""
