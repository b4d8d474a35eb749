"""Tries a model of a plug-in on counts that are made up, before anything is paid for those that it is fitted to."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from syntabula._memory import above_limit, ran_out
from syntabula.errors import ArgumentError, ResourceError
from syntabula.marginals.counting import engine_for
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import Measurement
from syntabula.models.base import MarginalModel, model_from_state, model_state

Found = TypeVar("Found")

_FEW_COLUMNS, _FEW_CODES = 4, 5
_RECORDS = 500
_ROWS, _SIGMA = 8, 2.0


def on_few_columns(planned: Domain, trial: Callable[[Domain], None]) -> None:
    """Try a part on the first columns of a table, with few codes each, so that it takes no time.

    A part that breaks there is tried once more, on all columns and codes that are planned: it may know a column by its
    name, or a code by its number. That may take as long as the fit that would follow, and no more memory.

    Args:
        planned: The columns that a fit will learn. Only their names and numbers of codes are used.
        trial: Tries the part on a domain; raises ArgumentError if it breaks, and ResourceError before it takes more
            memory than it may.

    Raises:
        ArgumentError: If it breaks both times, or does the first time and needs too much memory for a second.
    """
    columns = planned.columns[:_FEW_COLUMNS]
    if not columns:
        return
    sizes = {column: min(planned.size(column), _FEW_CODES) for column in columns}
    few = Domain.from_sizes(sizes, planned.ordered & set(columns))
    try:
        return trial(few)
    except ArgumentError as error:
        if few == planned:
            raise
        broken = str(error)
    try:
        trial(planned)
    except ResourceError as error:
        raise ArgumentError(
            f"{broken}. So it is on the first {len(few)} columns with {_FEW_CODES} codes at most, and on all columns it "
            f"was not tried: {error}"
        ) from error


def made_up_records(domain: Domain) -> EncodedTable:
    """Return records of independent uniform codes, the same each time."""
    rng = np.random.default_rng(0)
    return EncodedTable.from_mapping(domain, {c: rng.integers(0, domain.size(c), _RECORDS) for c in domain})


def try_model(model: MarginalModel, domain: Domain, *, limit_mb: float = 1000.0) -> None:
    """Fit a plug-in's model to made-up counts, draw from it, store it and load it.

    Args:
        model: Any; those of this library are tried by its tests.
        domain: The columns and codes of what is made up.
        limit_mb: Most memory for the counts, and for the model by its own bound.

    Raises:
        ArgumentError: If a method breaks, or does not return what it should; names the method.
        ResourceError: If the counts or the model may need more memory.
    """
    kind = getattr(model, "kind", type(model).__name__)
    rng = np.random.default_rng(0)
    cliques: list[Clique] = [*pairwise(domain.columns[:3]), *((c,) for c in domain.columns[2:])]
    cliques = cliques or [domain.columns]
    # Of one table, as a model may refuse counts that contradict each other.
    exact = engine_for(made_up_records(domain), limit_mb=limit_mb).counts(cliques)
    measured = [
        Measurement(clique, counts + rng.normal(0, _SIGMA, counts.shape), _SIGMA)
        for clique, counts in zip(cliques, exact, strict=True)
    ]
    is_over, are_rows = partial(_is_over, domain), partial(_are_rows, domain)

    unfitted: Any = _tried(kind, "over", lambda: model.over(domain), is_over)
    needed = _tried(kind, "memory_mb", lambda: float(unfitted.memory_mb(cliques)), math.isfinite)
    if needed > limit_mb:
        raise ResourceError(
            f"model {kind!r} may need {above_limit(needed, limit_mb)} for counts that are made up; raise memory_mb"
        )
    fitted: Any = _tried(kind, "fit", lambda: unfitted.fit(measured), is_over)
    _tried(kind, "total", lambda: float(fitted.total), lambda total: 0 < total < math.inf)
    shapes = [domain.shape(clique) for clique in cliques]
    _tried(kind, "marginals", lambda: list(fitted.marginals(cliques)), partial(_are_marginals, shapes))
    rows = _tried(kind, "sample", lambda: fitted.sample(_ROWS, rng), are_rows)
    given = rows.project(domain.columns[2::-2])
    _tried(kind, "sample", lambda: fitted.sample(_ROWS, rng, given), are_rows)
    _tried(kind, "state", lambda: _stored(fitted), lambda loaded: loaded is not None)


def _tried(kind: str, method: str, call: Callable[[], Found], is_right: Callable[[Found], bool]) -> Found:
    """Return what a call returns, if it is right."""
    try:
        found = call()
        right = is_right(found)
    except Exception as error:
        if ran_out(error):
            raise
        # The counts are made up, so that the message shows no cell of a table.
        why = f"broke with {type(error).__name__} ({error})"
        raise ArgumentError(_sentence(kind, method, why)) from error
    if not right:
        raise ArgumentError(_sentence(kind, method, _WRONG[method]))
    return found


_WRONG = {
    "over": "returned no model over the domain that it was given",
    "memory_mb": "is no finite number",
    "fit": "returned no model over its domain; return replace(self, ...)",
    "total": "is no finite number above 0",
    "marginals": "did not return a finite array of the shape of each clique",
    "sample": "did not return an EncodedTable of the domain with as many rows as asked for",
    "state": "did not come back from from_state",
}


def _sentence(kind: str, method: str, why: str) -> str:
    where = "state or from_state" if method == "state" else method
    return (
        f"model {kind!r} cannot be used: on counts that were made up, its {where} {why}. Nothing was paid; repair the "
        "model, and try it with syntabula.testing.check_model"
    )


def _is_over(domain: Domain, model: Any) -> bool:
    return bool(model is not None and model.domain == domain)


def _are_marginals(shapes: list[tuple[int, ...]], found: list[Any]) -> bool:
    return [np.shape(table) for table in found] == shapes and all(np.isfinite(t).all() for t in found)


def _are_rows(domain: Domain, found: Any) -> bool:
    return isinstance(found, EncodedTable) and found.domain == domain and found.n_rows == _ROWS


def _stored(model: Any) -> Any:
    """Return what a file makes of a model."""
    facts, arrays = model_state(model)
    return model_from_state(json.loads(json.dumps(facts, allow_nan=False)), arrays)
