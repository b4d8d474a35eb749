"""Scores of rows: heavy values, roundness, tails, missing cells and invented values, on tables with known answers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from syntabula import evaluate
from syntabula.errors import ArgumentError, PrivacyWarning
from syntabula.metrics import compare
from syntabula.metrics.cells import InventedValues, MissingCells
from syntabula.metrics.heavy_values import RoundValues, Spikes
from syntabula.metrics.numeric_columns import FarOut, Spread
from syntabula.metrics.rhythm import Rhythm, RhythmPairs
from syntabula.table.schema.columns import Categorical
from syntabula.table.schema.schema import Schema

RNG = np.random.default_rng(0)


def parts(metric, real, synthetic, **declared):
    frames = (pd.DataFrame(real), pd.DataFrame(synthetic))
    schema = Schema(declared, others="find") if declared else None
    return metric(compare(*frames, schema=schema), RNG)


class TestSpikes:
    def test_counts_the_smaller_share_of_each_heavy_value(self):
        # Zero holds half of the real column and 9 a tenth; the other values hold 1 % each.
        real = [0.0] * 50 + [9.0] * 10 + [100.5 + i for i in range(40)]
        synthetic = [0.0] * 20 + [9.0] * 40 + [200.5 + i for i in range(40)]

        found = parts(Spikes(), {"pay": real}, {"pay": synthetic})

        assert found.details["pay",] == pytest.approx((0.2 + 0.1) / 0.6)
        assert found.facts["spikes"] == 2

    def test_shares_are_those_of_present_cells(self):
        real = [0.0] * 25 + [math.nan] * 50 + [i + 0.5 for i in range(25)]
        synthetic = [0.0] * 25 + [i + 0.5 for i in range(75)]

        found = parts(Spikes(least=0.1), {"pay": real}, {"pay": synthetic})

        assert found.details["pay",] == pytest.approx(0.25 / 0.5)

    def test_a_column_without_heavy_values_has_no_part(self):
        smooth = {"pay": np.arange(1000) + 0.5}

        found = parts(Spikes(), smooth, smooth)

        assert math.isnan(found.value)
        assert "2%" in found.note

    def test_refuses_shares_that_are_none(self):
        for least in [0, 1.5, math.nan, "much"]:
            with pytest.raises(ArgumentError, match="least"):
                Spikes(least=least)


class TestRoundValues:
    def test_tells_multiples_of_a_hundred_from_numbers_between(self):
        real = {"pay": 100.0 * np.arange(1, 10), "age": np.arange(1.0, 10.0)}
        between = {"pay": 100.0 * np.arange(1, 10) + 1, "age": np.arange(1.0, 10.0)}

        found = parts(RoundValues(), real, between)

        assert found.details == {("pay",): 1.0, ("age",): 0.0}

    def test_decimal_fractions_are_multiples_of_their_unit(self):
        """Multiples of a unit by odd factors and not of five are no rounder than the unit."""
        for unit in [0.01, 0.1, 5.0, 50.0, 1000.0]:
            factors = np.array([f for f in range(1, 400) if f % 2 and f % 5])
            real = {"pay": np.round(unit * factors, 2)}
            finer = {"pay": real["pay"] + unit / 3}

            assert parts(RoundValues(), real, {"pay": real["pay"][::-1].copy()}).value == 0
            assert parts(RoundValues(), real, finer).value == 1


class TestTails:
    def test_spread_is_a_factor_in_both_directions(self):
        real = {"pay": np.arange(100.0), "age": np.arange(100.0)}
        synthetic = {"pay": 3 * np.arange(100.0), "age": np.arange(100.0) / 4}

        found = parts(Spread(), real, synthetic)

        assert found.details == {("pay",): pytest.approx(3), ("age",): pytest.approx(4)}

    def test_a_column_that_became_constant_counts_as_a_hundredfold(self):
        found = parts(Spread(), {"pay": np.arange(100.0)}, {"pay": np.ones(100)})

        assert found.value == 100

    def test_absurd_values_are_counted_beyond_the_width_of_the_bulk(self):
        real = {"pay": np.arange(1001.0)}
        synthetic = {"pay": np.concatenate([np.arange(990.0), np.full(5, 1990.0), np.full(6, 9e9)])}

        found = parts(FarOut(), real, synthetic)

        # The bulk is 1 to 999, so values up to 1,997 are not far outside.
        assert found.value == pytest.approx(6 / 1001)


class TestCells:
    def test_missing_cells_are_compared_in_columns_that_have_any(self):
        real = {"a": ["x"] * 9 + [None], "b": [1.5] * 5 + [math.nan] * 5, "c": ["y"] * 10}
        synthetic = {"a": ["x"] * 10, "b": [1.5] * 2 + [math.nan] * 8, "c": ["y"] * 10}

        found = parts(MissingCells(), real, synthetic)

        assert found.details == {("a",): pytest.approx(0.1), ("b",): pytest.approx(0.3)}

    def test_invented_values_are_those_that_the_real_table_lacks(self):
        real = {"job": ["cook"] * 5 + ["nurse"] * 4 + [None]}
        synthetic = {"job": ["cook"] * 5 + ["other"] * 3 + [None] * 2}

        found = parts(
            InventedValues(), real, synthetic, job=Categorical(("cook", "nurse", "other"), nullable=True)
        )

        assert found.value == pytest.approx(3 / 8)


class TestRhythm:
    def test_compares_weekdays_days_of_the_month_and_times_of_day(self):
        # Ten Saturdays at 9:30, of which the second table moves half to Sunday, and two to 10:45.
        real = pd.date_range("2024-01-06 09:30", periods=10, freq="7D")
        synthetic = real.to_numpy().copy()
        synthetic[:5] += np.timedelta64(1, "D")
        synthetic[5:7] += np.timedelta64(75, "m")

        found = parts(Rhythm(), {"at": real}, {"at": synthetic})

        assert found.details["at", "weekday"] == pytest.approx(0.5)
        assert found.details["at", "hour"] == found.details["at", "minute"] == pytest.approx(0.2)
        assert found.value == pytest.approx(np.mean([*found.details.values()]))

    def test_days_have_no_hours_and_numbers_no_days(self):
        real = {"day": pd.date_range("2024-01-01", periods=62).date, "pay": np.arange(62) + 0.5}

        found = parts(Rhythm(), real, real)

        assert {*found.details} == {("day", "weekday"), ("day", "day of the month")}
        assert found.value == 0
        assert "days or times" in parts(Rhythm(), {"pay": real["pay"]}, {"pay": real["pay"]}).note


def test_evaluate_shows_the_group_first():
    real = pd.DataFrame({"pay": [0.0] * 60 + [i + 0.5 for i in range(40)], "job": ["a", "b"] * 50})

    with pytest.warns(PrivacyWarning):
        found = evaluate(real, real, metrics=["tvd-1", "rows"])

    assert [r.score.metric for r in found.results][:2] == ["spikes", "round-values"]
    assert found.score("spikes").value == 1
    assert found.text().startswith("Rows")


class TestRhythmPairs:
    DAYS = pd.to_datetime(["2024-01-01 08:00", "2024-01-06 20:00"] * 50)

    def test_hours_and_weekdays_are_compared_beside_other_columns(self):
        place = np.array(["page", "shop"] * 50)
        real = {"at": self.DAYS, "place": place, "paid": [1.0] * 100}
        turned = {**real, "place": place[::-1]}

        found = parts(RhythmPairs(), real, turned)

        assert found.details["at", "hour", "place"] == pytest.approx(1)
        assert found.details["at", "weekday", "place"] == pytest.approx(1)
        assert found.details["at", "hour", "paid"] == pytest.approx(0)
        assert parts(RhythmPairs(), real, real).value == 0
        # Alone, times are as before.
        assert parts(Rhythm(), real, turned).value == 0

    def test_days_have_no_hours_and_missing_times_do_not_count(self):
        days = pd.Series(self.DAYS.normalize())
        some = days.where(np.arange(100) < 50)
        place = ["page", "shop"] * 50

        found = parts(RhythmPairs(), {"at": days, "place": place}, {"at": some, "place": place})

        assert set(found.details) == {("at", "weekday", "place")}
        assert found.value == pytest.approx(0)

    def test_a_table_without_times_has_none(self):
        found = parts(RhythmPairs(), {"place": ["page"]}, {"place": ["page"]})
        assert math.isnan(found.value)
        assert found.note == "there is no column of days or times beside another one"
