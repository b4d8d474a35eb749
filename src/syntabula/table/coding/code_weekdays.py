"""The weekdays that the codes of a codec hold."""

from __future__ import annotations

import numpy as np

from syntabula.bins.rhythm import WEEKDAYS
from syntabula.marginals.measurement import FloatArray
from syntabula.table.coding.codec import Codec
from syntabula.table.schema.calendar import days_of
from syntabula.table.schema.columns import Ordered


def code_weekdays(codec: Codec) -> dict[str, FloatArray]:
    """Return the share of each weekday in each code of columns of days and times [codes, 7].

    Days of a bin count by the time that they have in it; codes without a day have all weekdays alike.
    """
    found: dict[str, FloatArray] = {}
    for name, bins in codec.bins.items():
        column = codec.schema[name]
        if not (name in codec.domain and isinstance(column, Ordered) and column.has_days):
            continue
        days, edges = days_of(column), np.array(bins.edges, dtype=np.int64)
        # Time of each weekday before each point at which a day begins, and between them evenly.
        times = np.diff(days.starts)[:, None] * (days.weekdays[:, None] == np.arange(WEEKDAYS))
        before = np.concatenate([np.zeros((1, WEEKDAYS)), np.cumsum(times, axis=0)])
        held = np.diff(np.stack([np.interp(edges, days.starts, b) for b in before.T], axis=1), axis=0)
        shares = np.full((codec.domain.size(name), WEEKDAYS), 1 / WEEKDAYS)
        shares[: bins.size] = held / np.maximum(held.sum(axis=1, keepdims=True), 1)
        found[name] = shares
    return found
