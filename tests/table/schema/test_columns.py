"""Column kinds refuse what makes no domain and keep what does exactly."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest

from syntabula.errors import SchemaError
from syntabula.table.raw import PhysicalType
from syntabula.table.schema.columns import Boolean, Categorical, Date, Datetime, Identifier, Numeric

NAN, INF = float("nan"), float("inf")


class TestNumeric:
    def test_integer_bounds_are_kept_exactly(self):
        for bound in [2**53 + 1, 2**64 - 1, -(2**63)]:
            column = Numeric(bound, bound, integer=True)
            assert (column.lower, column.upper) == (bound, bound)
            assert type(column.lower) is int

    def test_numpy_and_whole_float_bounds_become_plain_integers(self):
        column = Numeric(np.int32(1), 5.0, integer=True)
        assert (type(column.lower), type(column.upper)) == (int, int)

    def test_texts_beside_numbers_are_refused_if_a_cell_could_mean_a_number_or_nothing(self):
        cases = [
            ("<5", "a list of texts"),
            ([5], "in quotes"),
            ([""], "empty"),
            (["<5 "], "ends with a space"),
            (["5"], "is a number"),
            (["1.5e3"], "is a number"),
            (["nan"], "is a number"),
            (["1.000,5"], "is a number"),
            (["=1"], "a formula"),
            (["-A1"], "a formula"),
            (["<5", "<5"], "more than once"),
            ([f"<{n}" for n in range(51)], "at most 50"),
        ]
        for texts, said in cases:
            with pytest.raises(SchemaError, match=said):
                Numeric(0, 9, format="1.234,5", texts=texts)
        assert Numeric(0, 9, texts=["<5", "++", "neg"]).texts == ("<5", "++", "neg")

    def test_bounds_that_make_no_range_are_refused(self):
        cases = [
            (NAN, 1),
            (0, NAN),
            (-INF, 1),
            (0, INF),
            (2, 1),
            ("0", 1),
            (True, 2),
            (None, 1),
            (0, 2**64),
            (1j, 2),
        ]
        for lower, upper in cases:
            with pytest.raises(SchemaError):
                Numeric(lower, upper)

    def test_contradicting_arguments_are_refused(self):
        cases = [
            {"integer": True, "decimals": 1},
            {"integer": 1},
            {"decimals": -1},
            {"decimals": True},
            {"decimals": 16},
            {"bins": 0},
            {"bins": True},
            {"nullable": "yes"},
            {"provenance": "guessed"},
        ]
        for arguments in cases:
            with pytest.raises(SchemaError):
                Numeric(0, 10, **arguments)

    def test_whole_bounds_are_required_of_integer_columns(self):
        with pytest.raises(SchemaError, match="whole"):
            Numeric(0.5, 3, integer=True)

    def test_decimals_that_float64_cannot_hold_are_refused(self):
        with pytest.raises(SchemaError, match="fewer decimals"):
            Numeric(0, 1e15, decimals=6)

    def test_a_domain_without_any_decimal_is_refused(self):
        with pytest.raises(SchemaError, match="more decimals"):
            Numeric(0.11, 0.14, decimals=1)

    def test_the_grid_lies_within_the_bounds(self):
        assert Numeric(0.05, 0.35, decimals=1).grid() == (1, 3)
        assert Numeric(0.1, 0.3, decimals=1).grid() == (1, 3)
        assert Numeric(0.1, 0.3).grid() is None


class TestFloatsOf32Bits:
    def test_they_are_the_decimals_that_they_stand_for(self):
        rng = np.random.default_rng(0)
        decimals = np.append(rng.integers(0, 10**6, 1_000) / 10.0 ** rng.integers(0, 12, 1_000), 99_999.99)
        narrow = decimals.astype(np.float32).astype(np.float64)

        points, clipped, _ = Numeric(0, 100_000).points(narrow, "float")

        assert points.tolist() == np.minimum(decimals, 100_000).tolist()
        assert clipped == (decimals > 100_000).sum()
        assert Numeric(0, 0.1).points(np.array([0.1], np.float32), "float")[1] == 0

    def test_other_numbers_stay_as_they_are(self):
        values = np.array([0.1, 1 / 3, np.float32(1 / 3), 0.125, -0.0, 2.0**-10, 1e300, -5e-324, 3.0])

        points, _, _ = Numeric(-1e300, 1e300).points(values, "float")

        assert points.tolist() == values.tolist()


class TestSteps:
    def test_each_multiple_comes_back_as_it_was_read_from_text(self):
        for step in [0.05, 0.25, 0.1, 7]:
            column = Numeric(-35, 700, step=step)
            multiples = np.array([float(str(Decimal(str(step)) * k)) for k in range(-5, 100)])
            multiples = multiples[(multiples >= -35) & (multiples <= 700)]

            points, clipped, rounded = column.points(multiples, "float")

            assert (clipped, rounded) == (0, 0)
            assert np.array_equal(column.values(points)[0], multiples)

    def test_other_values_are_rounded_to_the_nearest_multiple_and_counted(self):
        points, clipped, rounded = Numeric(0, 1, step=0.25).points(np.array([0.1, 0.25, 0.4, 3.0]), "float")

        assert (points.tolist(), clipped, rounded) == ([0, 1, 2, 4], 1, 2)

    def test_whole_numbers_of_64_bits_are_exact(self):
        column = Numeric(0, 2**63 - 8, integer=True, step=8)

        points, clipped, rounded = column.points(np.array([2**63 - 9, 11, 12, 16]), "integer")

        assert (column.values(points)[0].tolist(), clipped, rounded) == ([2**63 - 8, 8, 16, 16], 0, 3)

    def test_floats_of_32_bits_are_on_the_grid(self):
        values = np.array([0.05, 0.15, 0.7], dtype=np.float32)
        assert Numeric(0, 1, step=0.05).points(values, "float")[2] == 0

    def test_the_grid_lies_within_the_bounds(self):
        assert Numeric(50, 5050, step=100).grid() == (1, 50)
        assert Numeric(-0.1, 0.3, step=0.05).grid() == (-2, 6)

    def test_an_impossible_step_is_refused_with_the_remedy(self):
        cases = [
            ({"step": 0}, "above 0"),
            ({"step": -5}, "above 0"),
            ({"step": "100"}, "a number, not text"),
            ({"step": True}, "a number"),
            ({"step": NAN}, "finite"),
            ({"step": 5, "decimals": 0}, "drop decimals"),
            ({"step": 0.5, "integer": True}, "whole"),
            ({"step": 100}, "smaller"),
            ({"step": 1e-300}, "larger"),
        ]
        for arguments, words in cases:
            with pytest.raises(SchemaError, match=words):
                Numeric(1, 10, **arguments)


class TestAtoms:
    def test_points_of_atoms_ascend(self):
        assert Numeric(0, 5, step=0.25, atoms=[5, 0.5]).declared_atoms == [2, 20]
        assert Numeric(-1, 5, atoms=(2.5, 0)).declared_atoms == [0.0, 2.5]
        assert Numeric(0, 5).declared_atoms == []
        assert Date(dt.date(1970, 1, 1), dt.date(1970, 2, 1), atoms=[dt.date(1970, 1, 3)]).declared_atoms == [
            2
        ]
        bounds = dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 2)
        assert Datetime(*bounds, resolution="hour", atoms=[dt.datetime(1970, 1, 1, 7)]).declared_atoms == [7]

    def test_what_is_no_value_of_the_column_is_refused_with_the_remedy(self):
        cases = [
            ("abc", "a list"),
            (5, "a list"),
            ([-1], "outside the bounds"),
            ([5.5], "whole"),
            ([True], "a number"),
            ([None], "a number"),
            ([NAN], "finite"),
            ([1, 1], "once"),
            (range(251), "at most 250"),
        ]
        for atoms, words in cases:
            with pytest.raises(SchemaError, match=words):
                Numeric(0, 1000, integer=True, atoms=atoms)
        with pytest.raises(SchemaError, match="in steps of 100"):
            Numeric(0, 1000, step=100, atoms=[50])
        with pytest.raises(SchemaError, match="with 2 decimals"):
            Numeric(0, 1000, decimals=2, atoms=[0.001])
        with pytest.raises(SchemaError, match="an atom must be a day"):
            Date(dt.date(2020, 1, 1), dt.date(2021, 1, 1), atoms=["2020-05-05"])
        noon = dt.datetime(2020, 5, 5, 12)
        with pytest.raises(SchemaError, match="by the day"):
            Datetime(dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1), resolution="day", atoms=[noon])
        with pytest.raises(SchemaError, match="state timezone"):
            Datetime(dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1), atoms=[noon.replace(tzinfo=dt.UTC)])


class TestCategorical:
    def test_lists_that_make_no_domain_are_refused(self):
        for categories in [
            (),
            "abc",
            ("a", "a"),
            ("a", 1),
            (1, True),
            (0.0, -0.0),
            (NAN,),
            (None,),
            (b"a",),
            3,
        ]:
            with pytest.raises(SchemaError):
                Categorical(categories)

    def test_messages_do_not_carry_a_category(self):
        for categories in [("canary", "canary"), ("canary", 1), ("canary\ud800",)]:
            with pytest.raises(SchemaError) as caught:
                Categorical(categories)
            assert "canary" not in str(caught.value)

    def test_an_open_column_needs_a_label_of_its_own_type(self):
        with pytest.raises(SchemaError, match="other_label"):
            Categorical((1, 2), open=True)
        with pytest.raises(SchemaError, match="other_label"):
            Categorical(("a", "other"), open=True)
        assert Categorical((1, 2), open=True, other_label=-1).other_label == -1

    def test_numpy_labels_become_plain_values(self):
        assert type(Categorical((np.int64(1), np.int64(2))).categories[0]) is int
        assert type(Categorical((np.str_("a"),)).categories[0]) is str

    def test_labels_of_another_type_make_another_column(self):
        columns = [Categorical(labels) for labels in ([0, 1], [False, True], [0.0, 1.0])]

        assert len(set(columns)) == len(columns)
        assert columns[0] == Categorical((np.int8(0), 1)) != Categorical([0, 1], nullable=True)
        assert columns[0] != Categorical([0, 1]).labels


class TestTimes:
    def test_dates_are_counted_from_1970(self):
        assert Date(dt.date(1970, 1, 2), dt.date(1971, 1, 1)).grid() == (1, 365)
        assert Date(dt.date.min, dt.date.max).grid()[0] < 0

    def test_dates_refuse_times_and_reversed_bounds(self):
        with pytest.raises(SchemaError):
            Date(dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1))
        with pytest.raises(SchemaError, match="swap"):
            Date(dt.date(2020, 1, 2), dt.date(2020, 1, 1))

    def test_bounds_without_zone_are_read_in_the_column_zone(self):
        column = Datetime(
            dt.datetime(2020, 7, 1), dt.datetime(2020, 7, 2), timezone="+02:00", resolution="hour"
        )
        first, last = column.grid()
        assert last - first == 24
        assert first * 3_600_000_000 == (
            dt.datetime(2020, 6, 30, 22) - dt.datetime(1970, 1, 1)
        ) // dt.timedelta(microseconds=1)

    def test_the_extreme_years_are_allowed(self):
        for zone in (None, "UTC", "-11:00"):
            first, last = Datetime(dt.datetime.min, dt.datetime.max, timezone=zone).grid()
            assert first < 0 < last

    def test_unknown_zones_and_resolutions_are_refused(self):
        for arguments in [
            {"timezone": "Mars/Base"},
            {"timezone": 3},
            {"timezone": "+99:00"},
            {"resolution": "week"},
        ]:
            with pytest.raises(SchemaError):
                Datetime(dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1), **arguments)

    def test_a_zone_on_bounds_alone_is_refused(self):
        aware = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
        with pytest.raises(SchemaError, match="timezone"):
            Datetime(aware, aware)

    def test_a_resolution_too_coarse_for_the_bounds_is_refused(self):
        with pytest.raises(SchemaError, match="finer"):
            Datetime(dt.datetime(2020, 1, 1, 1), dt.datetime(2020, 1, 1, 2), resolution="day")


class TestIdentifier:
    def test_contradicting_arguments_are_refused(self):
        for arguments in [
            {"integer": True, "prefix": "p"},
            {"integer": True, "width": 3},
            {"width": 0},
            {"width": 99},
            {"prefix": 1},
            {"distinct": 0},
            {"distinct": 2.5},
        ]:
            with pytest.raises(SchemaError):
                Identifier(**arguments)


class TestObjections:
    def test_only_stored_types_that_the_kind_reads_fit(self):
        cases = [
            (Numeric(0, 1), "integer", True),
            (Numeric(0, 1), "decimal", True),
            (Numeric(0, 1), "boolean", False),
            (Numeric(0, 1), "text", False),
            (Categorical((1, 2)), "float", True),
            (Categorical(("a",)), "integer", False),
            (Categorical((True,)), "boolean", True),
            (Categorical((1.5,)), "text", False),
            (Boolean(), "boolean", True),
            (Boolean(), "integer", False),
            (Date(dt.date(2020, 1, 1), dt.date(2020, 1, 2)), "datetime", True),
            (Date(dt.date(2020, 1, 1), dt.date(2020, 1, 2)), "text", False),
            (Datetime(dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2)), "date", False),
            (Identifier(), "other", True),
        ]
        for column, kind, fits in cases:
            assert (column.objection(PhysicalType(kind, kind)) is None) is fits
