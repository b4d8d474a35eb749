"""Rows are learned without what rules compute, and come back complete."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from syntabula import Categorical, Date, Datetime, Identifier, Numeric, Rules, Schema
from syntabula.errors import SchemaError
from syntabula.table.coding.codec import Codec
from syntabula.table.raw import PhysicalType, RawColumn
from syntabula.table.read import read
from syntabula.table.rules.at_work import row_rules
from syntabula.table.rules.evaluation import plain_cells

N = 600


def schema(columns, **rules):
    return row_rules(Schema(columns, rules=Rules(**rules)))


def learned(found, frame):
    return found.learned_table(read(frame, found.schema))[0]


def completed(found, table):
    """Encode what is learned with a code for each value, decode it, and complete the rows."""
    codec = Codec.plan(found.learned_schema, bins=1_000_000)
    encoded, coercions = codec.encode(table)
    assert not coercions
    rng = np.random.default_rng(0)
    return found.completed(codec.decode(encoded, rng), encoded.n_rows, rng)


class TestOrders:
    @pytest.mark.thorough
    def test_numbers_dates_and_times_come_back_exactly(self):
        rng = np.random.default_rng(1)
        first = rng.integers(0, 50, N)
        day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, N), unit="D")
        seen = day + pd.to_timedelta(rng.integers(0, 3000, N), unit="min")
        frame = pd.DataFrame(
            {
                "first": first,
                "second": first + rng.integers(0, 20, N),
                "low": np.round(rng.uniform(-5, 5, N), 2),
                "day": day,
                "seen": seen,
            }
        )
        frame["high"] = (frame.low + np.round(rng.exponential(1, N).clip(0, 4), 1)).round(2)
        found = schema(
            {
                "first": Numeric(0, 49, integer=True),
                "second": Numeric(0, 70, integer=True),
                "low": Numeric(-5, 5, decimals=2),
                "day": Date(dt.date(2020, 1, 1), dt.date(2020, 12, 31)),
                "seen": Datetime(dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1), resolution="minute"),
                "high": Numeric(-5, 10, decimals=2),
            },
            order=[["first", "second"], ["low", "high"], ["day", "seen"]],
        )

        rows, kept, broken = completed(found, learned(found, frame))

        assert kept.all()
        assert not broken
        original = read(frame, found.schema).columns
        for name, column in rows.items():
            expected, _ = plain_cells(found.schema[name], original[name])
            np.testing.assert_array_equal(column.values, expected)

    @pytest.mark.thorough
    def test_days_before_the_narrowest_come_back_exactly(self):
        rng = np.random.default_rng(2)
        stay = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 30, N), unit="D")
        born = stay - pd.to_timedelta(rng.integers(0, 30_000, N), unit="D")
        left = stay + pd.to_timedelta(rng.integers(0, 90, N), unit="D")
        frame = pd.DataFrame({"born": born, "stay": stay, "left": left})
        found = schema(
            {
                "born": Date(dt.date(1900, 1, 1), dt.date(2020, 2, 1)),
                "stay": Date(dt.date(2020, 1, 1), dt.date(2020, 2, 1)),
                "left": Date(dt.date(2020, 1, 1), dt.date(2020, 12, 31)),
            },
            order=[["born", "stay", "left"]],
        )

        table = learned(found, frame)
        rows, kept, _ = completed(found, table)

        assert kept.all()
        assert (table.columns["born"].values == (stay - born).days).all()
        original = read(frame, found.schema).columns
        for name, column in rows.items():
            expected, _ = plain_cells(found.schema[name], original[name])
            np.testing.assert_array_equal(column.values, expected)

    @pytest.mark.thorough
    def test_the_distance_has_the_bounds_and_the_grid_that_follow(self):
        found = schema(
            {
                "a": Numeric(5, 10, decimals=1),
                "b": Numeric(0, 20, decimals=2),
                "day": Date(dt.date(2020, 1, 2), dt.date(2020, 2, 1)),
                "end": Date(dt.date(2020, 1, 1), dt.date(2020, 3, 1), nullable=True, provenance="observed"),
            },
            order=[["a", "b"], ["day", "end"]],
        )

        assert found.learned_schema["b"] == Numeric(0.0, 20.0, decimals=2)
        assert found.learned_schema["end"] == Numeric(
            0, 60, integer=True, nullable=True, provenance="observed"
        )

    def test_steps_have_a_common_one(self):
        for first, second, expected in [
            (Numeric(0, 9, step=0.25), Numeric(0, 9, step=0.5), Numeric(0.0, 9.0, step=0.25)),
            (Numeric(0, 9, step=0.25), Numeric(0, 9, decimals=1), Numeric(0.0, 9.0, step=0.05)),
            (Numeric(0, 9, step=0.1), Numeric(0, 9, decimals=2), Numeric(0.0, 9.0, decimals=2)),
            (
                Numeric(0, 900, integer=True, step=100),
                Numeric(0, 900, integer=True, step=150),
                Numeric(0, 900, integer=True, step=50),
            ),
            (Numeric(0, 9, integer=True), Numeric(0, 9, decimals=1), Numeric(0.0, 9.0, decimals=1)),
            (Numeric(0, 9), Numeric(0, 9, decimals=1), Numeric(0.0, 9.0)),
        ]:
            assert schema({"a": first, "b": second}, order=[["a", "b"]]).learned_schema["b"] == expected

    def test_every_pattern_of_missing_cells_of_a_chain_comes_back(self):
        for narrowest in ["a", "b", "c"]:
            values = [1, 3, None]
            cases = [(a, b, c) for a in values for b in (3, 4, None) for c in (4, 7, None)]
            frame = pd.DataFrame(cases, columns=["a", "b", "c"], dtype="Int64")
            column = Numeric(0, 9, integer=True, nullable=True)
            columns = {"a": column, "b": column, "c": column}
            columns[narrowest] = Numeric(0, 8, integer=True, nullable=True)
            found = schema(columns, order=[["a", "b", "c"]])
            assert {*found.compiled.distances} == {*"abc"} - {narrowest}

            rows, kept, _ = completed(found, learned(found, frame))

            assert kept.all()
            for name in frame:
                np.testing.assert_array_equal(rows[name].missing, frame[name].isna())
                here = ~rows[name].missing
                np.testing.assert_array_equal(rows[name].values[here], frame[name].dropna().astype(int))

    def test_a_value_above_the_bound_of_the_missing_one_that_it_precedes_comes_back(self):
        frame = pd.DataFrame({"a": [15, 3], "b": [None, 5]}, dtype="Int64")
        found = schema(
            {"a": Numeric(0, 20, integer=True), "b": Numeric(0, 8, integer=True, nullable=True)},
            order=[["a", "b"]],
        )
        assert {*found.compiled.distances} == {"a"}

        rows, kept, _ = completed(found, learned(found, frame))

        assert kept.all()
        assert rows["a"].values.tolist() == [15, 3]

    def test_a_row_whose_sum_passes_the_upper_bound_is_not_kept(self):
        found = schema(
            {"a": Numeric(0, 5, integer=True), "b": Numeric(0, 6, integer=True)}, order=[["a", "b"]]
        )
        whole = PhysicalType("integer", "int64")
        gaps = np.zeros(2, np.bool_)
        cells = {
            "a": RawColumn(np.array([5, 5]), gaps, whole),
            "b": RawColumn(np.array([1, 2]), gaps, whole),
        }

        _, kept, broken = found.completed(cells, 2, np.random.default_rng(0))

        assert kept.tolist() == [True, False]
        assert broken == {"b within its bounds": 1}

    def test_values_beyond_the_bounds_are_clipped_and_counted(self):
        found = schema(
            {"a": Numeric(0, 5, integer=True), "b": Numeric(0, 6, integer=True)}, order=[["a", "b"]]
        )

        table, clipped = found.learned_table(read(pd.DataFrame({"a": [1, 9], "b": [9, 3]}), found.schema))

        assert clipped == {"b": 1}
        assert table.columns["b"].values.tolist() == [5, 0]


DERIVED = {
    "a": Numeric(0, 10, decimals=2),
    "b": Numeric(0, 10, decimals=2, nullable=True),
    "total": Numeric(0, 15, decimals=1, nullable=True),
    "day": Date(dt.date(2020, 1, 1), dt.date(2020, 12, 31)),
    "weekday": Categorical(["Saturday", "Sunday", "other day"], open=True, other_label="workday"),
    "copy": Numeric(0, 15, integer=True, nullable=True),
}


class TestWindows:
    def frame(self):
        rng = np.random.default_rng(3)
        start = rng.integers(100, 900, N)
        day = pd.Timestamp("2020-03-01") + pd.to_timedelta(rng.integers(0, 300, N), unit="D")
        at = day + pd.to_timedelta(rng.integers(0, 24, N), unit="h")
        stay = pd.to_timedelta(rng.integers(0, 31, N), unit="D")
        return pd.DataFrame(
            {
                "start": start,
                "end": start + rng.integers(-5, 11, N),
                "day": day,
                "gone": day + stay,
                "at": at,
                "until": at + pd.to_timedelta(rng.integers(0, 120, N), unit="min"),
                "from": at.tz_localize("UTC"),
                "to": at.tz_localize("UTC") + stay,
            }
        )

    def columns(self):
        year = (dt.datetime(2020, 1, 1), dt.datetime(2021, 6, 30))
        days = Date(dt.date(2020, 1, 1), dt.date(2021, 12, 31))
        zoned = Datetime(*year, timezone="Europe/Berlin", resolution="hour")
        return {
            "start": Numeric(0, 999, integer=True),
            "end": Numeric(0, 999, integer=True),
            "day": days,
            "gone": days,
            "at": Datetime(*year, resolution="minute"),
            "until": Datetime(*year, resolution="minute"),
            "from": zoned,
            "to": zoned,
        }

    @pytest.mark.thorough
    def test_columns_come_back_exactly_from_distances_with_their_bounds(self):
        frame = self.frame()
        found = schema(
            self.columns(),
            require=[
                '"end" - start between -5 and 10',
                "gone <= day + interval 30 day",
                '"at" <= until and until - "at" <= interval 2 hour',
                '"to" - "from" between interval 0 day and interval 30 day',
            ],
        )

        rows, kept, broken = completed(found, learned(found, frame))

        assert kept.all()
        assert not broken
        assert {
            n: (c.lower, c.upper)
            for n, c in found.learned_schema.columns.items()
            if n in found.compiled.distances
        } == {
            "end": (-5, 10),
            # Only the bounds of the columns keep one from long before the other.
            "gone": (-730, 30),
            "until": (0, 120),
            "to": (0, 30 * 24),
        }
        original = read(frame, found.schema).columns
        for name, column in rows.items():
            expected, _ = plain_cells(found.schema[name], original[name])
            np.testing.assert_array_equal(column.values, expected)

    def test_decimals_keep_their_grid(self):
        half = Numeric(0, 100, step=0.5)
        found = schema({"a": half, "b": half}, require=["b - a > 0.5 and b - a < 3.2"])

        assert found.learned_schema["b"] == Numeric(1.0, 3.0, step=0.5)

    def test_records_outside_come_to_the_nearest_end(self):
        days = Date(dt.date(2020, 1, 1), dt.date(2020, 12, 31))
        found = schema({"day": days, "gone": days}, require=["gone between day and day + 30"])
        frame = pd.DataFrame(
            {"day": pd.to_datetime(["2020-03-01"] * 2), "gone": pd.to_datetime(["2020-02-01", "2020-06-01"])}
        )

        assert learned(found, frame).columns["gone"].values.tolist() == [0, 30]


class TestDerived:
    def found(self):
        return schema(DERIVED, derive={"total": "a + b", "weekday": "dayname(day)", "copy": "total"})

    @pytest.mark.thorough
    def test_they_are_not_learned(self):
        assert [*self.found().learned_schema] == ["a", "b", "day"]

    @pytest.mark.thorough
    def test_they_are_computed_rounded_and_missing_as_declared(self):
        frame = pd.DataFrame(
            {
                "a": [1.11, 2.0, 9.5, 0.3],
                "b": [2.22, None, 9.5, 0.6],
                "day": pd.to_datetime(["2020-01-04", "2020-01-05", "2020-01-06", "2020-01-07"]),
            }
        )
        found = self.found()

        rows, kept, broken = completed(found, learned(found, frame))

        assert [*rows] == [*DERIVED]
        assert rows["total"].values[[0, 3]].tolist() == [3.3, 0.9]
        assert rows["total"].missing.tolist() == [False, True, False, False]
        assert rows["weekday"].values.tolist() == ["Saturday", "Sunday", "workday", "workday"]
        # A copy of the rounded total, rounded again.
        assert rows["copy"].values[[0, 3]].tolist() == [3, 1]
        assert kept.tolist() == [True, True, False, True]
        assert broken == {"total within its domain": 1}

    def test_real_rows_that_break_one_are_found(self):
        frame = pd.DataFrame(
            {
                "a": [1.0, 1.0, 1.0],
                "b": [2.0, 2.0, None],
                "total": [3.0, 3.5, 3.0],
                "day": pd.to_datetime(["2020-01-04"] * 3),
                "weekday": ["Saturday", "Sunday", "Saturday"],
                "copy": [3, 4, 3],
            }
        )
        found = self.found()

        broken = found.broken_by(read(frame, found.schema).columns, 3)

        assert {rule: rows.tolist() for rule, rows in broken.items()} == {
            "total = a + b": [False, True, True],
            "weekday = dayname(day)": [False, True, False],
            "copy = total": [False, False, False],
        }

    def test_something_must_be_left_to_learn(self):
        with pytest.raises(SchemaError, match="every column is derived"):
            _ = schema({"a": Numeric(0, 1, integer=True)}, derive={"a": "1"}).learned_schema

    def test_an_expression_that_fails_for_a_row_is_missing_there(self):
        found = schema(
            {
                "s": Categorical(["12", "x"]),
                "n": Numeric(0, 99, integer=True, nullable=True),
            },
            derive={"n": "s::INTEGER"},
        )

        rows, kept, _ = completed(found, learned(found, pd.DataFrame({"s": ["12", "x", "12"]})))

        assert rows["n"].missing.tolist() == [False, True, False]
        assert kept.all()


class TestConditions:
    def test_where_they_are_missing_they_hold(self):
        found = schema({"a": Numeric(0, 9, integer=True, nullable=True)}, require=["a > 3"])
        frame = pd.DataFrame({"a": pd.array([1, 5, None], dtype="Int64")})

        _, kept, broken = completed(found, learned(found, frame))

        assert kept.tolist() == [False, True, True]
        assert broken == {"a > 3": 1}

    def test_decimals_are_exact(self):
        column = Numeric(0, 1, decimals=1)
        found = schema({"a": column, "b": column, "c": column}, require=["a + b = c"])
        frame = pd.DataFrame({"a": [0.1], "b": [0.2], "c": [0.3]})

        _, kept, _ = completed(found, learned(found, frame))

        assert kept.all()

    @pytest.mark.thorough
    def test_times_with_a_zone_are_wall_clock_times(self):
        ends = (dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1))
        for zone, hour in (("Europe/Paris", 1), ("+05:30", 5), ("UTC", 0)):
            found = schema({"t": Datetime(*ends, timezone=zone)}, require=[f"hour(t) = {hour}"])
            cells = read(pd.DataFrame({"t": pd.to_datetime(["2020-06-01T00:00"]).tz_localize("UTC")})).columns
            expected = [hour == (2 if zone == "Europe/Paris" else hour)]  # summer time

            (rows,) = found.broken_by(cells, 1).values()

            assert [not row for row in rows] == expected

    def test_an_order_compares_points_in_time_whatever_the_wall_clocks_say(self):
        bounds = (dt.datetime(2024, 10, 26), dt.datetime(2024, 10, 28))
        zones = ("Europe/Berlin", "Europe/Berlin", "America/New_York")
        columns = {name: Datetime(*bounds, timezone=zone) for name, zone in zip("abc", zones, strict=True)}
        found = schema(columns, order=(("a", "b", "c"),))
        # Twenty minutes in which Berlin puts its clocks back, and New York's are hours behind.
        instants = pd.to_datetime(["2024-10-27 00:50", "2024-10-27 01:10", "2024-10-27 01:11"], utc=True)
        rows = {
            name: [instants[i].tz_convert(zone)]
            for i, (name, zone) in enumerate(zip("abc", zones, strict=True))
        }
        wrong = {name: [instants[2 - i].tz_convert(zones[i])] for i, name in enumerate("abc")}
        frame = pd.concat([pd.DataFrame(rows), pd.DataFrame(wrong)], ignore_index=True)

        broken = found.broken_by(read(frame, found.schema).columns, 2)

        assert broken["a <= b <= c"].tolist() == [False, True]

    def test_columns_that_differ_only_in_case_are_two(self):
        whole = Numeric(0, 9, integer=True)
        found = schema({"a": whole, "A": whole}, require=["a < A"])

        _, kept, _ = completed(found, learned(found, pd.DataFrame({"a": [1, 2], "A": [2, 1]})))

        assert kept.tolist() == [True, False]


class TestTogether:
    def test_the_first_column_decides_and_others_take_values_of_other_rows(self):
        whole = Numeric(0, 9, integer=True, nullable=True)
        found = schema({"id": Identifier(), "a": whole, "b": whole}, together=[["a", "b"]])
        kind = PhysicalType("integer", "int64")
        rng = np.random.default_rng(3)
        cells = {
            "id": RawColumn(np.arange(N), np.zeros(N, np.bool_), kind),
            "a": RawColumn(rng.integers(0, 10, N), rng.random(N) < 0.3, kind),
            "b": RawColumn(rng.integers(4, 7, N), rng.random(N) < 0.3, kind),
        }

        rows, kept, _ = found.completed(cells, N, rng)

        assert kept.all()
        np.testing.assert_array_equal(rows["a"].missing, cells["a"].missing)
        np.testing.assert_array_equal(rows["b"].missing, cells["a"].missing)
        assert set(rows["b"].values[~rows["b"].missing]) <= {4, 5, 6}


@pytest.mark.thorough
class TestUnsignedIntegers:
    """Whole numbers beyond 2^63 are compared and subtracted exactly, and are not learned as distances."""

    LARGEST = 2**64 - 1
    COLUMNS = dict.fromkeys(["a", "b"], Numeric(0, LARGEST, integer=True))

    @pytest.mark.parametrize(
        "rules",
        [
            {"require": ["b - a between -5 and 10"]},
            {"require": ["b between a and a + 10"]},
            {"require": ["a < b"]},
            {"order": [["a", "b"]]},
        ],
    )
    def test_rows_come_back_exactly(self, rules):
        found = schema(self.COLUMNS, **rules)
        frame = pd.DataFrame({"a": np.uint64(self.LARGEST - 9) - np.arange(3, dtype=np.uint64)})
        frame["b"] = frame["a"] + np.uint64(4)

        rows, kept, broken = found.completed(learned(found, frame).columns, 3, np.random.default_rng(0))

        assert kept.all()
        assert not broken
        assert rows["b"].values.tolist() == frame["b"].tolist()

    def test_negative_differences_are_numbers(self):
        found = schema(self.COLUMNS, require=["b - a between -5 and 10"])
        top = self.LARGEST
        frame = pd.DataFrame({"a": [top, top, 0], "b": [top - 5, top - 6, top]}, dtype="uint64")

        (rows,) = found.broken_by(read(frame, found.schema).columns, 3).values()

        assert rows.tolist() == [False, True, True]

    def test_derived_ones_are_exact(self):
        found = schema(self.COLUMNS, derive={"b": "a - 1"})
        frame = pd.DataFrame({"a": [2**63, self.LARGEST]}, dtype="uint64")

        rows, kept, _ = found.completed(read(frame, Schema({"a": self.COLUMNS["a"]})).columns, 2, None)

        assert kept.all()
        assert rows["b"].values.tolist() == [2**63 - 1, self.LARGEST - 1]
