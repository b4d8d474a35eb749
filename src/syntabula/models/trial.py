"""Tries a model of a plug-in on counts that are made up, before anything is paid for those that it is fitted to."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from syntabula._memory import ran_out
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import Measurement
from syntabula.models.base import MarginalModel, model_from_state, model_state

Found = TypeVar("Found")

_DOMAIN = Domain(("a", "b", "c", "d"), (3, 4, 2, 5), frozenset({"b", "d"}))
_CLIQUES: tuple[Clique, ...] = (("a", "b"), ("b", "d"), ("c",))
_ROWS, _SIGMA = 8, 2.0


def try_model(model: MarginalModel) -> None:
    """Fit a plug-in's model to made-up counts, draw from it, store it and load it.

    Args:
        model: Any; those of this library are tried by its tests.

    Raises:
        ArgumentError: If a method breaks, or does not return what it should; names the method.
    """
    kind = getattr(model, "kind", type(model).__name__)
    rng = np.random.default_rng(0)
    # Of one table, as a model may refuse counts that contradict each other.
    joint = rng.integers(0, 10, _DOMAIN.shape(_DOMAIN.columns)).astype(np.float64)
    measured = []
    for clique in _CLIQUES:
        others = tuple(i for i, column in enumerate(_DOMAIN.columns) if column not in clique)
        counts = joint.sum(axis=others)
        measured.append(Measurement(clique, counts + rng.normal(0, _SIGMA, counts.shape), _SIGMA))

    unfitted: Any = _tried(kind, "over", lambda: model.over(_DOMAIN), _is_over)
    _tried(kind, "memory_mb", lambda: float(unfitted.memory_mb(_CLIQUES)), math.isfinite)
    fitted: Any = _tried(kind, "fit", lambda: unfitted.fit(measured), _is_over)
    _tried(kind, "total", lambda: float(fitted.total), lambda total: 0 < total < math.inf)
    _tried(kind, "marginals", lambda: list(fitted.marginals(_CLIQUES)), _are_marginals)
    rows = _tried(kind, "sample", lambda: fitted.sample(_ROWS, rng), _are_rows)
    given = rows.project(("c", "a"))
    _tried(kind, "sample", lambda: fitted.sample(_ROWS, rng, given), _are_rows)
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


def _is_over(model: Any) -> bool:
    return bool(model is not None and model.domain == _DOMAIN)


def _are_marginals(found: list[Any]) -> bool:
    shapes = [_DOMAIN.shape(clique) for clique in _CLIQUES]
    return [np.shape(table) for table in found] == shapes and all(np.isfinite(t).all() for t in found)


def _are_rows(found: Any) -> bool:
    return isinstance(found, EncodedTable) and found.domain == _DOMAIN and found.n_rows == _ROWS


def _stored(model: Any) -> Any:
    """Return what a file makes of a model."""
    facts, arrays = model_state(model)
    return model_from_state(json.loads(json.dumps(facts, allow_nan=False)), arrays)
