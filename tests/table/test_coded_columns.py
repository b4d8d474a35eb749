"""Columns of each kind are coded exactly where they can be, and never fail."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
from sample_columns import decode_one, encode_one, raw, table

from syntabula.marginals.domain import Domain
from syntabula.table.coding.codec import Codec
from syntabula.table.schema.columns import Boolean, Categorical, Date, Datetime, Numeric
from syntabula.table.schema.schema import Schema

NAN, INF = float("nan"), float("inf")


class TestNumbers:
    def test_integers_beyond_double_precision_are_exact(self):
        column = Numeric(2**53, 2**53 + 3, integer=True)
        codes, _ = encode_one(column, raw("integer", [2**53 + 1, 2**53, 2**53 + 3]))
        assert codes == [1, 0, 3]
        assert decode_one(column, codes).values.tolist() == [2**53 + 1, 2**53, 2**53 + 3]

    def test_unsigned_integers_are_exact(self):
        column = Numeric(2**64 - 3, 2**64 - 1, integer=True)
        codes, coercions = encode_one(column, raw("integer", [2**64 - 1, 2**64 - 2, 0], dtype=np.uint64))
        assert codes == [2, 1, 0]
        assert coercions.clipped == {"x": 1}
        assert decode_one(column, codes).values.tolist() == [2**64 - 1, 2**64 - 2, 2**64 - 3]

    def test_signs_of_type_and_bounds_may_differ(self):
        for bounds, values, dtype, codes in [
            ((2**63, 2**63 + 1), [-5, 2**63 - 1], np.int64, [0, 0]),
            ((-9, -8), [0, 2**64 - 1], np.uint64, [1, 1]),
            ((-1, 1), [0, 2**64 - 1], np.uint64, [1, 2]),
            ((0, 2), [-(2**63), 2**63 - 1], np.int64, [0, 2]),
        ]:
            found, _ = encode_one(Numeric(*bounds, integer=True), raw("integer", values, dtype=dtype))
            assert found == codes

    def test_floats_out_of_bounds_count_as_the_nearest_bound(self):
        for integer in [True, False]:
            column = Numeric(0, 9, integer=integer, nullable=True)
            values = raw("float", [-INF, -1e300, -0.0, 5e-324, 9.0, 1e300, INF, NAN, None])
            codes, coercions = encode_one(column, values, bins=10)
            assert codes == [0, 0, 0, 0, 9, 9, 9, 10, 10]
            assert coercions.clipped == {"x": 4}

    def test_floats_near_bounds_that_are_no_floats_are_placed_exactly(self):
        column = Numeric(2**53 + 1, 2**53 + 3, integer=True)
        codes, coercions = encode_one(column, raw("float", [2.0**53, 2.0**53 + 2, 2.0**53 + 4]))
        assert codes == [0, 1, 2]
        assert coercions.clipped == {"x": 2}

    def test_fractions_of_an_integer_column_are_rounded_and_told(self):
        codes, coercions = encode_one(Numeric(0, 5, integer=True), raw("float", [1.6, 2.0]))
        assert codes == [2, 2]
        assert coercions.rounded == {"x": 1}

    def test_decimals_are_total(self):
        numbers = [
            Decimal("1.5"),
            Decimal("1E+999999"),
            Decimal("-Infinity"),
            Decimal("sNaN"),
            Decimal("NaN"),
            None,
        ]
        assert encode_one(Numeric(0, 3, integer=True, nullable=True), raw("decimal", numbers))[0] == [
            2,
            3,
            0,
            4,
            4,
            4,
        ]
        codes, coercions = encode_one(Numeric(0, 3, decimals=1, nullable=True), raw("decimal", numbers))
        assert codes == [15, 30, 0, 31, 31, 31]
        assert coercions.clipped == {"x": 2}
        assert encode_one(Categorical((1.5,), nullable=True), raw("decimal", numbers))[0] == [
            0,
            1,
            1,
            1,
            1,
            1,
        ]

    def test_decimals_that_no_double_holds_are_the_nearest_of_their_grid(self):
        # 0.29 * 100 is 28.999999999999996.
        codes, coercions = encode_one(Numeric(0, 1, decimals=2), raw("float", [0.29, 0.57, 0.58]), bins=101)
        assert codes == [29, 57, 58]
        assert not coercions

    def test_decimals_are_categories_that_are_written_as_doubles(self):
        codes, _ = encode_one(Categorical((0.1, 0.5)), raw("decimal", [Decimal("0.1"), Decimal("0.50")]))
        assert codes == [0, 1]

    def test_decimals_large_integers_are_exact(self):
        codes, _ = encode_one(Numeric(2**60, 2**60 + 2, integer=True), raw("decimal", [Decimal(2**60 + 1)]))
        assert codes == [1]

    def test_decoded_numbers_keep_their_decimals_and_bounds(self):
        column = Numeric(-0.55, 99.95, decimals=2)
        values = decode_one(column, np.arange(100).repeat(50)).values
        assert values.dtype == np.float64
        assert (np.round(values, 2) == values).all()
        assert values.min() >= -0.55
        assert values.max() <= 99.95

    def test_integers_stay_integers_within_their_bins(self):
        values = decode_one(Numeric(0, 1000, integer=True), np.arange(10).repeat(100), bins=10).values
        assert values.dtype == np.int64
        assert len(set(values.tolist())) > 300
        assert (values.min(), values.max()) >= (0, 1)
        assert values.max() <= 1000

    def test_a_constant_has_one_code(self):
        for column in [Numeric(7, 7, integer=True), Numeric(7.5, 7.5), Numeric(0.1, 0.1, decimals=1)]:
            codes, coercions = encode_one(column, raw("float", [column.lower, 100.0]))
            assert codes == [0, 0]
            assert coercions.clipped == {"x": 1}
            assert decode_one(column, codes).values.tolist() == [column.lower] * 2

    def test_columns_may_state_their_own_bins(self):
        schema = Schema({"a": Numeric(0.0, 1.0, bins=7), "b": Numeric(0.0, 1.0)})
        assert Codec.plan(schema, bins=5).domain == Domain(("a", "b"), (7, 5))


class TestCategories:
    def test_unknown_values_are_other_in_an_open_column(self):
        codes, coercions = encode_one(
            Categorical(("a",), open=True, nullable=True), raw("text", ["a", "zz", None])
        )
        assert codes == [0, 1, 2]
        assert coercions.unknown == {"x": 1}

    def test_the_label_of_other_is_no_unknown_value(self):
        codes, coercions = encode_one(Categorical(("a",), open=True), raw("text", ["other", "a"]))
        assert codes == [1, 0]
        assert not coercions

    def test_unknown_values_are_missing_in_a_nullable_column(self):
        codes, coercions = encode_one(Categorical(("a",), nullable=True), raw("text", ["a", "zz", None]))
        assert codes == [0, 1, 1]
        assert coercions.unknown == {"x": 1}
        assert coercions.records_left_out == 0

    def test_records_with_unknown_or_missing_cells_are_left_out_otherwise(self):
        schema = Schema({"x": Categorical(("a",)), "y": Numeric(0, 5, integer=True)})
        values = table(x=raw("text", ["a", "zz", None, "a"]), y=raw("integer", [1, 2, 3, None]))
        encoded, coercions = Codec.plan(schema).encode(values)
        assert encoded.column("y").tolist() == [1]
        assert coercions.records_left_out == 3
        assert (coercions.unknown, coercions.missing) == ({"x": 1}, {"x": 1, "y": 1})

    def test_integer_categories_are_read_from_floats(self):
        values = raw("float", [1.0, 2.0, 1.5, INF, NAN])
        assert encode_one(Categorical((2, 1), nullable=True), values)[0] == [1, 0, 2, 2, 2]

    def test_minus_zero_is_zero(self):
        assert encode_one(Categorical((0.0, 1.0)), raw("float", [-0.0, 1.0]))[0] == [0, 1]
        assert encode_one(Categorical((0, 1)), raw("float", [-0.0, 1.0]))[0] == [0, 1]

    def test_odd_text_is_no_trouble(self):
        odd = ["", "\x00", "\ud800", "x" * 1_000_000, "=SUM(A1)"]
        codes, _ = encode_one(Categorical(("",), open=True), raw("text", odd))
        assert codes == [0, 1, 1, 1, 1]

    def test_booleans_keep_their_order(self):
        for column in [Boolean(nullable=True), Categorical((False, True), nullable=True)]:
            codes, _ = encode_one(column, raw("boolean", [True, False, None]))
            assert codes == [1, 0, 2]
            decoded = decode_one(column, codes)
            assert decoded.values[:2].tolist() == [True, False]
            assert decoded.missing.tolist() == [False, False, True]


class TestTimes:
    def test_dates_are_read_from_moments(self):
        column = Date(dt.date(1969, 12, 30), dt.date(1970, 1, 3))
        moments = raw("datetime", [-1, 0, 86_400_000_000, 10**18])
        codes, coercions = encode_one(column, moments)
        assert codes == [1, 2, 3, 4]
        assert coercions.clipped == {"x": 1}
        assert decode_one(column, codes).values.tolist() == [-1, 0, 1, 2]

    def test_moments_lie_on_their_grid(self):
        column = Datetime(dt.datetime(1969, 12, 31, 0, 30), dt.datetime(1970, 1, 2), resolution="hour")
        hour = 3_600_000_000
        codes, coercions = encode_one(column, raw("datetime", [-30 * hour, -1, 0, hour + 5]))
        assert codes == [0, 22, 23, 24]
        assert coercions.clipped == {"x": 1}
        values = decode_one(column, codes)
        assert values.values.tolist() == [-23 * hour, -hour, 0, hour]
        assert values.physical.kind == "datetime"

    def test_zones_come_back(self):
        column = Datetime(dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2), timezone="Europe/Paris")
        assert decode_one(column, [0, 99]).physical.timezone == "Europe/Paris"
