"""What is likely to be asked of an ordered column of a table in parts, so that one pass answers it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from syntabula.bins.uniform import integer_dtype
from syntabula.marginals.sorted_points import CUTS_AHEAD, CodeFold, as_cuts, halving_cuts
from syntabula.prepare.atoms import candidates, few_multiples, needs_delta
from syntabula.prepare.preprocessing import Part, Preprocessing
from syntabula.prepare.refinement import CELLS, LEVELS, code_of_levels, steps_of
from syntabula.table.parts.points import Expected, ExpectedEnds
from syntabula.table.schema.columns import Ordered
from syntabula.table.schema.gaps import timed_end


def expected_of(column: Ordered, settings: Preprocessing) -> Expected:
    """Return what is likely to be asked of a column of a table in parts, by public facts alone.

    What it leaves out takes a further pass, so it need not be complete.
    """
    lower, upper, integer = column.span()
    scale, steps = column.scale(), steps_of(column)
    kind = integer_dtype(int(lower), int(upper)) if integer else np.dtype(np.float64)
    codes: dict[str, CodeFold] = {}
    if steps and settings.finds_roundness:
        codes[LEVELS] = code_of_levels(column)
    if scale is not None:
        codes[CELLS] = CodeFold(scale.cells, scale.size)
    if settings.finds_roundness and column.has_days:
        from syntabula.prepare.rhythm import folds

        codes |= folds(column)
    cuts: list[Any] = []
    if scale is None and settings.fitted is not None:
        cuts += halving_cuts([(lower, upper + 1 if integer else upper)], CUTS_AHEAD, integer=integer)
    seeks = settings.finds_atoms and column.atoms is None
    if seeks:
        few = few_multiples(steps, lower, upper)
        points = candidates(lower, upper, few[-1] if few else None, integer=integer)
        cuts += [*points, *((p + 1 if integer else math.nextafter(p, math.inf)) for p in points)]
    cuts += [
        end for p in column.declared_atoms for end in (p, p + 1 if integer else math.nextafter(p, math.inf))
    ]
    return Expected(column, as_cuts(cuts, kind), codes, shares=seeks and needs_delta(lower, upper, integer))


def expected_ends(
    parts: Mapping[str, Sequence[Part]], columns: Mapping[str, Ordered]
) -> dict[str, ExpectedEnds]:
    """Return what is asked of the ends of distances between times, by the distance's name.

    Args:
        parts: What is found of each column.
        columns: The columns.
    """
    found = {}
    for name, column in columns.items():
        end = timed_end(column)
        if "ends" in parts[name] and end is not None:
            from syntabula.prepare.ends import end_folds

            found[name] = ExpectedEnds(end, np.zeros(0, np.int64), end_folds(end), shares=False)
    return found
