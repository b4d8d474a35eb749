"""Moves the drawn columns of an order between the given ones, where no draw came near these."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.raw import RawColumn
from syntabula.table.rules.computed import Flags
from syntabula.table.rules.days_and_times import DAY
from syntabula.table.rules.evaluation import Cells
from syntabula.table.rules.row_rules import RowRules
from syntabula.table.schema.columns import Date, Datetime


def within_orders(rules: RowRules, cells: Cells, given: Collection[str]) -> dict[str, RawColumn]:
    """Return the columns of orders with each row in order, if its given values are, by the smallest moves of the others.

    Args:
        rules: The rules. Derived columns of an order stay as they are.
        cells: All columns.
        given: Those whose values stay.
    """
    chains = [[n for n in chain if n not in rules.compiled.derived] for chain in rules.rules.order]
    chains = [chain for chain in chains if len(chain) > 1]
    values: dict[str, NDArray[Any]] = {}
    present: dict[str, Flags] = {}
    for name in dict.fromkeys(n for chain in chains for n in chain):
        values[name], present[name], _ = rules.numbers(name, cells[name])
    days = {n for chain in chains for n in chain if isinstance(rules.schema[n], Date)}
    # What moves in one order may have to move others in the next.
    for _ in chains:
        for chain in chains:
            # Times come before the end of a day.
            lasting = days if any(isinstance(rules.schema[n], Datetime) for n in chain) else ()
            _move(values, present, chain[::-1], given, np.minimum, lasting)
            _move(values, present, chain, given, np.maximum)
            for name in days.intersection(chain):
                values[name] = values[name] - values[name] % DAY
    return {
        name: cells[name] if name in given else rules.as_column(name, numbers, ~present[name])[0]
        for name, numbers in values.items()
    }


def _move(
    values: dict[str, NDArray[Any]],
    present: Mapping[str, Flags],
    chain: Sequence[str],
    given: Collection[str],
    nearer: np.ufunc,
    lasting: Collection[str] = (),
) -> None:
    """Move each value of a chain that is not given, to the largest or the smallest of those before it.

    Those of some columns last to the end of their day.
    """
    first, *others = chain
    end, known = values[first] + (DAY - 1) * (first in lasting), present[first]
    for name in others:
        if name not in given:
            values[name] = np.where(known & present[name], nearer(values[name], end), values[name])
        own = values[name] + (DAY - 1) * (name in lasting)
        further = np.where(known, nearer(own, end), own)
        end, known = np.where(present[name], further, end), known | present[name]
