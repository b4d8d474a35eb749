"""How a method is called: what its arguments are, and what is said of a wrong call."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError
from syntabula.models.pgm import PGM
from syntabula.select.adaptive import Adaptive
from syntabula.select.fixed_marginals import OneWay


def test_options_of_both_parts_are_set_beside_the_method_s_own_arguments() -> None:
    method = st.AIM(epsilon=2.0).with_options(workload=[("a", "b")], max_rounds=3, iterations=50)

    assert method.epsilon == 2.0
    assert method.selector.max_rounds == 3
    assert (method.model.iterations, method.model.tolerance) == (50, PGM().tolerance)


def test_options_change_the_parts_that_are_given() -> None:
    method = st.AIM(selector=Adaptive(max_rounds=7)).with_options(measure_share=0.5)

    assert (method.selector.max_rounds, method.selector.measure_share) == (7, 0.5)


def test_parts_may_be_given_by_their_keys() -> None:
    method = st.Marginal(selector="adaptive", model="pgm").with_options(max_rounds=3)

    assert method.selector == Adaptive(max_rounds=3)
    assert isinstance(method.model, PGM)


def test_a_wrong_call_is_refused_with_what_is_right() -> None:
    cases = [
        (lambda: st.MST(1.0), r"must be named, for instance MST\(epsilon=1.0\)"),
        (lambda: st.MST(epsilom=1.0), "MST has no argument 'epsilom'; did you mean 'epsilon'"),
        (lambda: st.AIM().with_options(epsilon=3.0), "epsilon is an argument of AIM itself"),
        (lambda: st.AIM().with_options(rounds=3), "AIM has no option 'rounds'; did you mean 'max_rounds'"),
        (
            lambda: st.AIM(max_rounds=3),
            r"an option of the selector of AIM: write AIM\(...\).with_options\(max_r",
        ),
        (lambda: st.AIM().with_options(max_rounds="x"), "max_rounds must be an integer"),
        (lambda: st.AIM().with_options(workload={"a": 1}), "workload must be a Workload"),
        (
            lambda: st.Marginal(selector="adaptve", model="pgm"),
            "no selector 'adaptve'; did you mean 'adaptive'",
        ),
        (lambda: st.Marginal(selector="adaptive", model="bayesian_network"), "cannot be combined with model"),
        (lambda: st.Marginal(selector=3, model="pgm"), "selector must be a selector or the key of one"),
        (lambda: st.Marginal(selector="adaptive", model=3), "model must be a model or the key of one"),
        (lambda: st.MST(seed=-1), "seed must be"),
        (lambda: st.MST(seed=1.5), "seed must be"),
    ]
    for call, message in cases:
        with pytest.raises(ArgumentError, match=message):
            call()


def test_such_a_method_is_copied_changed_and_sent_to_other_processes() -> None:
    method = st.AIM().with_options(max_rounds=3)

    for other in (replace(method, seed=1), copy.deepcopy(method), pickle.loads(pickle.dumps(st.MST()))):
        assert other.epsilon == 1.0
    assert replace(method, epsilon=2.0).selector == Adaptive(max_rounds=3)


def test_help_shows_the_method_s_own_arguments() -> None:
    assert {"selector", "model", "epsilon"} < set(inspect.signature(st.AIM).parameters)


class Thankless(OneWay):
    """Measures, and forgets to return the fitted model."""

    key: ClassVar[str] = "thankless"

    def select(self, curator, model, *, share=1, progress=None):
        super().select(curator, model, share=share, progress=progress)


class Unfitted(OneWay):
    """Returns the model as it was given."""

    def select(self, curator, model, *, share=1, progress=None):
        return model


class WithoutProgress(OneWay):
    def select(self, curator, model, *, share=1):
        return super().select(curator, model, share=share)


class Planless(OneWay):
    def plan(self, domain):
        return None


class Foreign:
    """Has what fits, and nothing else of the interface."""

    def learn(self, curator, model, *, share, progress):
        return model, None


class Lavish(OneWay):
    """Plans to spend more than it has."""

    def plan(self, domain):
        return [replace(step, share=2 * step.share) for step in super().plan(domain)]


class Broken(OneWay):
    """Breaks once it has measured."""

    key = "broken"

    def select(self, curator, model, *, share=Fraction(1), progress=None):
        super().select(curator, model, share=share)
        raise KeyError("a")


class TestSelectorsOfPlugIns:
    """A selector that does not keep to the interface is refused in a sentence, before anything is paid if possible."""

    @pytest.fixture
    def passes_its_trial(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As of a selector that breaks on the table alone."""
        monkeypatch.setattr("syntabula.select.trial.try_selector", lambda *given, **limit: None)

    def test_what_the_class_shows_is_refused_when_the_method_is_made(self) -> None:
        cases = [
            (
                WithoutProgress(),
                r"`select` of selector WithoutProgress must take a curator, .* progress=None\)`",
            ),
            (Foreign(), "selector Foreign lacks the methods plan, select, within; let it inherit"),
            (OneWay, r"selector must be an object, not its class; write OneWay\(\)"),
        ]
        for selector, message in cases:
            with pytest.raises(ArgumentError, match=message):
                st.Marginal(selector=selector, model="pgm")

    @pytest.mark.usefixtures("passes_its_trial")
    def test_what_a_run_shows_is_said_in_a_sentence(self) -> None:
        frame = pd.DataFrame({"a": np.arange(50) % 3})
        schema = st.Schema({"a": st.Numeric(0, 2, integer=True)})
        for selector, message in [
            (Planless(), "`plan` of selector 'one_way' must return a list of PlannedStep"),
            (Lavish(), "`plan` of selector 'one_way' must return shares .* they add up to 2"),
            (Thankless(), "selector 'thankless' must return a model .* What it measured is paid for"),
            (Unfitted(), "selector 'one_way' must return a model that is fitted"),
        ]:
            with pytest.raises(ArgumentError, match=message):
                st.Marginal(selector=selector, model="pgm", seed=1).fit(frame, schema)

    @pytest.mark.usefixtures("passes_its_trial")
    def test_one_that_breaks_loses_nothing_where_there_is_a_journal(self, tmp_path) -> None:
        frame = pd.DataFrame({"a": np.arange(50) % 3})
        schema = st.Schema({"a": st.Numeric(0, 2, integer=True)})
        method = st.Marginal(selector=Broken(), model="pgm", epsilon=1.0, journal=tmp_path / "run.journal")

        with pytest.raises(
            ArgumentError, match=r"broken\+pgm.* broke with KeyError at line \d+ of select"
        ) as caught:
            method.fit(frame, schema)

        assert "goes on from there with resume" in str(caught.value)
        with pytest.MonkeyPatch.context() as mended:
            mended.setattr(Broken, "select", OneWay.select)
            release = replace(method, resume=True).fit(frame, schema)
        facts = release.privacy.to_json()
        assert facts["replayed"] > 0
        assert facts["epsilon_spent"] <= 1


def test_another_epsilon_makes_another_budget() -> None:
    for kind in (st.MST, st.DPMERF, st.Auto):
        method = replace(kind(epsilon=5.0), epsilon=0.5)

        assert (method.epsilon, method.budget) == (0.5, None)
        assert method.whole_budget == st.Budget(epsilon=0.5, delta=1e-5)
        assert method.plan(st.Schema({"x": st.Numeric(0, 9, integer=True)})).budget == method.whole_budget
    # A budget that is given holds whatever epsilon is.


class TestStatedBudget:
    def test_another_epsilon_or_delta_beside_a_budget_is_refused(self) -> None:
        stated = st.MST(budget=st.Budget.zcdp(0.1, 1e-6))

        with pytest.raises(
            ArgumentError, match=r"give epsilon and delta, or budget, not both.*budget=None beside"
        ):
            replace(stated, epsilon=0.5)
        with pytest.raises(ArgumentError, match=r"not both.*delta=1e-05 beside another budget"):
            st.AIM(delta=1e-9, budget=st.Budget.pure(0.5))
        with pytest.raises(ArgumentError, match="not both"):
            st.AIM(epsilon=np.array([1.0, 2.0]), budget=st.Budget.pure(0.5))  # type: ignore[arg-type]
        assert replace(stated, budget=None, epsilon=0.5).whole_budget == st.Budget(epsilon=0.5, delta=1e-5)

    def test_the_same_may_be_said_twice(self) -> None:
        budget = st.Budget(5.0, 1e-6)

        assert st.MST(epsilon=5.0, delta=1e-6, budget=budget).whole_budget is budget
        assert st.MST(epsilon=math.inf, budget=st.Budget.none()).whole_budget.currency == "none"

    def test_a_class_has_usual_numbers_of_its_own(self) -> None:
        @dataclass(frozen=True, kw_only=True)
        class WithoutPrivacy(st.GReaT):
            epsilon: float = math.inf

        assert WithoutPrivacy(budget=st.Budget.none()).whole_budget.currency == "none"
