"""A cell that attacks one record (PS1 of Ganev et al., "The Importance of Being Discrete")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from syntabula.attacks.membership import attack
from syntabula.bench.candidate import Candidate, fraction_of
from syntabula.bench.cell import Cell
from syntabula.bench.splits import Split, declared
from syntabula.bench.table_source import load_table
from syntabula.bench.task_tables import settings_of
from syntabula.bench.tasks import Outcome
from syntabula.prepare.preprocessing import Preprocessing
from syntabula.table.draft import draft_schema
from syntabula.table.raw import RawTable
from syntabula.table.schema.columns import Numeric

_LEAST_SHARE = 1e-6


def run(cell: Cell) -> Outcome:
    """Attack the target through tables of many shadow models; the scores are areas under the curve.

    The option `bins_epsilon` is the epsilon for bins and domain, beside that of the cell for the model; where bins and
    domain cost nothing, only the model's is spent. The option `without` names columns that are left out. The target is
    the number of a row, "outlier", "extreme", the record furthest beyond the range of all others in one column, or
    "inside", the record nearest to the middle of all columns, on which the attack "range" cannot be mounted.
    """
    options: dict[str, Any] = {
        "shadows": 200, "target": "outlier", "bins_epsilon": 0.0, "without": (), **cell.task_options
    }  # fmt: skip
    whole = load_table(cell.dataset)
    kept = {name: column for name, column in whole.columns.items() if name not in options["without"]}
    table = RawTable(
        kept, whole.n_rows, replace(whole.origin, physical={n: c.physical for n, c in kept.items()})
    )
    split = Split(fit=table, learned=table, held_out=None, schema=draft_schema(table)[0], target=None)
    target = options["target"]
    found = attack(
        table,
        _synthesizer(cell, split, float(options["bins_epsilon"])),
        declared(split, cell.binning) if cell.binning.domain == "public" else None,
        attacks=cell.scores,
        target=_TARGETS[target](split) if target in _TARGETS else target,
        n_shadows=int(options["shadows"]),
        seed=cell.seed,
    )
    facts = {"shadows": options["shadows"]}
    for key, result in found.items():
        facts[f"epsilon at least, by {key}"] = result.epsilon_lower
        facts[f"right guesses, by {key}"] = result.success
    return Outcome(scores={key: float(result.auc) for key, result in found.items()}, facts=facts)


def _synthesizer(cell: Cell, split: Split, bins_epsilon: float) -> Any:
    given = settings_of(cell, split)
    given.pop("seed")  # each shadow model has its own
    costs_nothing = cell.binning.discretizer == "uniform" and cell.binning.domain != "found"
    if bins_epsilon and not costs_nothing:
        total = cell.epsilon + bins_epsilon
        share = fraction_of(min(max(bins_epsilon / total, _LEAST_SHARE), 1 - _LEAST_SHARE))
        given["epsilon"] = total
        given["preprocessing"] = Preprocessing(discretizer=cell.binning.made(), share=share)
    return Candidate(method=cell.method, options=cell.options).synthesizer(**given)


def _middle(split: Split) -> int:
    """Return the record whose numbers are nearest to the middle of their ranks."""
    table = split.fit
    distance = np.zeros(table.n_rows)
    for column in table.columns.values():
        if column.physical.is_ordered:
            ranks = np.argsort(np.argsort(column.values, kind="stable"), kind="stable")
            distance += np.abs(ranks / max(1, table.n_rows - 1) - 0.5)
    return int(np.argmin(distance))


def _extreme(split: Split) -> int:
    """Return the record that exceeds all others the most in one numeric column, as a share of their range."""
    furthest, chosen = -1.0, 0
    for name, column in split.fit.columns.items():
        known = np.flatnonzero(~column.missing)
        if not isinstance(split.schema.columns[name], Numeric) or known.size < 3:
            continue
        values = column.values[known].astype(np.float64)
        order = np.argsort(values, kind="stable")
        ascending = values[order]
        whole = float(ascending[-1] - ascending[0])
        for end, beside in ((-1, -2), (0, 1)):
            gap = abs(float(ascending[end] - ascending[beside]))
            share = gap / (whole - gap) if whole > gap else float(gap > 0)
            if share > furthest:
                furthest, chosen = share, int(known[order[end]])
    return chosen


_TARGETS: Mapping[str, Callable[[Split], int]] = {"inside": _middle, "extreme": _extreme}
