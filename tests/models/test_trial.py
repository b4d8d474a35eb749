"""What is said of a plug-in's model that breaks, before anything is paid for the counts that it would be fitted to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula import _register
from syntabula.errors import ArgumentError, ResourceError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.models.pgm import PGM
from syntabula.models.trial import on_few_columns, try_model
from syntabula.privacy.budget import Budget
from syntabula.select.adaptive import Adaptive
from syntabula.select.trial import try_selector
from syntabula.synthesizers.marginal import MarginalLearner

DOMAIN = Domain(("a", "b", "c", "d"), (3, 4, 2, 5), frozenset({"b", "d"}))


class Whole(PGM):
    kind = "whole"


class Strict(Whole):
    """Refuses counts that contradict each other."""

    kind = "strict"

    def fit(self, measurements: Any) -> Any:
        for one, other in pairwise(measurements):
            noise = math.hypot(*(m.sigma * math.sqrt(m.values.size) for m in (one, other)))
            if abs(one.values.sum() - other.values.sum()) > 10 * noise:
                raise ValueError("they contradict each other")
        return super().fit(measurements)


class Unbound(Whole):
    kind = "unbound"

    def over(self, domain: Any) -> Any:
        return self


class Unfitted(Whole):
    kind = "unfitted"

    def fit(self, measurements: Any) -> Any:
        return None


class Failing(Whole):
    kind = "failing"

    def fit(self, measurements: Any) -> Any:
        raise RuntimeError("no step forward")


class Vague(Whole):
    kind = "vague"

    def memory_mb(self, cliques: Any) -> float:
        return math.nan


class Numberless(Whole):
    kind = "numberless"

    def marginals(self, cliques: Any) -> Any:
        return [table * math.nan for table in super().marginals(cliques)]


class Flat(Whole):
    kind = "flat"

    def marginals(self, cliques: Any) -> Any:
        return [table.ravel() for table in super().marginals(cliques)]


class Short(Whole):
    kind = "short"

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> Any:
        return super().sample(n // 2, rng)


class Rowless(Whole):
    kind = "rowless"

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> Any:
        return None


class Unwritten(Whole):
    kind = "unwritten"

    def state(self) -> Any:
        facts, arrays = super().state()
        return {**facts, "more": object()}, arrays


class Unread(Whole):
    kind = "unread"

    @classmethod
    def from_state(cls, facts: Any, arrays: Any) -> Any:
        raise ValueError("not again")


class Known(Whole):
    """Knows what columns and codes its table has."""

    kind = "known"

    def over(self, domain: Any) -> Any:
        if domain.size("e") != 7:
            raise ValueError("seven codes")
        return super().over(domain)


BROKEN = {
    Unbound: "over broke with ArgumentError .this model is not bound",
    Unfitted: "fit returned no model over its domain",
    Failing: r"fit broke with RuntimeError \(no step forward\)",
    Vague: "memory_mb is no finite number",
    Numberless: "marginals did not return a finite array of the shape of each clique",
    Flat: "marginals did not return a finite array of the shape of each clique",
    Short: "sample did not return an EncodedTable of the domain with as many rows",
    Rowless: "sample did not return an EncodedTable of the domain with as many rows",
    Unwritten: "state or from_state broke with TypeError",
    Unread: r"state or from_state broke with ValueError \(not again\)",
}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    for kind in (Whole, Strict, Known, *BROKEN):
        _register.register("model")(kind)
    yield
    for kind in (Whole, Strict, Known, *BROKEN):
        _register._of_session.pop(("model", kind.kind), None)


@pytest.mark.parametrize("kind", [Whole, Strict])
@pytest.mark.parametrize("columns", ["abcd", "abc", "ab", "a"])
def test_one_that_keeps_to_the_interface_is_let_through(kind: type[Any], columns: str) -> None:
    try_model(kind(), DOMAIN.project(columns))


def test_one_of_the_library_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PGM, "over", lambda self, domain: pytest.fail("it was tried"))

    MarginalLearner(selector=Adaptive(), model=PGM()).try_parts(
        lambda: DOMAIN, Budget(epsilon=1.0, delta=1e-6), memory_mb=4000.0
    )
    with pytest.raises(pytest.fail.Exception, match="it was tried"):
        try_model(PGM(), DOMAIN)


@pytest.mark.parametrize("kind", list(BROKEN), ids=lambda kind: kind.kind)
def test_one_that_breaks_is_refused_by_its_method(kind: type[Any]) -> None:
    with pytest.raises(ArgumentError, match=f"'{kind.kind}' cannot be used: .*its {BROKEN[kind]}"):
        try_model(kind(), DOMAIN)


def test_a_fit_refuses_it_before_anything_is_paid(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": np.arange(2_000) % 30})
    journal = tmp_path / "run.journal"
    method = st.Marginal(selector="one_way", model="unfitted", epsilon=1.0, journal=journal)

    # Without a schema, domains would be paid for first.
    with pytest.raises(ArgumentError, match="Nothing was paid"):
        method.fit(frame)

    assert not journal.exists()
    assert len(replace(method, model="whole", epsilon=10.0).fit(frame).sample(5)) == 5
    assert journal.exists()


class TestColumns:
    """On which columns and codes a part is tried."""

    PLANNED = Domain(tuple("abcde"), (9, 2, 4, 1, 7), frozenset({"a", "e"}))
    FEW = Domain(tuple("abcd"), (5, 2, 4, 1))

    def tried(self, planned: Domain, *breaks: Domain) -> list[Domain]:
        """Return where a part is tried that breaks on some domains."""
        seen: list[Domain] = []

        def trial(domain: Domain) -> None:
            seen.append(domain)
            if domain in breaks:
                raise ArgumentError("it broke")

        on_few_columns(planned, trial)
        return seen

    def test_one_that_works_is_tried_on_few_alone(self) -> None:
        seen = self.tried(self.PLANNED)

        assert seen == [self.FEW]
        assert seen[0].ordered == {"a"}

    def test_one_that_breaks_there_is_tried_on_those_of_the_fit(self) -> None:
        assert self.tried(self.PLANNED, self.FEW) == [self.FEW, self.PLANNED]
        with pytest.raises(ArgumentError, match="it broke"):
            self.tried(self.PLANNED, self.FEW, self.PLANNED)

    def test_one_that_breaks_there_is_refused_where_all_columns_would_take_too_much_memory(self) -> None:
        class Heavy:
            kind = "heavy"

            def over(self, domain: Domain) -> Any:
                if domain == TestColumns.FEW:
                    raise KeyError("e")
                made = Whole().over(domain)
                object.__setattr__(made, "memory_mb", lambda cliques: 50.0)
                object.__setattr__(made, "fit", lambda measured: pytest.fail("it was fitted"))
                return made

        trial = partial(try_model, Heavy(), limit_mb=10.0)  # type: ignore[arg-type]

        with pytest.raises(ArgumentError, match=r"its over broke .* 50 MB, above the limit of 10 MB"):
            on_few_columns(self.PLANNED, trial)

    def test_counts_that_are_made_up_keep_to_the_limit(self) -> None:
        wide = Domain(("a", "b"), (2_000, 2_000), frozenset())

        with pytest.raises(ResourceError, match="above the limit of 4 MB"):
            try_model(Whole(), wide, limit_mb=4.0)
        selector = _register.load("selector", "one_way")()
        long = Domain(("a",), (10**6,), frozenset())
        with pytest.raises(ResourceError, match="above the limit of 4 MB"):
            try_selector(selector, PGM(), Budget(epsilon=1.0, delta=1e-6), long, limit_mb=4.0)

    def test_a_fit_tells_the_trials_its_limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        told: list[float] = []
        monkeypatch.setattr(
            "syntabula.models.trial.try_model", lambda model, domain, *, limit_mb: told.append(limit_mb)
        )

        st.Marginal(selector="one_way", model="whole", epsilon=1.0, memory_mb=123.0).fit(
            pd.DataFrame({"a": [True, False]}), st.Schema({"a": st.Boolean()})
        )

        assert told == [123.0]

    def test_it_is_tried_once_where_both_are_the_same(self) -> None:
        seen: list[Domain] = []

        def trial(domain: Domain) -> None:
            seen.append(domain)
            raise ArgumentError("it broke")

        with pytest.raises(ArgumentError, match="it broke"):
            on_few_columns(self.FEW, trial)

        assert seen == [self.FEW]

    def test_nothing_is_tried_without_columns(self) -> None:
        assert self.tried(Domain((), ())) == []

    def test_a_model_that_knows_its_columns_can_be_fitted(self) -> None:
        frame = pd.DataFrame({name: np.arange(200) % 2 == 0 for name in "abcd"})
        frame["e"] = np.array(list("uvwxyzt"))[np.arange(200) % 7]
        schema = st.Schema({**{name: st.Boolean() for name in "abcd"}, "e": st.Categorical(tuple("uvwxyzt"))})
        method = st.Marginal(selector="one_way", model="known", epsilon=1.0)

        assert len(method.fit(frame, schema).sample(5)) == 5
        # Without a schema, nobody knows the codes before something is paid.
        with pytest.raises(ArgumentError, match=r"'known' cannot be used: .*seven codes.*Nothing was paid"):
            method.fit(frame)
