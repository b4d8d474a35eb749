"""Checks of whole methods, from table to release."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from syntabula.datasets.census import census, census_schema
from syntabula.errors import SyntabulaError
from syntabula.privacy.budget import Budget
from syntabula.synthesizers.release import load
from syntabula.testing.replay import RecordingNoise, check_alike, recorded


def check_synthesizer(make: Callable[..., Any]) -> None:
    """Check that a method keeps the promises of every method: budget, statement, release file, and privacy by replay.

    Args:
        make: The class of the method, or a function that takes its keyword arguments (`budget`, `noise`, `seed`).

    Raises:
        AssertionError: If a promise does not hold; the message says which.
    """
    table, schema = census(n_rows=150), census_schema()
    budget = Budget(epsilon=2.0, delta=1e-6)
    planned = make(budget=budget).plan(schema)
    assert sum(step.share for step in planned.steps) <= 1 + 1e-9, (
        "the planned shares add up to more than the whole"
    )
    release = make(budget=budget, seed=1).fit(table, schema)
    assert release.privacy.epsilon_spent is not None
    assert release.privacy.epsilon_spent <= 2.0, "more than the budget was spent"
    assert not release.privacy.is_private, "a release with seeded noise is called private"
    rows = release.sample(40, seed=3)
    assert list(rows.columns) == list(table.columns), "columns differ from those of the table"
    assert len(rows) == 40, "another number of rows was drawn than asked for"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.syn"
        release.save(path)
        assert load(path).sample(40, seed=3).equals(rows), (
            "a loaded release draws other rows than the saved one"
        )
    again = make(budget=budget, seed=1).fit(table, schema)
    assert again.sample(40, seed=3).equals(rows), "the same seed gives another table the second time"

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
                f"the fit fails on a neighbour alone, which shows a record: {error}"
            ) from None
        check_alike(first, second)
