"""Everything that guards privacy; a release can be audited by reading this folder alone, in this order.

1. What is promised: `budget` (what may be spent), `events` (what was drawn), `rules` (what each event costs, its chance
   to fail and its words), `accounting` (the proofs: `gdp`, `zcdp`, `gaussian`, and the noise that a cost buys).
2. What is spent: `ledger` (refuses before the draw), `spend_token` (pays for one draw), `pricing` (the one place where a
   share of the budget becomes an event).
3. What is drawn: `sensitive` (exact statistics, closed to all but mechanisms), `mechanisms`, `noise`, `exact_samplers`,
   `exact_choice`.
4. What may be asked: `doors` (tables, cells, columns, labels), over the statistics of `statistics`, whose sensitivities
   are proven there.
5. What outlives a run: `journal`, `spend_records`, `replay`, `run`.
6. What is said: `statement_facts`, `statement_text`, `statement`, `statement_of_run`.
"""
