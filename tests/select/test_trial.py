"""What is said of a plug-in's selector that breaks, before anything is paid for what it would measure."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Domain
from syntabula.models.pgm import PGM
from syntabula.privacy.budget import Budget
from syntabula.select.fixed_marginals import OneWay
from syntabula.select.trial import try_selector

DOMAIN = Domain(("a", "b"), (3, 4))
BUDGETS = (
    Budget(epsilon=1.0, delta=1e-6),
    Budget.pure(2.0),
    Budget.zcdp(0.1, 1e-6),
    Budget(epsilon=math.inf),
)
FRAME = pd.DataFrame({"a": np.arange(300) % 30, "b": np.arange(300) % 7, "c": np.arange(300) % 2 == 0})


class Whole(OneWay):
    key = "whole"

    def measured(self, curator: Any, share: Any) -> Any:
        return curator.measure([(c,) for c in curator.domain], share=share, step="measure")

    def select(self, curator: Any, model: Any, *, share: Any = 1, progress: Any = None) -> Any:
        return model.over(curator.domain).fit(self.measured(curator, share))


class Failing(Whole):
    key = "failing"

    def select(self, curator: Any, model: Any, *, share: Any = 1, progress: Any = None) -> Any:
        self.measured(curator, share)
        raise RuntimeError("no step forward")


class Empty(Whole):
    key = "empty"

    def select(self, curator: Any, model: Any, *, share: Any = 1, progress: Any = None) -> Any:
        self.measured(curator, share)


class Elsewhere(Whole):
    key = "elsewhere"

    def select(self, curator: Any, model: Any, *, share: Any = 1, progress: Any = None) -> Any:
        return super().select(curator, model, share=share).inner.over(Domain(("z",), (2,)))


class Greedy(Whole):
    """Spends all, whatever its share is."""

    key = "greedy"

    def select(self, curator: Any, model: Any, *, share: Any = 1, progress: Any = None) -> Any:
        return super().select(curator, model, share=Fraction(1))


class Named(Whole):
    """Measures a column that it knows."""

    key = "named"

    def select(self, curator: Any, model: Any, *, share: Any = 1, progress: Any = None) -> Any:
        measured = curator.measure([("e",)], share=share, step="measure")
        return model.over(curator.domain).fit(measured)


BROKEN = {
    Failing: r"its select broke with RuntimeError \(no step forward\)",
    Empty: "its select returned no model that is fitted to the columns of its curator, as .*fit.measurements.*",
    Elsewhere: "its select returned no model that is fitted to the columns of its curator, as .*fit.measurements.*",
    Greedy: "its select spent 2 times the share that it was given",
}


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.currency)
def test_one_that_keeps_to_the_interface_is_let_through(budget: Budget) -> None:
    try_selector(Whole(), PGM(), budget, DOMAIN)


@pytest.mark.parametrize("kind", list(BROKEN), ids=lambda kind: kind.key)
def test_one_that_breaks_is_refused(kind: type[Any]) -> None:
    with pytest.raises(
        ArgumentError, match=f"'{kind.key}' cannot be used: .*{BROKEN[kind]}. Nothing was paid"
    ):
        try_selector(kind(), PGM(), BUDGETS[0], DOMAIN)


@pytest.mark.parametrize("kind", list(BROKEN), ids=lambda kind: kind.key)
def test_a_fit_refuses_it_before_anything_is_paid(kind: type[Any], tmp_path: Path) -> None:
    journal = tmp_path / "run.journal"
    method = st.Marginal(selector=kind(), model="pgm", epsilon=1.0, journal=journal)

    # Without a schema, domains would be paid for first.
    with pytest.raises(ArgumentError, match="Nothing was paid"):
        method.fit(FRAME)

    assert not journal.exists()


def test_it_sees_names_and_nothing_else_of_a_table() -> None:
    seen = []

    class Watching(Whole):
        key = "watching"

        def select(self, curator: Any, model: Any, *, share: Any = 1, progress: Any = None) -> Any:
            seen.append([m.values.sum() for m in self.measured(curator, share)] + [*curator.domain.columns])
            raise RuntimeError

    tables = FRAME, FRAME[::-1], FRAME.iloc[:20], FRAME.assign(a=3, b=5, c=True)
    for table in tables:
        with pytest.raises(ArgumentError, match="Nothing was paid"):
            st.Marginal(selector=Watching(), model="pgm", epsilon=1.0).fit(table)

    # Once on few codes, and once on those that are planned.
    assert len(seen) == 2 * len(tables)
    assert seen[2:] == seen[:2] * (len(tables) - 1)
    assert seen[0][-3:] == ["a", "b", "c"]


def test_a_trial_leaves_the_draws_of_others_as_they_were() -> None:
    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    before = np.random.get_state()[1].tolist(), random.getstate()  # type: ignore[index]  # noqa: NPY002

    try_selector(Whole(), PGM(), BUDGETS[0], DOMAIN)

    assert (np.random.get_state()[1].tolist(), random.getstate()) == before  # type: ignore[index]  # noqa: NPY002


def test_a_fit_spends_and_draws_what_it_would_without_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    def released() -> tuple[list[list[object]], str]:
        release = st.Marginal(selector=Whole(), model="pgm", epsilon=10.0, seed=3).fit(FRAME)
        return release.sample(50, seed=1).to_numpy().tolist(), str(release.privacy)

    tried = released()
    monkeypatch.setattr("syntabula.select.trial.try_selector", lambda *given, limit_mb: None)

    assert released() == tried


def test_one_that_knows_its_columns_can_be_run() -> None:
    frame = pd.DataFrame({name: np.arange(200) % 2 == 0 for name in "abcde"})

    release = st.Marginal(selector=Named(), model="pgm", epsilon=1.0).fit(frame)

    assert len(release.sample(5)) == 5
    with pytest.raises(ArgumentError, match=r"'named' cannot be used: .*'e'"):
        st.Marginal(selector=Named(), model="pgm", epsilon=1.0).fit(frame.drop(columns="e"))
