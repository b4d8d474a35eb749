"""Estimates of what cells take, from measurements of their methods and scores that come with the package.

They are of another machine, and of tables of other sizes: a power law over rows times columns says how they grow.
"""

from __future__ import annotations

import functools
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

from syntabula._spaces import Range
from syntabula.bench.cell import Cell
from syntabula.bench.table_names import table_and_rows
from syntabula.tuning.objective import EVALUATORS

START = 1.5
"""Seconds until a cell's process has imported what it needs."""
_LENGTHS = ("steps", "iterations")
"""Options that a fit takes time in proportion to."""
_STEPS_ALONE, _STEPS_AT_ONE, _LEAST_STEPS = 2000.0, 300.0, 100.0
"""Usual steps of training without privacy, and at epsilon 1."""
_BYTES_OF_A_CELL = 6
_ROWS, _COLUMNS = 10_000, 15
"""Of a table of which nothing is known."""
_QUICK_OBJECTIVE = ("wasserstein-sliced", "query-error-3")
_FINALS = 3
_TUNED_TRIALS = 50


Basis = Literal["measured", "scaled", "guessed"]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a cell may take.

    Attributes:
        seconds: Processor seconds, at most the limit of a cell.
        basis: "measured", if its method and all of its scores were, with its usual options and on any tables; "scaled",
            if the cell has many fits and one of them was measured; else "guessed".
    """

    seconds: float
    basis: Basis


def estimate(cell: Cell, limit: float) -> Estimate:
    """Return what a cell may take, within the limit of its seconds."""
    fit, known_fit = _fit(cell)
    scoring, known_scores = _scoring(cell)
    n_fits, rest = _TASKS[cell.task](cell, fit, scoring)
    basis: Basis = "scaled" if n_fits > 1 else "measured"
    if cell.options.keys() - {*_LENGTHS} or (n_fits and not (known_fit and known_scores)):
        basis = "guessed"
    return Estimate(seconds=min(limit, START + n_fits * fit + rest), basis=basis)


@functools.lru_cache(maxsize=256)
def cells_of_table(dataset: str) -> float:
    """Return the rows times the columns of a table; of a file, a guess from its size."""
    from syntabula.bench.table_names import CODED_ADULT
    from syntabula.datasets.registry import registry

    table, rows = table_and_rows(dataset)
    known = registry().get("adult" if table == CODED_ADULT else table)
    if known is not None:
        return float(min(known.n_rows, rows or math.inf) * max(1, known.n_columns))
    try:
        cells = os.path.getsize(table) / _BYTES_OF_A_CELL
    except OSError:
        cells = float(_ROWS * _COLUMNS)
    return min(cells, (rows or math.inf) * _COLUMNS)


def _fit(cell: Cell) -> tuple[float, bool]:
    """Return the seconds of one fit, and whether the method was measured."""
    if cell.method in ("SELF", "HALF", "HISTOGRAM", "BINS"):
        return 0.2, True
    laws = _costs()["fits"]
    law = laws.get(cell.method)
    cells = cells_of_table(cell.dataset)
    if law is None:
        return _median([_at(other, cells) for other in laws.values()]), False
    return _at(law, cells) * _length(cell), True


def _length(cell: Cell) -> float:
    """Return how many times longer the row's fit is than with the method's defaults."""
    given = {name: cell.options[name] for name in _LENGTHS if name in cell.options}
    times = 1.0
    for name, value in given.items():
        usual = _usual(cell, name)
        if usual and isinstance(value, int | float):
            times *= value / usual
    return times


def _usual(cell: Cell, name: str) -> float | None:
    """Return the steps or iterations of a fit where a cell sets none; None for methods without."""
    defaults = _defaults(cell.method)
    if defaults.get(name, 0) is not None:
        return defaults.get(name)
    # Those that follow from the budget or the rows are between bounds of their loops.
    if math.isinf(cell.epsilon):
        return _STEPS_ALONE
    return min(2000.0, max(100.0, _STEPS_AT_ONE * math.sqrt(cell.epsilon)))


@functools.cache
def _defaults(method: str) -> Mapping[str, Any]:
    from syntabula.bench.candidate import Candidate
    from syntabula.errors import SyntabulaError
    from syntabula.synthesizers.settings import method_options

    try:
        made = Candidate(method=method).synthesizer(epsilon=math.inf)
    except SyntabulaError:
        return {}
    return {name: value for part in method_options(made).values() for name, value in part.items()}


def _scoring(cell: Cell) -> tuple[float, bool]:
    """Return the seconds of all scores of a cell, and whether all were measured."""
    if cell.task not in ("tables", "tuning"):
        return 0.0, True
    cells = cells_of_table(cell.dataset)
    together = _costs()["lists"].get(" ".join(sorted(cell.scores)))
    few = any("evaluators" in given for given in cell.score_options.values())
    if together is not None and not few:
        return _at(together, cells), True
    seconds = [
        _of_score(name, cells, cell.score_options.get(name, {}).get("evaluators")) for name in cell.scores
    ]
    return sum(s or 0.0 for s in seconds) * max(1, len(cell.against)), None not in seconds


def _of_score(name: str, cells: float, evaluators: Any = None) -> float | None:
    """Return the seconds of a score, which may be a sum over models; None if it was not measured."""
    laws, times = _costs()["scores"], 1
    if name == "affinity-tuned":
        name, times = "affinity", _TUNED_TRIALS
    models = [key for key in laws if key.startswith(f"{name} ")]
    if evaluators:
        models = [found for key in evaluators if (found := _model(name, key)) is not None]
    if not models and name not in laws:
        return None
    return times * sum(_smaller(laws[key], cells) for key in models or [name])


def _model(score: str, evaluator: str) -> str | None:
    """Return the name of a model's law; that of another score that trains it if need be."""
    laws = _costs()["scores"]
    return next((key for key in (f"{score} {evaluator}", f"affinity {evaluator}") if key in laws), None)


def _smaller(law: Mapping[str, float], cells: float) -> float:
    """Return the seconds by a law whose power is that of larger tables, where the rows of many scores are limited."""
    power = max(law["power"], _costs()["smaller"]) if cells < law["cells"] else law["power"]
    return _at({**law, "power": power}, cells)


def _tables(cell: Cell, fit: float, scoring: float) -> tuple[float, float]:
    return 1, scoring


def _tuning(cell: Cell, fit: float, scoring: float) -> tuple[float, float]:
    """Return the trials, the finals and the fits before and after, with the objective of each and scores of the last."""
    options = _options(cell)
    trials, finalists, fits = (int(options[name]) for name in ("trials", "finalists", "fits"))
    cells = cells_of_table(cell.dataset)
    searched = trials + 1 + _FINALS * (finalists + bool(finalists))
    objective = sum(_of_score(name, cells) or 0.0 for name in _QUICK_OBJECTIVE)
    objective += _of_score("affinity", cells, EVALUATORS) or 0.0
    longer = _length_of_space(cell, options)
    return trials * longer + searched - trials + 2 * fits * longer, searched * objective + 2 * fits * scoring


def _length_of_space(cell: Cell, options: Mapping[str, Any]) -> float:
    """Return how many times longer a fit is in the middle of the space that is searched."""
    from syntabula.bench.candidate import Candidate
    from syntabula.errors import SyntabulaError
    from syntabula.tuning.presets import space_for

    try:
        method = Candidate(method=cell.method).synthesizer(epsilon=math.inf)
        space = space_for(method, options["spaces"].get(cell.method, options["space"]))
    except SyntabulaError:
        return 1.0
    times = 1.0
    for name in _LENGTHS:
        tried, usual = space.get(name), _usual(cell, name)
        if isinstance(tried, Range) and usual and name not in cell.options:
            times *= _middle(tried) / usual
    epochs, batch, usual = space.get("epochs"), space.get("batch"), _usual(cell, "steps")
    if isinstance(epochs, Range) and isinstance(batch, Range) and usual:
        rows = cells_of_table(cell.dataset) / _COLUMNS
        times *= max(_LEAST_STEPS, _middle(epochs) * rows / _middle(batch)) / usual
    return times


def _middle(tried: Range) -> float:
    return math.sqrt(tried.low * tried.high) if tried.log else (tried.low + tried.high) / 2


def _shadows(cell: Cell, fit: float, scoring: float) -> tuple[float, float]:
    options = _options(cell)
    n = int(options["shadows"]) * (2 if cell.task == "risks" else 1)
    # Members' distances to synthetic records take about as long as a score by distances.
    near = (_of_score("dcr", cells_of_table(cell.dataset)) or 0.0) / 4
    return n, n * int(options.get("draws", 1)) * near if cell.task != "membership" else 0.0


def _column(cell: Cell, fit: float, scoring: float) -> tuple[float, float]:
    return 0, 0.0


def _options(cell: Cell) -> dict[str, Any]:
    from syntabula.bench.tasks import TASKS

    return {**TASKS[cell.task].options, **cell.task_options}


_TASKS = {
    "tables": _tables,
    "tuning": _tuning,
    "disclosure": _shadows,
    "risks": _shadows,
    "membership": _shadows,
    "columns": _column,
    "points": _column,
}


def _at(law: Mapping[str, float], cells: float) -> float:
    return float(law["seconds"] * (cells / law["cells"]) ** law["power"])


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


@functools.cache
def _costs() -> Mapping[str, Any]:
    text = resources.files("syntabula.bench").joinpath("costs.json").read_text(encoding="utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found
