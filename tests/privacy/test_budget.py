from __future__ import annotations

import json
import math
import pickle
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from syntabula.errors import BudgetError, PrivacyWarning
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.conversion import epsilon_from_rho, mu_from_epsilon, rho_from_epsilon

BAD_EPSILONS = [0, 0.0, -0.0, -1, -math.inf, math.nan, "1", True, False, None, [1.0], 1j, np.nan, np.True_]
BAD_EPSILONS += [Decimal("NaN"), Decimal("sNaN"), Decimal(0), Fraction(-1, 2), np.float64(-1), 10**400]
BAD_EPSILONS += [Decimal("1e400"), Decimal("1e-400")]
BAD_DELTAS = [-0.1, 1, 1.0, 1.5, math.inf, math.nan, "1e-5", True, False, [1e-5], np.nan, Decimal("NaN")]


class TestKinds:
    def test_approximate_counts_in_mu_squared(self) -> None:
        budget = Budget(epsilon=1.0, delta=1e-5)
        assert (budget.kind, budget.currency, budget.delta) == ("approximate", "mu_squared", 1e-5)
        assert budget.total == Fraction(mu_from_epsilon(1.0, 1e-5)) ** 2
        assert budget == Budget(1.0, 1e-5, accounting="gdp") != Budget(1.0, 1e-5, accounting="zcdp")

    def test_approximate_may_count_in_rho(self) -> None:
        budget = Budget(epsilon=1.0, delta=1e-5, accounting="zcdp")
        assert (budget.kind, budget.currency, budget.epsilon, budget.delta) == (
            "approximate",
            "rho",
            1.0,
            1e-5,
        )
        assert budget.total == Fraction(rho_from_epsilon(1.0, 1e-5))

    def test_zcdp_reports_an_epsilon(self) -> None:
        budget = Budget.zcdp(0.1, 1e-6)
        assert (budget.kind, budget.currency, budget.total) == ("zcdp", "rho", Fraction(0.1))
        assert budget.epsilon == epsilon_from_rho(0.1, 1e-6)

    def test_pure_has_no_delta(self) -> None:
        budget = Budget.pure(0.5)
        assert (budget.kind, budget.currency, budget.total, budget.delta) == (
            "pure",
            "epsilon",
            Fraction(1, 2),
            0,
        )

    def test_infinite_epsilon_is_no_privacy(self) -> None:
        for infinite in [math.inf, np.inf, Decimal("Infinity")]:
            for delta in (None, 0, 0.0, 1e-5):
                assert Budget(infinite, delta) == NO_PRIVACY == Budget.none(), delta  # type: ignore[arg-type]
                assert NO_PRIVACY.total is None, delta
                assert NO_PRIVACY.epsilon == math.inf, delta

    def test_is_frozen_hashable_and_can_be_pickled(self) -> None:
        budget = Budget(1.0, 1e-5)
        with pytest.raises(AttributeError):
            budget.epsilon = 2.0  # type: ignore[misc]
        assert {budget: 1}[Budget(1, 1e-5)] == 1
        assert pickle.loads(pickle.dumps(budget)) == budget


class TestNumbers:
    def test_number_types_are_the_same(self) -> None:
        for epsilon in [1, Fraction(1), Decimal(1), np.float32(1), np.int64(1)]:
            assert Budget(epsilon, Fraction(1, 1024)) == Budget(1.0, 2.0**-10)  # type: ignore[arg-type]

    def test_exact_numbers_are_rounded_down(self) -> None:
        for value in [Fraction(1, 3), Fraction(2, 3), Decimal("0.1"), Decimal("0.3"), 2**53 + 3]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PrivacyWarning)
                pure, zcdp = Budget.pure(value), Budget.zcdp(value, 1e-5)
            for budget in (pure, zcdp):
                assert budget.total is not None
                assert budget.total <= Fraction(value)
                assert Fraction(math.nextafter(float(budget.total), math.inf)) > Fraction(value)

    def test_bad_epsilons_are_refused_by_name(self) -> None:
        for epsilon in BAD_EPSILONS:
            with pytest.raises(BudgetError, match=r"epsilon .*finite number above 0"):
                Budget(epsilon, 1e-5)  # type: ignore[arg-type]
            with pytest.raises(BudgetError, match=r"epsilon .*finite number above 0"):
                Budget.pure(epsilon)  # type: ignore[arg-type]
            with pytest.raises(BudgetError, match=r"rho .*finite number above 0"):
                Budget.zcdp(epsilon, 1e-5)  # type: ignore[arg-type]

    def test_bad_deltas_are_refused_by_name(self) -> None:
        for delta in BAD_DELTAS:
            for make in (Budget, Budget.zcdp):
                with pytest.raises(BudgetError, match=r"delta .*between 0 and 1"):
                    make(1.0, delta)  # type: ignore[operator]
            with pytest.raises(BudgetError, match=r"delta .*between 0 and 1"):
                Budget(math.inf, delta)  # type: ignore[arg-type]

    def test_zero_or_missing_delta_points_to_pure(self) -> None:
        for delta in [0, 0.0, None]:
            with pytest.raises(BudgetError, match=r"delta .*Budget\.pure"):
                Budget(1.0, delta)  # type: ignore[arg-type]

    def test_infinite_rho_or_pure_epsilon_is_refused(self) -> None:
        for make in (lambda: Budget.pure(math.inf), lambda: Budget.zcdp(math.inf, 1e-5)):
            with pytest.raises(BudgetError, match=r"finite"):
                make()


class TestWords:
    def test_weak_budgets_warn(self) -> None:
        for make in (lambda: Budget(10.5, 1e-5), lambda: Budget.pure(11), lambda: Budget.zcdp(3, 1e-5)):
            with pytest.warns(PrivacyWarning, match="epsilon"):
                make()
        with pytest.warns(PrivacyWarning, match="delta"):
            Budget(1.0, 0.01)

    def test_the_warning_points_to_the_caller(self) -> None:
        for make in (lambda: Budget(20.0, 1e-5), lambda: Budget.zcdp(20.0, 1e-5), lambda: Budget.pure(20.0)):
            with pytest.warns(PrivacyWarning) as caught:
                make()
            assert caught[0].filename == __file__

    def test_usual_budgets_do_not_warn(self) -> None:
        Budget(10.0, 1e-3)

    def test_json_round_trip_and_one_sentence(self) -> None:
        for budget in [Budget(1.0, 1e-5), Budget.zcdp(0.1, 1e-6), Budget.pure(0.3), Budget.none()]:
            assert Budget.from_json(json.loads(json.dumps(budget.to_json(), allow_nan=False))) == budget
            assert budget.describe().endswith(".")
            assert budget.describe().count(". ") == 0

    def test_delta_set_aside_has_the_name_that_files_know(self) -> None:
        for record in (
            {
                "kind": "approximate",
                "epsilon": 1.0,
                "delta": 1e-5,
                "mu_squared": 1.0,
                "selection_delta": 2.0**-20,
            },
            {"kind": "zcdp", "epsilon": 1.0, "delta": 1e-5, "rho": 0.25, "selection_delta": 2.0**-20},
        ):
            budget = Budget.from_json(record)

            assert budget.failure_delta == Fraction(1, 2**20)
            assert budget.to_json()["selection_delta"] == 2.0**-20

    def test_reading_back_does_not_warn_again(self) -> None:
        with pytest.warns(PrivacyWarning):
            budget = Budget(20.0, 1e-5)
        assert Budget.from_json(budget.to_json()) == budget

    def test_bad_records_are_refused(self) -> None:
        for record in [{}, {"kind": "other"}, {"kind": "pure"}, {"kind": "zcdp", "rho": 1.0}]:
            with pytest.raises(BudgetError):
                Budget.from_json(record)

    @pytest.mark.parametrize("name", ["epsilon", "delta", "rho"])
    @pytest.mark.parametrize("kind", ["approximate", "zcdp", "pure"])
    def test_a_number_that_no_float_holds_does_not_switch_privacy_off(self, kind: str, name: str) -> None:
        numbers = {"epsilon": "1.0", "delta": "1e-5", "rho": "0.1"}
        used = {"approximate": ("epsilon", "delta"), "zcdp": ("rho", "delta"), "pure": ("epsilon",)}[kind]
        if name not in used:
            return
        fields = ", ".join(f'"{n}": {"1e400" if n == name else v}' for n, v in numbers.items())

        with pytest.raises(BudgetError, match=f"{name} is inf"):
            Budget.from_json(json.loads(f'{{"kind": "{kind}", {fields}}}'))


def test_its_repr_is_what_it_was_asked_for() -> None:
    assert repr(Budget(1.0, 1e-5)) == (
        "Budget(epsilon=1.0, delta=1e-05, kind='approximate', currency='mu_squared')"
    )
