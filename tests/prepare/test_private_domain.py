"""The domain of a column, from its stored type and noisy counts."""

from __future__ import annotations

import contextlib
import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from recording import RecordingNoise

import syntabula as st
from syntabula.errors import BudgetError, BudgetExceededError, PrivateDomainError, SchemaError
from syntabula.prepare.private_domain import extract_categories, extract_column
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.labels import LabelCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.privacy.rules import smallest_threshold as threshold_event
from syntabula.table.read import read

N = 20_000
RNG = np.random.default_rng(4)
DELTA = Fraction(1, 10**6)
BUDGET = Budget(epsilon=1.0, delta=1e-5).with_failure_delta(DELTA)


def found(values, budget=BUDGET, *, share=Fraction(1, 5)):
    raw = read(pd.DataFrame({"x": values})).columns["x"]
    ledger = Ledger(budget)
    column = extract_column("x", raw, share=share, delta=DELTA, ledger=ledger, noise=SeededNoise(2))
    assert column.provenance == "private"
    if budget.total is not None:
        assert 0 < ledger.spent <= share * budget.total
        assert {e.step for e in ledger.entries} == {"find the domain of 'x'"}
    return column


class TestKinds:
    def test_whole_numbers(self):
        column = found(RNG.integers(17, 91, N))

        assert column.integer
        assert column.lower <= 20
        assert 88 <= column.upper <= 127
        assert not column.nullable

    def test_money_has_two_decimals(self):
        column = found(np.round(RNG.lognormal(8, 1, N), 2))

        assert column.decimals == 2
        assert column.upper >= 10_000

    def test_numbers_from_0_to_1_do_not_become_zeros_and_ones_where_noise_could_hide_half_of_them(self):
        column = found(np.round(RNG.uniform(0.3, 0.7, 1_500), 2), share=Fraction(3, 1000))

        assert column.decimals == 2
        assert column.lower < 0.4
        assert 0.6 < column.upper < 2.1

    def test_whole_numbers_that_a_missing_cell_made_floats_are_whole(self):
        values = RNG.integers(0, 100, N).astype(float)
        values[:4000] = np.nan

        column = found(values)

        assert column.integer
        assert column.nullable

    def test_coordinates_have_seven_decimals(self):
        column = found(np.round(RNG.normal(48, 1, N), 7))

        assert column.decimals == 7
        assert 0 <= column.lower <= 48 <= column.upper <= 128

    def test_many_decimals_beside_large_numbers_are_not_cut(self):
        values = np.where(np.arange(N) % 2, np.round(RNG.random(N), 12), 5e6)

        column = found(values)

        # A grid of so many decimals would end at 1,125.
        assert column.decimals is None
        assert column.upper >= 5e6

    def test_numbers_of_any_precision_have_no_decimals(self):
        column = found(RNG.normal(0, 1, N))

        assert not column.integer
        assert column.decimals is None

    def test_a_few_finer_values_do_not_change_the_precision(self):
        values = np.round(RNG.random(N) * 50, 1)
        values[:3] = 1 / 3

        assert found(values).decimals == 1

    def test_what_differences_lose_in_floats_does_not_change_it_either(self):
        values = np.round(RNG.random(N) * 50, 1) + 10.2 - 10.1

        assert (np.round(values, 1) != values).any()
        assert found(values).decimals == 1
        assert found(values * 1e-15).decimals is None
        assert found(np.nextafter(np.rint(values) + 1, 99.0)).decimals == 1

    def test_infinite_values_do_not_make_the_bounds_infinite(self):
        values = RNG.normal(0, 1, N)
        values[:5] = np.inf

        assert found(values).upper <= 16

    def test_days(self):
        first = dt.date(2015, 1, 1)
        column = found([first + dt.timedelta(days=int(d)) for d in RNG.integers(0, 2000, N)])

        assert isinstance(column, st.Date)
        assert dt.date(2010, 1, 1) <= column.lower <= dt.date(2015, 2, 1)
        assert dt.date(2020, 4, 1) <= column.upper <= dt.date(2033, 1, 1)

    def test_points_in_time_keep_zone_and_resolution(self):
        for zone in [None, "Europe/Paris"]:
            start = pd.Timestamp("2018-01-01", tz=zone)
            column = found(start + pd.to_timedelta(RNG.integers(0, 10**5, N), unit="min"))

            assert isinstance(column, st.Datetime)
            assert column.resolution == "minute"
            assert column.timezone == zone

    def test_true_and_false_need_no_search_but_for_missing_cells(self):
        assert found(RNG.random(N) < 0.5) == st.Boolean(nullable=False, provenance="private")
        values = pd.array(RNG.random(N) < 0.5, dtype="boolean")
        values[:5000] = None
        assert found(values).nullable

    def test_decimals_keep_their_stored_scale(self):
        import pyarrow as pa

        cents = [Decimal(int(c)) / 100 for c in RNG.integers(0, 10_000, 2_000)]
        table = read(pa.table({"x": pa.array(cents, pa.decimal128(10, 2))}))

        column = extract_column(
            "x",
            table.columns["x"],
            share=Fraction(1, 2),
            delta=DELTA,
            ledger=Ledger(Budget(epsilon=5.0, delta=1e-5)),
            noise=SeededNoise(0),
        )

        assert column.decimals == 2
        assert 90 <= column.upper <= 200


class TestText:
    def test_frequent_labels_are_categories_and_there_is_always_another_one(self):
        column = found(RNG.choice(["a", "b", "other"], N))

        assert column.categories == ("a", "b", "other")
        assert column.open
        assert column.other_label == "other_"

    def test_names_become_an_identifier(self):
        assert isinstance(found([f"person {i}" for i in range(N)]), st.Identifier)

    def test_names_may_be_missing_if_many_are(self):
        column = found([*(f"person {i}" for i in range(1000)), *[None] * 19_000])

        assert column == st.Identifier(nullable=True, provenance="private")

    def test_text_that_is_no_unicode_counts_as_missing(self):
        values = np.array(["a"] * 10_000 + ["\ud800"] * 10_000, dtype=object)
        raw = read(pd.DataFrame({"x": pd.Series(["a"] * N, dtype=object)})).columns["x"]
        broken = type(raw)(values, raw.missing, raw.physical)

        column = extract_column(
            "x", broken, share=Fraction(1, 2), delta=DELTA, ledger=Ledger(BUDGET), noise=SeededNoise(0)
        )

        assert column.categories == ("a",)
        assert column.nullable


class TestCodes:
    def test_numbers_that_are_held_as_categories_keep_to_those_that_are_frequent(self):
        values = RNG.choice([5000, 0, 1000], N)
        values[0] = 77

        column = found(pd.Series(values).astype("category"))

        assert column == st.Categorical((0, 1000, 5000), nullable=True, provenance="private")

    def test_so_do_fractions_and_what_is_infinite_is_missing(self):
        values = RNG.choice([-0.0, 9.99, np.inf, np.nan], N)

        column = found(pd.Series(values).astype("category"))

        assert column == st.Categorical((0.0, 9.99), nullable=True, provenance="private")

    def test_codes_of_which_none_is_frequent_become_running_numbers(self):
        column = found(pd.Series(np.arange(N)).astype("category"))

        assert column == st.Identifier(integer=True, provenance="private")


class TestRefusal:
    def test_durations_are_refused_by_their_type(self):
        with pytest.raises(SchemaError, match="durations"):
            found(pd.to_timedelta(RNG.integers(0, 9, N), unit="h"))

    def test_all_columns_that_cannot_be_learned_are_named_at_once(self):
        frame = pd.DataFrame(
            {"a": [1, 2], "b": pd.to_timedelta([1, 2], unit="h"), "c": [[1], [2]], "d": [1, "x"]}
        )

        with pytest.raises(
            SchemaError, match=r"'b' holds durations; .*; nor can columns 'c', 'd' be learned as"
        ):
            st.Independent(epsilon=1.0).fit(frame)

    def test_a_budget_that_hides_all_is_an_error(self):
        with pytest.raises(PrivateDomainError, match="'x'"):
            found(RNG.normal(0, 1, 50))


def labels_found(counts, budget=BUDGET, *, delta=DELTA, share=Fraction(1, 2), seed=0):
    ledger = Ledger(budget)
    column = LabelCurator(counts, ledger, SeededNoise(seed))
    return extract_categories(column, share=share, delta=delta, step="labels"), ledger


class TestFound:
    def test_frequent_labels_come_out_in_alphabetical_order(self):
        categories, _ = labels_found({"pear": 5_000, "apple": 9_000, None: 800, "quince": 3})

        assert categories.labels == ("apple", "pear")
        assert categories.has_missing

    def test_labels_of_single_records_stay_in(self):
        # 20,000 labels of one record each, at delta 1e-6: one comes out with probability below 2 %.
        categories, _ = labels_found({f"person {i}": 1 for i in range(20_000)})

        assert categories.labels == ()

    def test_without_privacy_a_label_of_one_record_is_a_category(self):
        categories, _ = labels_found({"a": 2, "b": 1}, Budget.none())

        assert categories.labels == ("a", "b")


class TestPayment:
    def test_costs_its_share_and_its_delta(self):
        _, ledger = labels_found({"a": 100})

        assert 0 < ledger.spent <= BUDGET.total / 2
        assert ledger.epsilon_spent < 1.0

    def test_delta_cannot_be_spent_twice(self):
        ledger = Ledger(BUDGET)
        column = LabelCurator({"a": 100}, ledger, SeededNoise(0))
        extract_categories(column, share=Fraction(1, 4), delta=DELTA, step="one")

        with pytest.raises(BudgetExceededError, match="delta"):
            extract_categories(column, share=Fraction(1, 4), delta=DELTA, step="two")

    def test_a_pure_budget_has_no_delta_to_set_aside(self):
        with pytest.raises(BudgetError, match="schema"):
            Budget.pure(1.0).with_failure_delta(DELTA)

    def test_the_threshold_follows_its_formula_and_never_costs_more_than_its_delta(self):
        event = threshold_event(10.0, DELTA)

        # The density of the normal distribution of deviation 10 is 1e-6 there, but for what lies beyond both bounds.
        assert np.exp(-(((event.threshold - 1) / 10) ** 2) / 2) / (10 * np.sqrt(2 * np.pi)) == pytest.approx(
            1e-6, rel=1e-4
        )
        assert Fraction(event.delta) <= DELTA


class TestBudget:
    def test_setting_delta_aside_leaves_a_little_less_to_spend(self):
        whole = Budget(epsilon=1.0, delta=1e-5)
        less = whole.with_failure_delta(1e-6)

        assert 0.9 * whole.total < less.total < whole.total
        assert Budget.from_json(less.to_json()) == less
        assert less.epsilon == 1.0

    def test_a_budget_in_zcdp_keeps_rho_and_reports_a_larger_epsilon(self):
        whole = Budget.zcdp(0.1, 1e-5)
        less = whole.with_failure_delta(1e-6)

        assert less.total == whole.total
        assert less.epsilon > whole.epsilon
        assert Budget.from_json(less.to_json()) == less


class TestKeys:
    def key_of(self, name, values, noise=None):
        raw = read(pd.DataFrame({name: values})).columns[name]
        ledger = Ledger(BUDGET)
        column = extract_column(
            name, raw, share=Fraction(1, 5), delta=DELTA, ledger=ledger, noise=noise or SeededNoise(2)
        )
        assert ledger.spent <= Fraction(1, 5) * BUDGET.total
        return column

    def test_whole_numbers_with_the_name_of_a_key_are_keys_if_they_hardly_repeat(self):
        for name in ["id", "order_id", "customerID", "caseid", "Key"]:
            cases = [
                (RNG.permutation(N) + 10**6, True),
                (RNG.integers(0, N // 5, N), True),
                (RNG.integers(0, 40, N), False),
            ]
            for values, expected in cases:
                assert isinstance(self.key_of(name, values), st.Identifier) == expected

    def test_of_other_names_they_are_numbers(self):
        for name in ("age", "paid", "amount", "valid"):
            assert isinstance(self.key_of(name, RNG.permutation(N)), st.Numeric)

    def test_missing_cells_stay(self):
        values = np.where(RNG.random(N) < 0.2, np.nan, np.arange(N))

        column = self.key_of("opt_id", values)

        assert (column.integer, column.nullable) == (True, True)

    def test_one_record_changes_one_of_the_counts_by_one(self):
        values = pd.Series([3, 3, 3, 5, 8, 8, 9, None], dtype="Int64")
        counted = []
        for rows in ([], *([i] for i in range(8))):
            noise = RecordingNoise(SeededNoise(0))
            with contextlib.suppress(PrivateDomainError):
                self.key_of("id", values.drop(rows), noise)
            counted.append(next(call.exact for call in noise.calls if call.exact.size == 3).astype(np.int64))

        assert counted[0].tolist() == [4, 3, 1]
        assert all(np.abs(other - counted[0]).sum() == 1 for other in counted[1:])
