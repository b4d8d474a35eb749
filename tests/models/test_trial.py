"""What is said of a plug-in's model that breaks, before anything is paid for the counts that it would be fitted to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula import _register
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import EncodedTable
from syntabula.models.pgm import PGM
from syntabula.models.trial import try_model
from syntabula.select.adaptive import Adaptive
from syntabula.synthesizers.marginal import MarginalLearner


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
    for kind in (Whole, Strict, *BROKEN):
        _register.register("model")(kind)
    yield
    for kind in (Whole, Strict, *BROKEN):
        _register._of_session.pop(("model", kind.kind), None)


@pytest.mark.parametrize("kind", [Whole, Strict])
def test_one_that_keeps_to_the_interface_is_let_through(kind: type[Any]) -> None:
    try_model(kind())


def test_one_of_the_library_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PGM, "over", lambda self, domain: pytest.fail("it was tried"))

    MarginalLearner(selector=Adaptive(), model=PGM()).try_parts()
    with pytest.raises(pytest.fail.Exception, match="it was tried"):
        try_model(PGM())


@pytest.mark.parametrize("kind", list(BROKEN), ids=lambda kind: kind.kind)
def test_one_that_breaks_is_refused_by_its_method(kind: type[Any]) -> None:
    with pytest.raises(ArgumentError, match=f"'{kind.kind}' cannot be used: .*its {BROKEN[kind]}"):
        try_model(kind())


def test_a_fit_refuses_it_before_anything_is_paid(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": np.arange(2_000) % 30})
    journal = tmp_path / "run.journal"
    method = st.Marginal(selector="one_way", model="unfitted", epsilon=1.0, journal=journal)

    # Without a schema, domains would be paid for first.
    with pytest.raises(ArgumentError, match="Nothing was paid"):
        method.fit(frame)

    assert not journal.exists()
    assert len(replace(method, model="whole", epsilon=100.0).fit(frame).sample(5)) == 5
    assert journal.exists()
