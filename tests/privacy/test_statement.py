"""What a release says about its own privacy: every fact that the guarantee rests on, and no more than is true."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntabula.errors import PrivacyWarning, ReleaseFileError
from syntabula.privacy.budget import Budget
from syntabula.privacy.conversion import shown_above, shown_below
from syntabula.privacy.events import (
    ExactEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
    TreeEvent,
)
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SecureNoise
from syntabula.privacy.statement import PrivacyStatement, domain_step, folded, statement_of
from syntabula.privacy.statement_facts import STATEMENT_VERSION, StatedEvent, StatementLine, lines_of
from syntabula.privacy.units import RECORD, Unit

APPROXIMATE = Budget(epsilon=1.2345612, delta=1e-6)
BUDGETS = {
    "approximate": APPROXIMATE,
    "with delta for categories": APPROXIMATE.with_failure_delta(Fraction(1, 10) * Fraction(1e-6)),
    "zcdp": Budget.zcdp(0.3, 1e-6),
    "zcdp with delta for categories": Budget.zcdp(0.3, 1e-6).with_failure_delta(1e-7),
    "pure": Budget.pure(2.0),
    "none": Budget.none(),
}


def statement(budget: Budget = APPROXIMATE, **changes: Any) -> PrivacyStatement:
    private = budget.kind != "none"
    usual = PrivacyStatement(
        method="mst",
        budget=budget,
        epsilon_spent=budget.epsilon if private else None,
        lines=(
            StatementLine(
                step="measure", mechanism="discrete Gaussian noise", share=0.75 if private else None
            ),
            StatementLine(step="choose", mechanism="exponential mechanism", share=0.25 if private else None),
        ),
        relation=RECORD.relation,
        noise="secure",
        noise_is_private=True,
        provenance={"age": "public", "job": "private"},
        version="9.8.7",
    )
    return replace(usual, **changes)


class TestVerdict:
    def test_a_private_release_says_so_with_its_bounds_rounded_up(self) -> None:
        shown = statement()

        assert shown.is_private
        assert "This release is differentially private: epsilon = 1.23457, delta = 1e-06." in shown.text()
        assert "WARNING" not in shown.text()

    def test_a_run_that_left_some_of_its_budget_is_promised_no_more_privacy_for_that(self) -> None:
        # That it stopped early may follow from its answers: only the limit was fixed before.
        text = statement(Budget(epsilon=2.0, delta=1e-6), epsilon_spent=0.5).text()

        assert "This release is differentially private: epsilon = 2, delta = 1e-06." in text
        assert "exp(epsilon) = 7.39" in text
        assert "in all: epsilon = 0.5, delta = 1e-06" in text

    def test_pure_privacy_has_no_delta(self) -> None:
        text = statement(Budget.pure(2.0)).text()

        assert "epsilon = 2 (pure)" in text
        assert "probability delta" not in text

    def test_what_breaks_the_guarantee_stands_first(self) -> None:
        for changes, reason in [
            ({"noise_is_private": False}, "not private: seeded noise"),
            ({"provenance": {"age": "public", "job": "observed"}}, "1 of 2 columns (job)"),
            ({"budget": Budget.none(), "epsilon_spent": None}, "privacy was switched off"),
        ]:
            shown = statement(**changes)

            assert not shown.is_private
            assert len(shown.reasons_against) == 1
            first = shown.text().splitlines()[2]
            assert first.startswith("  WARNING: not ")
            assert reason in first
            assert "This release is differentially private" not in shown.text()

    def test_several_reasons_are_all_told(self) -> None:
        shown = statement(noise_is_private=False, provenance={"age": "observed", "job": "observed"})

        assert len(shown.reasons_against) == 2
        assert shown.text().count("WARNING") == 2
        assert shown.observed_columns == ("age", "job")

    def test_without_privacy_no_factor_is_promised(self) -> None:
        text = statement(Budget.none()).text()

        assert "may reveal anything" in text
        assert "exp(epsilon)" not in text


class TestText:
    def test_it_holds_all_that_the_guarantee_rests_on(self) -> None:
        text = statement().text()

        for fact in (
            "one record",
            RECORD.relation,
            "delta = 1e-06",
            "The number of records is protected too",
            "Noise: secure.",
            "75.0%  measure",
            "25.0%  choose",
            "100.0%  in all",
            "stated by the custodian, independently of the data (1): age.",
            "found under differential privacy by an earlier release, whose cost comes on top (1): job.",
            "clipped to its bounds",
            "their epsilons must be added, and their deltas",
            "A person with several records is protected less",
            "syntabula 9.8.7, method mst",
        ):
            assert fact in text

    def test_a_domain_counts_as_paid_for_only_if_this_run_found_it(self) -> None:
        found = StatementLine(step=domain_step("job"), mechanism="noisy counts", share=0.1)
        text = statement(lines=(found,), provenance={"job": "private", "town": "private"}).text()

        assert "paid for above (1): job." in text
        assert "by an earlier release, whose cost comes on top (1): town." in text

    def test_the_factor_is_an_upper_bound(self) -> None:
        assert "exp(epsilon) = 149" in statement(Budget.pure(5.0)).text()  # 148.41

    @given(st.floats(1e-12, 1e6), st.integers(2, 8))
    def test_numbers_are_never_rounded_down(self, value: float, digits: int) -> None:
        shown = Decimal(shown_above(value, digits))

        assert shown >= Decimal(repr(value))
        assert shown <= Decimal(repr(value)) * (1 + Decimal(10) ** (1 - digits))

    @given(st.floats(1e-12, 1e6), st.integers(2, 8))
    def test_the_scale_of_noise_is_never_rounded_up(self, value: float, digits: int) -> None:
        shown = Decimal(shown_below(value, digits))

        assert shown <= Decimal(repr(value))
        assert shown >= Decimal(repr(value)) * (1 - Decimal(10) ** (1 - digits))

    def test_a_rho_is_not_rounded_down_either(self) -> None:
        assert "rho 0.123457" in statement(Budget.zcdp(0.1234561, 1e-6)).text()


class TestJson:
    def test_it_comes_back_equal(self) -> None:
        for name in sorted(BUDGETS):
            shown = statement(BUDGETS[name])

            facts = json.loads(json.dumps(shown.to_json(), allow_nan=False))

            assert PrivacyStatement.from_json(facts) == shown
            assert PrivacyStatement.from_json(facts).text() == shown.text()

    def test_it_says_in_facts_what_the_text_says_in_words(self) -> None:
        facts = statement(noise_is_private=False).to_json()

        assert facts["is_private"] is False
        assert facts["reasons_against"][0].startswith("not private: seeded noise")
        assert facts["neighbouring_relation"] == RECORD.relation
        assert [step["share"] for step in facts["steps"]] == [0.75, 0.25]
        assert facts["epsilon_spent"] == APPROXIMATE.epsilon

    def test_verdicts_are_worked_out_anew_and_never_believed(self) -> None:
        facts = statement(noise_is_private=False).to_json() | {"is_private": True, "reasons_against": []}

        assert not PrivacyStatement.from_json(facts).is_private

    def test_a_missing_fact_is_refused(self) -> None:
        for key in ["method", "budget", "steps", "noise"]:
            facts = statement().to_json()
            del facts[key]

            with pytest.raises((KeyError, TypeError, ValueError)):
                PrivacyStatement.from_json(facts)

    def test_numbers_are_finite_numbers(self) -> None:
        for value in ["much", {}, math.nan, math.inf]:
            facts = statement().to_json()
            line = facts["steps"][0]

            for damaged in (facts | {"epsilon_spent": value}, facts | {"steps": [line | {"share": value}]}):
                with pytest.raises((TypeError, ValueError)):
                    PrivacyStatement.from_json(damaged)


class TestLines:
    def test_each_step_is_one_line_with_its_mechanism_and_share(self) -> None:
        ledger = Ledger(Budget.zcdp(1.0, 1e-6))
        for _ in range(2):
            ledger.spend(ExponentialEvent(epsilon=1.0, candidates=3), step="choose")
        ledger.spend(GaussianEvent(sigma=2.0, l2_sensitivity_squared=2, cells=9), step="measure")

        choose, measure = lines_of(ledger)

        assert (choose.step, choose.mechanism) == ("choose", "2 times exponential mechanism, epsilon 1")
        assert choose.share == pytest.approx(2 / 8)
        assert measure.mechanism == "discrete Gaussian noise, standard deviation 2"
        assert measure.share == pytest.approx(2 / (2 * 2.0**2))

    def test_a_step_whose_draws_differ_says_how_far(self) -> None:
        ledger = Ledger(Budget.zcdp(1.0, 1e-6))
        for sigma in (4.0, 8.0, 2.5):
            ledger.spend(GaussianEvent(sigma=sigma, l2_sensitivity_squared=1, cells=9), step="measure")
        ledger.spend(ExponentialEvent(epsilon=0.5, candidates=3), step="measure")

        (measure,) = lines_of(ledger)

        assert measure.mechanism == (
            "3 times discrete Gaussian noise, standard deviation 2.5 to 8, and exponential mechanism, epsilon 0.5"
        )

    def test_no_parameter_promises_more_than_there_was(self) -> None:
        ledger = Ledger(Budget(1.0, 1e-5).with_failure_delta(1e-6))
        ledger.spend(ExponentialEvent(epsilon=0.0123412, candidates=3), step="choose")
        ledger.spend(GaussianEvent(sigma=98.769, l2_sensitivity_squared=1, cells=9), step="measure")
        ledger.spend(ThresholdEvent(sigma=98.769, threshold=555.787), step="find")  # delta 1.0001e-08

        assert [line.mechanism for line in lines_of(ledger)] == [
            "exponential mechanism, epsilon 0.01235",
            "discrete Gaussian noise, standard deviation 98.76",
            "noisy counts, kept from 555.7; delta 1.1e-08; standard deviation 98.76",
        ]

    def test_sums_in_fine_steps_and_many_counts_are_said_with_what_a_record_adds(self) -> None:
        ledger, pure = Ledger(Budget(1.0, 1e-5)), Ledger(Budget.pure(1.0))
        ledger.spend(GaussianEvent(sigma=5.4e6, l2_sensitivity_squared=2**40, cells=78), step="sum")
        pure.spend(LaplaceEvent(scale=9e7, l1_sensitivity=2**24, cells=78), step="sum")

        (gaussian,), (laplace,) = lines_of(ledger), lines_of(pure)

        assert gaussian.mechanism == (
            "counts or sums of all records, none sampled; one record, or unit, moves them together by at most L2 length "
            "1.049e+06, in steps of the noise; discrete Gaussian noise, standard deviation 5.4e+06"
        )
        assert "at most L1 length 1.678e+07, in steps of the noise; discrete Laplace" in laplace.mechanism
        # A record adds one to a count of each of 1,500 marginals.
        pure = Ledger(Budget.pure(1.0))
        pure.spend(LaplaceEvent(scale=2e4, l1_sensitivity=1_500, cells=9_000), step="measure")
        assert lines_of(pure)[0].mechanism.startswith(
            "counts or sums of all records, none sampled; one record"
        )

    def test_pure_and_exact_steps_are_named_too(self) -> None:
        pure, none = Ledger(Budget.pure(2.0)), Ledger(Budget.none())
        pure.spend(LaplaceEvent(scale=4.0, l1_sensitivity=2, cells=9), step="measure")
        none.spend(ExactEvent("counts"), step="measure")

        (noisy,), (exact,) = lines_of(pure), lines_of(none)

        assert noisy.mechanism == "discrete Laplace noise, scale 4"
        assert noisy.share == pytest.approx(0.25)
        assert exact.mechanism == "exact counts, no noise"
        assert exact.share is None

    def test_what_was_spent_is_never_printed_below_what_it_was(self) -> None:
        ledger = Ledger(Budget.zcdp(1.0, 1e-6))
        ledger.spend(GaussianEvent(sigma=1.7, l2_sensitivity_squared=1, cells=1), step="measure")

        text = statement(ledger.budget, epsilon_spent=ledger.epsilon_spent).text()

        printed = float(text.split("in all: epsilon = ")[1].split(",")[0])
        assert ledger.epsilon_spent <= printed <= ledger.epsilon_spent * (1 + 1e-5)
        assert math.isfinite(printed)


def of_ledger(ledger: Ledger) -> PrivacyStatement:
    return statement_of(
        ledger,
        SecureNoise(),
        method="mst",
        provenance={"age": "public"},
        version="9.8.7",
        choice=None,
        types_read=False,
    )


class TestEvents:
    GAUSS = GaussianEvent(sigma=4.0, l2_sensitivity_squared=Fraction(2, 3), cells=9)
    PICK = ExponentialEvent(epsilon=0.25, candidates=3)

    def test_equal_draws_in_a_row_are_one_and_all_are_numbered(self) -> None:
        ledger = Ledger(Budget.zcdp(1.0, 1e-6))
        for step, event in (
            ("choose", self.PICK),
            ("choose", self.PICK),
            ("measure", self.GAUSS),
            ("choose", self.PICK),
            ("measure", self.GAUSS),
            ("measure", self.PICK),
        ):
            ledger.spend(event, step=step)

        choose, measure = lines_of(ledger)

        assert [(e.event, e.number, e.repetitions) for e in choose.events or ()] == [
            (self.PICK, 1, 2),
            (self.PICK, 4, 1),
        ]
        assert [(e.event, e.number, e.repetitions) for e in measure.events or ()] == [
            (self.GAUSS, 3, 1),
            (self.GAUSS, 5, 1),
            (self.PICK, 6, 1),
        ]
        assert (choose.events or ())[0].cost == 2 * 0.25**2 / 8

    def test_each_kind_says_its_parameters_and_what_follows_and_comes_back_equal(self) -> None:
        for event, derived in [
            (GaussianEvent(sigma=4.0, l2_sensitivity_squared=Fraction(2, 3), cells=9), {}),
            (ExponentialEvent(epsilon=0.25, candidates=3), {}),
            (LaplaceEvent(scale=3.0, l1_sensitivity=1, cells=9), {"epsilon": math.nextafter(1 / 3, 1)}),
            (TreeEvent(scale=4.0), {"epsilon": 0.75}),
            (ThresholdEvent(sigma=10.0, threshold=60.0), {"delta": ThresholdEvent(10.0, 60.0).delta}),
            (ExactEvent("counts"), {}),
        ]:
            stated = StatedEvent(event=event, number=3, repetitions=2, cost=0.1)

            facts = json.loads(json.dumps(stated.to_json(), allow_nan=False))

            assert facts == {"number": 3, "repetitions": 2, "cost": 0.1} | event.to_json() | derived
            assert StatedEvent.from_json(facts) == stated

    def test_a_statement_with_a_unit_comes_back_equal_in_a_version_of_its_own(self) -> None:
        ledger = Ledger(Budget(2.0, 1e-6), unit=Unit("person", 4))
        ledger.spend(ExponentialEvent(0.1, 3, 4), step="choose")
        shown = of_ledger(ledger)

        facts = json.loads(json.dumps(shown.to_json(), allow_nan=False))

        assert facts["statement_version"] == STATEMENT_VERSION == 3
        assert (facts["unit_column"], facts["rows_per_unit"]) == ("person", 4)
        assert PrivacyStatement.from_json(facts) == shown
        assert "for each of 4 rows" in shown.text()

    def test_a_statement_with_events_comes_back_equal(self) -> None:
        for budget in [Budget(1.0, 1e-6), Budget.zcdp(0.3, 1e-6), Budget.pure(1.0), Budget.none()]:
            ledger = Ledger(budget)
            exact = budget.kind == "none"
            ledger.spend(ExactEvent("choice") if exact else self.PICK, step="choose")
            shown = of_ledger(ledger)

            facts = json.loads(json.dumps(shown.to_json(), allow_nan=False))

            assert facts["statement_version"] == 2
            assert PrivacyStatement.from_json(facts) == shown
            assert facts["composition"]["currency"] == budget.currency
            assert (facts["composition"]["limit"] is None) == (facts["composition"]["spent"] is None) == exact

    def test_a_malformed_event_is_refused(self) -> None:
        for damage in [
            {"number": None},
            {"kind": "magic"},
            {"sigma": -1.0},
            {"more": 3},
            {"cost": math.nan},
            {"cost": math.inf},
        ]:
            ledger = Ledger(Budget(1.0, 1e-6))
            ledger.spend(GaussianEvent(90.0, 1, 1), step="measure")
            facts = of_ledger(ledger).to_json()
            facts["steps"][0]["events"][0] |= damage

            with pytest.raises((KeyError, TypeError, ValueError)):
                PrivacyStatement.from_json(facts)


class TestComposition:
    def test_it_says_the_limits_and_what_was_spent_of_them(self) -> None:
        threshold = ThresholdEvent(sigma=90.0, threshold=600.0)
        ledger = Ledger(Budget(1.0, 1e-5).with_failure_delta(1e-6))
        for _ in range(3):
            ledger.spend(threshold, step="find")

        composition = of_ledger(ledger).to_json()["composition"]

        assert composition["currency"] == "mu_squared"
        assert Fraction(composition["limit"]) >= ledger.budget.total  # type: ignore[operator]
        assert composition["limit"] == pytest.approx(float(ledger.budget.total or 0), rel=1e-15)
        assert ledger.spent <= Fraction(composition["spent"]) <= ledger.spent * (1 + Fraction(1, 2**50))
        assert composition["delta_limit"] == float(ledger.budget.failure_delta)
        assert ledger.failure_spent <= Fraction(composition["delta_spent"]) < 2 * ledger.failure_spent
        assert composition["delta_spent"] == pytest.approx(3 * threshold.delta, rel=1e-15)
        assert "before the first draw" in composition["rule"]
        assert "Dong, Roth and Su" in composition["rule"]

    def test_rounding_up_each_of_many_thirds_does_not_exceed_the_limit(self) -> None:
        ledger = Ledger(Budget.zcdp(1.0, 1e-6))
        for step in "abc":
            ledger.spend(GaussianEvent(1.0, Fraction(2, 3), 1), step=step)

        facts = of_ledger(ledger).to_json()

        assert sum(Fraction(e["cost"]) for step in facts["steps"] for e in step["events"]) > 1
        assert facts["composition"]["spent"] == facts["composition"]["limit"] == 1.0

    @pytest.mark.thorough
    @given(st.floats(1e-3, 30), st.floats(1e-12, 1e-3))
    def test_a_total_in_the_budget_is_never_rounded_down(self, epsilon: float, delta: float) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            for budget in (Budget(epsilon, delta), Budget(epsilon, delta, accounting="zcdp")):
                assert Fraction(budget.to_json()[budget.currency]) >= (budget.total or 0)


class TestOlderStatements:
    """Those without a version did not record the parameters of draws."""

    def test_they_say_that_their_total_cannot_be_recomputed(self) -> None:
        facts = statement().to_json()
        del facts["statement_version"], facts["composition"]
        for step in facts["steps"]:
            del step["events"]

        old = PrivacyStatement.from_json(facts)

        assert "the total cannot be recomputed." in " ".join(old.text().split())
        assert [step["events"] for step in old.to_json()["steps"]] == [None, None]
        assert old.to_json()["composition"]["spent"] is None
        assert old.to_json()["composition"]["delta_spent"] is None
        assert old.to_json()["composition"]["limit"] is not None

    def test_later_versions_are_refused(self) -> None:
        for version in (4, 99):
            with pytest.raises(
                ReleaseFileError, match=f"has version {version}, and.*up to 3; upgrade syntabula"
            ):
                PrivacyStatement.from_json({**statement().to_json(), "statement_version": version})
        for version in (0, -1, "2", 2.0, True, None):
            with pytest.raises(ValueError, match="no version"):
                PrivacyStatement.from_json({**statement().to_json(), "statement_version": version})

    def test_newer_ones_do_not(self) -> None:
        ledger = Ledger(Budget(1.0, 1e-6))
        ledger.spend(GaussianEvent(90.0, 1, 1), step="measure")

        assert "recomputed" not in of_ledger(ledger).text()


class TestResumption:
    def test_a_run_that_was_gone_on_with_says_so(self) -> None:
        resumed = statement(replayed=5)

        assert "5 of the answers came from its journal" in resumed.text()
        assert resumed.is_private
        assert resumed.to_json()["replayed"] == 5
        assert PrivacyStatement.from_json(json.loads(json.dumps(resumed.to_json()))) == resumed

    def test_one_that_never_broke_off_does_not_nor_does_an_older_file(self) -> None:
        facts = statement().to_json()
        assert facts.pop("replayed") == 0

        assert PrivacyStatement.from_json(facts) == statement()
        assert "journal" not in statement().text()


class TestTypes:
    def test_types_that_come_from_the_cells_are_said_to_be_so(self) -> None:
        read = statement(types_read=True)

        assert not read.is_private
        assert "WARNING: not end-to-end private: the types of columns" in read.text()
        assert "Stored types" not in read.text() + statement().text()
        assert PrivacyStatement.from_json(json.loads(json.dumps(read.to_json()))) == read

    def test_without_privacy_nothing_else_is_said_to_weaken_it(self) -> None:
        off = statement(budget=Budget.none(), epsilon_spent=None, stored_types=("age",), types_read=True)

        (reason,) = off.reasons_against
        assert "privacy was switched off" in reason
        assert "privately" not in off.text()

    def test_stored_types_are_named_as_what_the_guarantee_rests_on(self) -> None:
        stored = statement(stored_types=("age", "job"))

        assert not stored.is_private
        (reason,) = stored.reasons_against
        assert reason.startswith("not end-to-end private unless the stored types of 2 of ")
        assert "columns (age, job) are public" in reason
        assert "Stored types of undeclared columns (2): age, job." in stored.text()
        assert stored.to_json()["stored_types"] == ["age", "job"]
        assert PrivacyStatement.from_json(json.loads(json.dumps(stored.to_json()))) == stored

    def test_an_older_file_does_not_say(self) -> None:
        facts = statement().to_json()
        assert facts.pop("types_read") is False
        assert facts.pop("stored_types") == []
        assert facts.pop("made_anew") == []

        assert PrivacyStatement.from_json(facts) == statement()


def test_texts_whose_categories_noise_hides_are_named_with_what_to_do() -> None:
    hidden = statement(made_anew=("name", "town"))

    text = " ".join(hidden.text().split())
    assert "For name, town, noise hides every category, the values are keys, or there are none: they" in text
    assert "state the categories in a schema" in text
    assert "running numbers" not in statement().text()
    assert hidden.is_private
    assert PrivacyStatement.from_json(json.loads(json.dumps(hidden.to_json()))) == hidden


def test_numbers_whose_bounds_noise_hides_are_named_with_what_to_do() -> None:
    hidden = statement(hidden=("age", "seen"))

    text = " ".join(hidden.text().split())
    assert "For age, seen, noise hides where the values lie, or there are none: each is replaced by 0" in text
    assert "state bounds in a schema" in text
    assert "hidden" not in statement().to_json()
    assert hidden.is_private
    assert PrivacyStatement.from_json(json.loads(json.dumps(hidden.to_json()))) == hidden


def test_without_privacy_nothing_is_said_to_be_found_under_it_or_to_add_up() -> None:
    found = StatementLine(step="find the domain of 'job'", mechanism="exact counts, no noise", share=None)

    text = " ".join(statement(Budget.none(), lines=(found,), cut_off={"age": 0.03}).text().split())

    assert "Domains found without privacy, by exact counts (1): job." in text
    assert "moved to the nearest bound (fractions): age (3%)" in text
    for words in ("differential privacy", "noisy", "epsilons must be added", "protected less"):
        assert words not in text


def test_values_beyond_found_bounds_are_told_in_percent() -> None:
    cut = statement(cut_off={"age": 0.031, "job": 0.0149})

    text = " ".join(cut.text().split())
    assert (
        "beyond the bounds that were found are moved to the nearest bound (noisy fractions): age (3%), job (1%)"
        in text
    )
    assert "nearest bound too" not in text
    assert cut.to_json()["cut_off"] == {"age": 0.031, "job": 0.0149}
    assert "cut_off" not in statement().to_json()
    assert PrivacyStatement.from_json(json.loads(json.dumps(cut.to_json()))) == cut


@pytest.mark.parametrize("told", [{"age": 0.031}, {}])
def test_what_noise_may_hide_beyond_found_bounds_is_told(told: dict[str, float]) -> None:
    cut = statement(cut_off=told, cut_off_at_most=0.0234)

    columns = "the other columns" if told else "columns"
    assert (
        f"Of {columns} whose bounds were found, values beyond them are moved to the nearest bound too: at most 2.3% of "
        "the values of each by noisy counts"
    ) in " ".join(cut.text().split())
    assert PrivacyStatement.from_json(json.loads(json.dumps(cut.to_json()))) == cut


class TestFolded:
    def test_the_same_for_many_columns_is_one_line(self) -> None:
        steps = [
            ("count", 1),
            *((f"bins of {name!r}", 1) for name in ("a", "it's", "c of d", "e\n")),
            ("fit", 1),
        ]

        assert folded(steps) == [("count", [0]), ("bins of 4 columns", [1, 2, 3, 4]), ("fit", [5])]

    def test_a_few_and_what_differs_stay_apart_and_in_order(self) -> None:
        steps = [(f"bins of {name!r}", sigma) for sigma in (1, 2) for name in "abc"]
        assert folded(steps) == [(name, [i]) for i, (name, _) in enumerate(steps)]
        assert folded([("fit", 1)] * 5) == [("fit", [i]) for i in range(5)]

    def test_a_wide_table_is_stated_in_few_words_and_listed_in_json(self) -> None:
        lines = [
            StatementLine(step=f"fit the bins of {i!r}", mechanism="a tree, scale 9", share=0.001)
            for i in map(str, range(200))
        ]
        wide = statement(lines=(*lines, StatementLine(step="measure", mechanism="noise", share=0.8)))

        assert "   20.0%  fit the bins of 200 columns  each a tree, scale 9\n" in wide.text()
        assert "  100.0%  in all" in wide.text()
        assert len(wide.to_json()["steps"]) == 201
