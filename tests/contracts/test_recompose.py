"""Anybody can compute the total of a release from its JSON: the code of docs/recompose.md, run on every method."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from corners import QUICK_METHODS, VARIANTS
from small_settings import PRIVATE, small_parts, takes, unspent
from small_tables import persons, table

import syntabula as st
from syntabula.prepare.found_keys import SHAPES_SHARE
from syntabula.privacy.events import GaussianEvent, TrainingEvent
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.privacy.pricing import bought
from syntabula.privacy.statement import statement_of
from syntabula.privacy.statement_facts import STATEMENT_VERSION

pytestmark = pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
PAGE = (Path(__file__).parents[2] / "docs" / "recompose.md").read_text(encoding="utf-8")
BUDGETS = {
    "gdp": st.Budget(epsilon=1.0, delta=1e-6),
    "zcdp": st.Budget(epsilon=1.0, delta=1e-6, accounting="zcdp"),
    "pure": st.Budget.pure(1.0),
}
RHO = st.Budget.zcdp(0.1, 1e-6)
KINDS = [method for method in PRIVATE if method not in VARIANTS]
LEAST_BY_LOSSES = {"mu_squared": 0.88, "rho": 0.85, "epsilon": 0.999}
"""What numerical composition finds, as a part of what was spent; the page says why it is less."""

# The parameters of an event, of which each was looked at: see the page for what they rest on.
PUBLISHED = {
    "gaussian": {"sigma", "l2_sensitivity_squared", "cells"},
    "laplace": {"scale", "l1_sensitivity", "cells", "epsilon"},
    "exponential": {"epsilon", "candidates"},
    "tree": {"scale", "epsilon"},
    "threshold": {"sigma", "threshold", "bounded", "delta"},
    "training": {"noise_multiplier", "rate", "steps", "clip", "cells", "delta"},
    "exact": {"what"},
}


@cache
def page_code() -> Any:
    """Return the functions of the page, which know nothing of this library."""
    pytest.importorskip("dp_accounting", reason="the independent accountant is not installed")
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert "syntabula" not in code
    names: dict[str, Any] = {}
    exec(compile(code, "docs/recompose.md", "exec"), names)
    return SimpleNamespace(**names)


def published(release: st.Release) -> dict[str, Any]:
    """Return the statement as a reader of its JSON has it."""
    facts: dict[str, Any] = json.loads(json.dumps(release.privacy.to_json(), allow_nan=False))
    return facts


def fitted_to_persons(method: str, budget: st.Budget, **options: Any) -> dict[str, Any]:
    """Return the statement of a fit to persons, with every kind of draw that columns may need."""
    frame, schema = persons(1)
    declared = {name: column for name, column in schema.columns.items() if name != "job"}
    found = {} if budget.kind == "pure" else {"columns": declared, "others": "find"}
    usual = {"budget": budget, "seed": 1, "bins": 6} | small_parts(method)
    return published(st.synthesizer(method)(**(usual | options)).fit(frame, replace(schema, **found)))


def events_of(facts: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for step in facts["steps"] for event in step["events"]]


def fitted(method: str, budget: st.Budget, **options: Any) -> dict[str, Any]:
    frame, schema = table(1)
    even = st.Preprocessing(discretizer="uniform")
    usual = {"budget": budget, "seed": 1, "bins": 6, "preprocessing": even} | small_parts(method)
    return published(st.synthesizer(method)(**(usual | options)).fit(frame, schema))


def check(facts: dict[str, Any], left: float = 1e-9) -> None:
    """Assert that the totals which others compute agree with the stated ones."""
    spent, composition = facts["epsilon_spent"], facts["composition"]
    assert spent <= facts["budget"]["epsilon"]
    assert spent >= facts["budget"]["epsilon"] * (1 - left)
    assert composition["spent"] <= composition["limit"]
    assert sum(event["cost"] for event in events_of(facts)) == pytest.approx(composition["spent"], rel=1e-12)
    # The searches of the other library end a billionth from their roots; pi is rounded up in ours.
    # The cost of training is an upper bound, half a percent above what composition finds; it also has a part of delta,
    # without which the losses give a little more.
    trains = any(event["kind"] == "training" for event in events_of(facts))
    least, most = (0.995, 1.005) if trains else (1 - 1e-6, 1.0)
    if composition["delta_spent"] < composition["delta_limit"] * (1 - 1e-6):
        # A part of delta that no draw took is there for the conversion, which was fixed before.
        least = 0.999
    assert spent * least <= page_code().recomposed(facts) <= spent * (1 + 1e-9)
    by_losses = page_code().composed_losses(facts)
    assert spent * LEAST_BY_LOSSES[composition["currency"]] <= by_losses <= spent * most


class TestEveryMethod:
    @pytest.mark.thorough
    def test_its_total_is_recomposed_from_the_json_alone(self) -> None:
        for budget in BUDGETS:
            for method in KINDS:
                # In rho the same draws cost other numbers: one method of each kind is enough.
                if takes(method, BUDGETS[budget]) and (budget != "zcdp" or method in QUICK_METHODS):
                    check(fitted(method, BUDGETS[budget]), unspent(method))

    @pytest.mark.thorough
    @pytest.mark.parametrize("method", ["independent", "private-gsd"])
    def test_noise_without_choices_comes_within_a_hundredth_by_its_losses_too(self, method: str) -> None:
        facts = fitted(method, BUDGETS["gdp"])

        assert {event["kind"] for event in events_of(facts)} == {"gaussian"}
        assert page_code().composed_losses(facts) >= 0.99 * facts["epsilon_spent"]

    @pytest.mark.parametrize("budget", list(BUDGETS))
    def test_a_unit_of_several_rows(self, budget: str) -> None:
        facts = fitted_to_persons("mst", BUDGETS[budget])
        kinds = {event["kind"] for event in events_of(facts)}

        assert kinds >= (
            {"exponential", "tree"} if budget == "pure" else {"exponential", "tree", "threshold"}
        )
        assert {event["rows"] for event in events_of(facts) if event["kind"] in ("exponential", "tree")} == {
            3
        }
        assert (facts["unit_column"], facts["rows_per_unit"], facts["statement_version"]) == ("who", 3, 3)
        check(facts)

    def test_what_is_left_of_the_reserved_delta(self) -> None:
        frame, _ = table(1)
        facts = published(st.MST(epsilon=5.0, delta=1e-5, seed=1).fit(frame))
        composition, spent = facts["composition"], facts["epsilon_spent"]

        recomposed = page_code().recomposed(facts)
        unspent = composition["delta_limit"] - composition["delta_spent"]
        as_set_aside = page_code().recomposed({**facts, "delta": facts["delta"] - unspent})

        assert unspent > 0.01 * composition["delta_limit"]
        assert 0.99 * spent < recomposed < (1 - 1e-5) * spent
        assert as_set_aside == pytest.approx(spent, rel=1e-6)

    @pytest.mark.thorough
    def test_a_budget_that_is_stated_in_rho(self) -> None:
        check(fitted("aim", RHO))

    def test_the_best_of_several_trials(self) -> None:
        """The losses of one trial say nothing of a choice among several, so only the theorem is recomposed."""
        facts = fitted("mst", st.Budget.best_of(1.0, 1e-5, 5))

        spent = facts["epsilon_spent"]
        assert 1 - 1e-6 < spent <= 1
        assert spent * (1 - 1e-6) <= page_code().recomposed(facts) <= spent * (1 + 1e-9)


class TestTraining:
    """A ledger that paid for training states it as a method's does, here with other rates and steps."""

    @pytest.mark.thorough
    @pytest.mark.parametrize(("rate", "steps"), [(0.05, 400), (1.0, 20), (0.01, 2000)])
    def test_is_recomposed_from_its_parameters(self, rate: float, steps: int) -> None:
        budget = st.Budget(epsilon=1.0, delta=1e-6).with_failure_delta(1e-7)
        ledger = Ledger(budget)
        ledger.spend(
            bought(ledger, 0.25, GaussianEvent, what="", l2_sensitivity_squared=2, cells=9), step="count"
        )
        ledger.spend(
            bought(
                ledger, 0.75, TrainingEvent, what="", rate=rate, steps=steps, clip=1.0, cells=50, failure=1e-7
            ),
            step="train",
        )
        statement = statement_of(
            ledger, SeededNoise(1), method="none", provenance={}, version="0", choice=None, types_read=False
        )

        facts = json.loads(json.dumps(statement.to_json(), allow_nan=False))

        spent = facts["epsilon_spent"]
        assert 0.999 <= spent <= 1.0
        assert facts["composition"]["spent"] <= facts["composition"]["limit"]
        assert facts["composition"]["delta_spent"] <= 1e-7
        (event,) = events_of(facts)[1:]
        assert event.keys() == {"number", "repetitions", "cost", "kind"} | PUBLISHED["training"]
        # The page's mu is of a curve that is rounded up too, and ours is a bound of it.
        assert spent * 0.995 <= page_code().recomposed(facts) <= spent * 1.001
        assert spent * 0.98 <= page_code().composed_losses(facts) <= spent * 1.001
        words = statement.text()
        for part in (f"{steps} steps", f"rate {rate:g}", "length 1", "noise on their sums"):
            assert part in words


class TestPreprocessing:
    """Domains, bins and values within bins draw in ways that no method does by itself."""

    FRAME = st.datasets.census(n_rows=1500)[["region", "age", "education", "commute_minutes"]]

    @pytest.mark.thorough
    def test_domains_that_are_found(self) -> None:
        for within in ["even", "normal"]:
            for discretizer in ["uniform", "quantile", "kmeans", "privtree"]:
                for accounting in ["gdp", "zcdp"]:
                    settings = st.Preprocessing(
                        discretizer=discretizer, within=within, atoms="declared", share=0.3
                    )
                    budget = st.Budget(epsilon=3.0, delta=1e-6, accounting=accounting)

                    facts = published(
                        st.MST(budget=budget, seed=1, bins=8, preprocessing=settings).fit(self.FRAME)
                    )

                    check(facts)
                    kinds = [event["kind"] for event in events_of(facts)]
                    assert kinds.count("threshold") == 2
                    assert ("tree" in kinds) == (discretizer == "privtree")
                    composition = facts["composition"]
                    assert composition["delta_limit"] == facts["budget"]["selection_delta"]
                    # What is kept for forms of keys goes unspent where categories are found.
                    least = composition["delta_limit"] * (1 - float(SHAPES_SHARE) - 1e-6)
                    assert least <= composition["delta_spent"] <= composition["delta_limit"]

    @pytest.mark.thorough
    def test_frequent_values_and_how_round_they_are(self) -> None:
        pay = np.random.default_rng(0).lognormal(8, 1, 1500).round(2)
        frame = pd.DataFrame(
            {"pay": np.where(np.arange(1500) % 3 == 0, 0.0, pay), "age": np.arange(1500) % 70}
        )
        declared = st.Schema(
            {"pay": st.Numeric(0, 1e6, decimals=2), "age": st.Numeric(0, 120, integer=True, atoms=[0])}
        )
        for schema in (declared, None):
            budget = st.Budget(epsilon=3.0, delta=1e-6)

            facts = published(st.MST(budget=budget, seed=1, bins=8).fit(frame, schema))

            check(facts)
            # The delta of all is used by the column of so many possible values that its question may fail.
            assert [event["kind"] for event in events_of(facts)].count("threshold") == 1
            composition = facts["composition"]
            assert composition["delta_spent"] == pytest.approx(composition["delta_limit"], rel=1e-6)

    @pytest.mark.thorough
    @pytest.mark.parametrize("within", ["even", "normal"])
    @pytest.mark.parametrize("discretizer", ["quantile", "kmeans", "privtree"])
    def test_bins_under_a_pure_budget(self, discretizer: Any, within: Any) -> None:
        settings = st.Preprocessing(discretizer=discretizer, within=within, share=0.3)

        check(fitted("mst", BUDGETS["pure"], preprocessing=settings))

    @pytest.mark.thorough
    def test_a_second_run_of_a_journal_pays_for_both(self, tmp_path: Path) -> None:
        frame, schema = table(1)
        for budget in (BUDGETS["gdp"], st.Budget(epsilon=2.0, delta=1e-6)):
            method = st.MST(budget=budget, seed=1, bins=6, journal=tmp_path / "journal")
            facts = published(method.fit(frame, schema))

        check(facts)
        assert facts["budget"]["epsilon"] == 2.0


class TestWhatCounts:
    @pytest.mark.thorough
    @pytest.mark.parametrize("budget", BUDGETS)
    def test_a_total_without_any_one_of_the_draws_is_smaller(self, budget: str) -> None:
        facts = fitted("mst", BUDGETS[budget])
        whole = page_code().recomposed(facts)

        for step in facts["steps"]:
            kept = step["events"]
            for position in range(len(kept)):
                step["events"] = kept[:position] + kept[position + 1 :]
                assert page_code().recomposed(facts) < whole * (1 - 1e-4)
            step["events"] = kept

    @pytest.mark.thorough
    def test_the_order_of_the_draws_is_that_of_their_numbers(self) -> None:
        facts = fitted("aim", BUDGETS["gdp"])

        numbers = sorted(
            number
            for event in events_of(facts)
            for number in range(event["number"], event["number"] + event["repetitions"])
        )

        assert numbers == list(range(1, len(numbers) + 1))


class TestPublished:
    @pytest.mark.thorough
    def test_an_event_says_what_was_agreed_on_and_no_more(self) -> None:
        for method in KINDS:
            # Without privacy all events are of one kind.
            none = [st.Budget.none()] if method in ("auto", "mst", "argn", "synthpop", "tab-pe") else []
            for budget in filter(partial(takes, method), (BUDGETS["gdp"], BUDGETS["pure"], *none)):
                for event in events_of(fitted(method, budget)):
                    assert (
                        event.keys() == {"number", "repetitions", "cost", "kind"} | PUBLISHED[event["kind"]]
                    )

    def test_the_page_names_every_field(self) -> None:
        facts = fitted("mst", BUDGETS["gdp"])
        fields = {*facts, *facts["composition"], *facts["steps"][0], *facts["steps"][0]["events"][0]}
        fields |= {"selection_delta", "mu_squared", "rho", "unit_column", "rows_per_unit", "rows"}.union(
            *PUBLISHED.values()
        )

        missing = [field for field in sorted(fields) if f"`{field}`" not in PAGE]

        assert not missing
        assert f"This is version {STATEMENT_VERSION}" in PAGE
