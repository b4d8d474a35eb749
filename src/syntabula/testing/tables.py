"""Checks of parts that take tables or columns: methods, discretizers and metrics."""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from syntabula.datasets.census import census, census_schema
from syntabula.errors import SyntabulaError
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.metric import Metric
from syntabula.metrics.reading import compare
from syntabula.prepare.preprocessing import FittedDiscretizer
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource
from syntabula.synthesizers.release import load
from syntabula.table.schema.columns import Column, Date, Datetime, Numeric
from syntabula.table.schema.schema import Schema
from syntabula.testing.learners import check_made
from syntabula.testing.replay import RecordingNoise, check_alike, recorded


def check_synthesizer(make: Callable[..., Any]) -> None:
    """Check that a method keeps the promises of every method: budget, statement, release file, and privacy by replay.

    Args:
        make: The class of the method, or a function that takes its keyword arguments (`budget`, `noise`, `seed`).

    Raises:
        AssertionError: If a promise does not hold; the message says which.
    """
    table, schema = census(n_rows=150), _without_search(census_schema())
    budget = Budget(epsilon=2.0, delta=1e-6)
    planned = make(budget=budget).plan(schema)
    assert sum(step.share for step in planned.steps) <= 1 + 1e-9, "the planned shares add up to more than 1"
    release = make(budget=budget, seed=1).fit(table, schema)
    assert release.privacy.epsilon_spent is not None
    assert release.privacy.epsilon_spent <= 2.0, "more than the budget was spent"
    assert not release.privacy.is_private, "a release with seeded noise claims to be private"
    rows = release.sample(40, seed=3)
    assert list(rows.columns) == list(table.columns), "the columns differ from the table's"
    assert len(rows) == 40, "the number of rows drawn is not the number requested"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.syn"
        release.save(path)
        assert load(path).sample(40, seed=3).equals(rows), (
            "a loaded release draws different rows than the saved one"
        )
    again = make(budget=budget, seed=1).fit(table, schema)
    assert again.sample(40, seed=3).equals(rows), "the same seed gives a different table the second time"

    def fitted(records: Any, noise: RecordingNoise) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = make(budget=budget, noise=noise).fit(records, schema)
        return made.privacy.text(), made.sample(20, seed=5).to_csv(index=False)

    first = recorded(partial(fitted, table))
    for without in (0, 75, 149):
        neighbour = table.drop(index=without).reset_index(drop=True)
        try:
            second = recorded(partial(fitted, neighbour), first.calls)
        except SyntabulaError as error:
            raise AssertionError(
                f"the fit fails only on the neighbour, which reveals a record: {error}"
            ) from None
        check_alike(first, second)


_BUDGETS = (Budget(epsilon=1.0, delta=1e-6), Budget.pure(2.0))


def _without_search(schema: Schema) -> Schema:
    """Return a schema whose columns are not searched for frequent values.

    That search counts the values that occur, which no replay on a neighbour can compare, and is no part of a method.
    """
    columns: dict[str, Column] = {**schema.columns}
    for name, column in columns.items():
        if isinstance(column, Numeric | Date | Datetime):
            changed: Any = {"atoms": ()}
            columns[name] = replace(column, **changed)
    return schema.with_columns(columns, rules=schema.rules)


def check_discretizer(discretizer: FittedDiscretizer) -> None:
    """Check that a discretizer covers its column, spends within its share, and sees it only through noise.

    Args:
        discretizer: A discretizer with any options.

    Raises:
        AssertionError: If a promise does not hold; the message says which.
    """
    check_made(discretizer)
    assert isinstance(discretizer, FittedDiscretizer), "a discretizer must inherit from FittedDiscretizer"
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
                    f"the bins of {name} do not cover exactly the bounds"
                )
                assert len(edges) - 1 <= count, f"{name}: more bins than requested"
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
    assert ledger.spent <= share * ledger.allowance, "the discretizer spent more than its share"
    return tuple(bins.edges)


def check_metric(metric: Metric) -> None:
    """Check that a metric is a pure function of tables with the declared direction.

    Args:
        metric: A metric with any options.

    Raises:
        AssertionError: If a promise does not hold; the message says which.
    """
    check_made(metric)
    assert isinstance(metric.key, str), "a metric must have a key"
    real, other, held_out = (census(n_rows=400, seed=seed) for seed in (1, 2, 3))
    tables = compare(real, other, holdout=held_out, target="employed")
    before = _contents(tables)
    score = metric(tables, np.random.default_rng(0))
    again = metric(tables, np.random.default_rng(0))
    assert score.direction in ("lower", "higher"), "the direction of a score must be 'lower' or 'higher'"
    said = getattr(type(metric), "direction", score.direction)
    assert score.direction == said, f"the class says {said!r} is better, and its score {score.direction!r}"
    assert isinstance(score.value, float), "the value of a score is a float"
    assert score.value == again.value or math.isnan(score.value), (
        "the same tables and state give a different score"
    )
    assert _contents(tables) == before, "the metric changed the tables"
    copied = metric(tables.itself(), np.random.default_rng(0))
    apart = metric(tables.histogram(np.random.default_rng(4)), np.random.default_rng(0))
    if math.isfinite(copied.value) and math.isfinite(apart.value):
        better = copied.value <= apart.value if score.direction == "lower" else copied.value >= apart.value
        assert better or copied.value == apart.value, (
            "independent columns score better than the real table itself; the direction may be the wrong way round"
        )


def _contents(tables: Comparison) -> list[bytes]:
    views = (tables.real, tables.synthetic)
    return [c.tobytes() for view in views for c in (*view.numbers.values(), *view.codes.values())]
