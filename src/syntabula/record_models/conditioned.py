"""Conditions of CTGAN: one category of one column each, and the records that have it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from syntabula._extras import require
from syntabula.marginals.measurement import FloatArray
from syntabula.record_models.encoding import Encoding
from syntabula.record_models.loop import Pick

if TYPE_CHECKING:
    from torch import Generator, Tensor


def condition_shares(encoding: Encoding) -> FloatArray:
    """Return how often each condition is to be drawn [codes of all columns without modes] for rows like the records.

    The column is drawn evenly, and a category by its frequency. Public code reads the frequencies from wrong columns
    or takes their logarithms, and so has other one-way marginals than the table.
    """
    return _evenly([_column_shares(encoding, j) for j in encoding.whole])


def trained_condition_shares(encoding: Encoding, n_rows: int) -> FloatArray:
    """Return how often `picks_by_condition` draws each condition from so many records [codes as above]."""
    return _evenly([np.log1p(max(n_rows, 1) * _column_shares(encoding, j)) for j in encoding.whole])


def _column_shares(encoding: Encoding, column: int) -> FloatArray:
    shares = np.exp(encoding.lookups[column].log_shares.astype(np.float64))
    found: FloatArray = shares / shares.sum()
    return found


def _evenly(columns: Sequence[FloatArray]) -> FloatArray:
    """Return the chances of all columns' categories if the column is drawn evenly."""
    if not columns:
        return np.zeros(0)
    shares = np.concatenate([weights / weights.sum() for weights in columns])
    found: FloatArray = shares / shares.sum()
    return found


def picks_by_condition(table: Tensor, encoding: Encoding, *, multiple: int) -> Pick:
    """Return the pick of batches for training by sampling (Xu et al. 2019).

    A column without modes is drawn evenly, one of its categories in proportion to log(count + 1), and then a record
    evenly among those that have it. Without such a column all records are as likely.

    Args:
        table: Positions of codes [rows, columns].
        encoding: Of the columns.
        multiple: Batches have a multiple of so many records, some of them more than once if need be.

    Returns:
        A pick of records with the position of their condition added, or 0 if there is none [batch, columns + 1].
    """
    torch = require("torch", "neural")
    rows, device = len(table), table.device
    orders, counts, chances = [], [], []
    for j in encoding.whole:
        held = table[:, j].long()
        counts.append(torch.bincount(held, minlength=encoding.blocks.sizes[j]))
        orders.append(held.argsort(stable=True))
        weights = (counts[-1] + 1.0).log()
        chances.append(weights / weights.sum())
    if orders:
        order, many, chance = torch.cat(orders), torch.cat(counts), torch.cat(chances)
        first = many.cumsum(0) - many

    def pick(n: int, random: Generator) -> Tensor:
        # One record alone could not be normalised.
        n = -(-max(n, 2) // multiple) * multiple
        drawn = torch.rand(n, generator=random, device=device)
        if not orders:
            chosen, conditions = (drawn * rows).long(), torch.zeros(n, dtype=torch.long, device=device)
        else:
            conditions = torch.multinomial(chance, n, replacement=True, generator=random)
            chosen = order[first[conditions] + (drawn * many[conditions]).long()]
        found: Tensor = torch.cat([table[chosen], conditions[:, None].to(table.dtype)], 1)
        return found

    return pick
