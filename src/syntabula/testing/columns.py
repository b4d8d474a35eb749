"""Checks of discretizers."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from syntabula.prepare.discretizer import FittedDiscretizer
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource
from syntabula.testing.learners import check_made
from syntabula.testing.replay import check_alike, recorded

_BUDGETS = (Budget(epsilon=1.0, delta=1e-6), Budget.pure(2.0))


def check_discretizer(discretizer: FittedDiscretizer) -> None:
    """Check that a discretizer covers its column, spends within its share, and looks at it through noise alone.

    Args:
        discretizer: With any options.

    Raises:
        AssertionError: If a promise does not hold; the message says which.
    """
    check_made(discretizer)
    assert isinstance(discretizer, FittedDiscretizer), "a discretizer has a key, needs_count and fit"
    rng = np.random.default_rng(11)
    columns = {
        "numbers": (np.round(rng.lognormal(2, 1, 300), 2), 0.0, 100.0),
        "whole numbers": (rng.integers(-5, 90, 300), 0, 80),
        "one value": (np.full(300, 7.0), 0.0, 10.0),
        "no value": (np.zeros(0), 0.0, 1.0),
    }
    for name, (points, lower, upper) in columns.items():
        for budget in _BUDGETS:
            for count in (2, 12):
                run = partial(_edges, discretizer, lower, upper, count, budget)
                first = recorded(partial(run, points))
                edges = first.result
                end = int(upper) + 1 if points.dtype.kind == "i" else upper
                assert (edges[0], edges[-1]) == (lower, end), (
                    f"bins of {name} do not cover exactly the bounds"
                )
                assert len(edges) - 1 <= count, f"{name}: more bins than asked for"
                for without in {0, points.size // 2, points.size - 1} if points.size else ():
                    fewer = np.delete(points, without)
                    check_alike(first, recorded(partial(run, fewer), first.calls))


def _edges(
    discretizer: FittedDiscretizer,
    lower: Any,
    upper: Any,
    count: int,
    budget: Budget,
    points: np.ndarray,
    noise: NoiseSource,
) -> tuple[Any, ...]:
    ledger, share = Ledger(budget), Fraction(1, 2)
    column = ColumnCurator(points, ledger, noise)
    bins = discretizer.fit(
        column, lower, upper, count=count, n_estimated=300.0, share=share, step="fit the bins"
    )
    assert ledger.allowance is not None
    assert ledger.spent <= share * ledger.allowance, "more than the share was spent"
    return tuple(bins.edges)
