"""The codec is total, exact where it can be, and says nothing of values."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syntabula.discretize.uniform import Bins
from syntabula.errors import ArgumentError, DataError, SchemaError
from syntabula.marginals.domain import Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.table.codec import Codec
from syntabula.table.columns import Boolean, Categorical, Date, Datetime, Identifier, Numeric
from syntabula.table.raw import PhysicalType, RawColumn, RawTable
from syntabula.table.schema import Schema

NAN, INF = float("nan"), float("inf")
DTYPES = {"boolean": bool, "float": float, "text": object, "decimal": object, "other": object}


def raw(kind, values, zone=None, dtype=None):
    """Make a column of one kind; None is missing."""
    missing = np.array([v is None for v in values], dtype=bool)
    array = np.zeros(len(values), dtype=dtype or DTYPES.get(kind, np.int64))
    for i, value in enumerate(values):
        if value is not None:
            array[i] = value
    return RawColumn(array, missing, PhysicalType(kind, kind, timezone=zone))


def table(**columns):
    """Make a table of columns."""
    return RawTable(columns, next(iter(columns.values())).missing.size, None)


def encode_one(column, raw_column, **options):
    """Encode a table of one column `x`; return codes and coercions."""
    encoded, coercions = Codec.plan(Schema({"x": column}), **options).encode(table(x=raw_column))
    return encoded.column("x").tolist(), coercions


def decode_one(column, codes, **options):
    """Decode codes of a table of one column `x`."""
    codec = Codec.plan(Schema({"x": column}), **options)
    encoded = EncodedTable(codec.domain, (np.asarray(codes),))
    return codec.decode(encoded, np.random.default_rng(0))["x"]


ALL_KINDS = Schema(
    {
        "id": Identifier(prefix="p", width=4),
        "age": Numeric(17, 90, integer=True, nullable=True),
        "large": Numeric(2**53 + 1, 2**64 - 1, integer=True, bins=7),
        "signed": Numeric(-(2**63), 2**63 - 1, integer=True),
        "real": Numeric(-1e300, 1e300, nullable=True),
        "price": Numeric(-0.55, 99.95, decimals=2),
        "work": Categorical(("b", "a", ""), open=True, nullable=True),
        "level": Categorical((3, 2**64 - 1), open=True, other_label=0),
        "share": Categorical((1.0, 0.1)),
        "flag": Categorical((True,), nullable=True),
        "member": Boolean(nullable=True),
        "born": Date(dt.date(1900, 1, 1), dt.date(2020, 12, 31), nullable=True),
        "seen": Datetime(dt.datetime(1960, 1, 1), dt.datetime(2021, 1, 1), resolution="minute"),
        "zoned": Datetime(dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1), timezone="+05:30", nullable=True),
        "number": Identifier(integer=True),
        "letter": Identifier(nullable=True),
    }
)


class TestRoundTrip:
    @settings(deadline=None, max_examples=50)
    @given(st.integers(1, 120), st.integers(0, 2**32), st.integers(0, 30))
    def test_decoded_codes_encode_to_the_same_codes(self, bins, seed, n):
        codec = Codec.plan(ALL_KINDS, bins=bins)
        rng = np.random.default_rng(seed)
        codes = tuple(rng.integers(0, size, n) for size in codec.domain.sizes)
        encoded = EncodedTable(codec.domain, codes)
        decoded = codec.decode(encoded, rng)
        assert list(decoded) == list(ALL_KINDS)
        again, coercions = codec.encode(RawTable(decoded, n, None), strict=True)
        assert coercions.records_left_out == 0
        assert not any(getattr(coercions, kind) for kind in ("clipped", "rounded", "missing"))
        for name in codec.domain:
            assert (again.column(name) == encoded.column(name)).all(), name

    def test_categories_come_back_exactly(self):
        labels = ("a", "B", "", "é", "\x00", "=1+1")
        codes, coercions = encode_one(Categorical(labels), raw("text", labels))
        assert codes == [0, 1, 2, 3, 4, 5]
        assert not coercions
        assert decode_one(Categorical(labels), codes).values.tolist() == list(labels)

    def test_a_hundred_thousand_categories_come_back(self):
        labels = tuple(f"c{i}" for i in range(100_000))
        codes, _ = encode_one(Categorical(labels), raw("text", labels[::-1]))
        assert codes == list(range(99_999, -1, -1))
        assert decode_one(Categorical(labels), codes).values.tolist() == list(labels[::-1])

    def test_which_identifiers_are_missing_comes_back(self):
        cells = raw("text", ["x", None, "y", "x"])

        codes, coercions = encode_one(Identifier(nullable=True), cells)
        again = decode_one(Identifier(nullable=True, prefix="p"), codes)

        assert codes == [0, 1, 0, 0]
        assert not coercions
        assert again.missing.tolist() == [False, True, False, False]
        assert again.values[~again.missing].tolist() == ["p1", "p3", "p4"]

    def test_a_codec_survives_json(self):
        fitted = {"age": Bins((17, 30, 91), integer=True), "real": Bins((-1e300, 0.1, 1e300))}
        codec = Codec.plan(ALL_KINDS, bins=13, fitted=fitted)
        again = Codec.from_json(json.loads(json.dumps(codec.to_json())))
        assert again == codec
        assert again.domain == codec.domain
        assert again.domain.size("age") == 3

    @pytest.mark.parametrize(
        "change",
        [
            {"cuts": {}},
            {"cuts": {"work": [1]}},
            {"cuts": {"age": ["a"]}},
            {"cuts": 3},
            {"schema": {}},
            {"extra": 1},
        ],
    )
    def test_altered_json_is_refused(self, change):
        with pytest.raises(SchemaError):
            Codec.from_json({**Codec.plan(ALL_KINDS).to_json(), **change})


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

    @pytest.mark.parametrize(
        ("bounds", "values", "dtype", "codes"),
        [
            ((2**63, 2**63 + 1), [-5, 2**63 - 1], np.int64, [0, 0]),
            ((-9, -8), [0, 2**64 - 1], np.uint64, [1, 1]),
            ((-1, 1), [0, 2**64 - 1], np.uint64, [1, 2]),
            ((0, 2), [-(2**63), 2**63 - 1], np.int64, [0, 2]),
        ],
    )
    def test_signs_of_type_and_bounds_may_differ(self, bounds, values, dtype, codes):
        found, _ = encode_one(Numeric(*bounds, integer=True), raw("integer", values, dtype=dtype))
        assert found == codes

    @pytest.mark.parametrize("integer", [True, False])
    def test_floats_out_of_bounds_count_as_the_nearest_bound(self, integer):
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

    @pytest.mark.parametrize(
        "column", [Numeric(7, 7, integer=True), Numeric(7.5, 7.5), Numeric(0.1, 0.1, decimals=1)]
    )
    def test_a_constant_has_one_code(self, column):
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

    @pytest.mark.parametrize("column", [Boolean(nullable=True), Categorical((False, True), nullable=True)])
    def test_booleans_keep_their_order(self, column):
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


class TestShapes:
    def test_no_rows(self):
        codes, coercions = encode_one(Categorical(("a",)), raw("text", []))
        assert codes == []
        assert not coercions

    def test_identifiers_are_made_anew(self):
        codec = Codec.plan(ALL_KINDS)
        assert "id" not in codec.domain
        encoded = EncodedTable(codec.domain, tuple(np.zeros(3, dtype=int) for _ in codec.domain))
        decoded = codec.decode(encoded, np.random.default_rng(0))
        assert decoded["id"].values.tolist() == ["p0001", "p0002", "p0003"]
        assert decoded["number"].values.tolist() == [1, 2, 3]

    def test_nothing_to_learn_is_refused(self):
        with pytest.raises(SchemaError, match="no column to learn"):
            Codec.plan(Schema({"id": Identifier()}))

    def test_a_foreign_table_is_refused(self):
        with pytest.raises(DataError, match="domain"):
            Codec.plan(ALL_KINDS).decode(
                EncodedTable(Domain(("a",), (1,)), (np.array([0]),)), np.random.default_rng(0)
            )

    @pytest.mark.parametrize("bins", [0, True, 1.5, "2"])
    def test_bin_counts_are_checked(self, bins):
        with pytest.raises(ArgumentError, match="bins"):
            Codec.plan(ALL_KINDS, bins=bins)

    def test_bins_that_do_not_span_the_domain_are_refused(self):
        with pytest.raises(SchemaError, match="'x' do not span"):
            Codec.plan(Schema({"x": Numeric(0.0, 1.0)}), fitted={"x": Bins((0.0, 0.9))})


class TestPrivacy:
    def test_records_are_encoded_one_by_one(self):
        """Leaving one raw record out changes the encoded table by at most that record."""
        schema = Schema({"x": Categorical(("a", "b")), "y": Numeric(0, 5, integer=True)})
        codec = Codec.plan(schema)
        texts, numbers = ["a", "zz", None, "b", "a"], [1, 2, 3, None, 9]
        rows = {}
        for skipped in [None, 0, 1, 2, 3, 4]:
            kept = [i for i in range(5) if i != skipped]
            values = table(
                x=raw("text", [texts[i] for i in kept]), y=raw("integer", [numbers[i] for i in kept])
            )
            encoded, _ = codec.encode(values)
            rows[skipped] = list(zip(*(c.tolist() for c in encoded.codes), strict=True))
        whole = rows.pop(None)
        assert whole == [(0, 1), (0, 5)]
        assert [len(r) for r in rows.values()] == [1, 2, 2, 2, 1]
        assert all(set(r) <= set(whole) for r in rows.values())

    def test_messages_name_columns_and_never_values(self):
        schema = Schema({"job": Categorical(("a",)), "pay": Numeric(0, 5, integer=True)})
        values = table(job=raw("text", ["canary", "a", "a"]), pay=raw("float", [1.0, 987654321.0, None]))
        codec = Codec.plan(schema)
        _, coercions = codec.encode(values)
        with pytest.raises(DataError) as caught:
            codec.encode(values, strict=True)
        for text in [str(caught.value), repr(coercions), " ".join(coercions.describe())]:
            assert "'job'" in text
            assert "'pay'" in text
            assert "canary" not in text
            assert "987654321" not in text
            assert not any(character.isdigit() for character in text)

    def test_columns_with_the_same_coercion_share_a_sentence_that_says_what_becomes_of_them(self):
        schema = Schema(
            {
                **{name: Categorical(("x",)) for name in "ab"},
                "c": Categorical(("x",), nullable=True),
                "d": Categorical(("x",), open=True),
            }
        )
        _, coercions = Codec.plan(schema).encode(table(**{n: raw("text", ["y", "x"]) for n in "abcd"}))

        assert coercions.describe() == [
            "columns 'a', 'b': some values are not declared categories and their records are left out, as the column "
            "is not nullable",
            "column 'c': some values are not declared categories and count as missing",
            "column 'd': some values are not declared categories and count as the category for all others",
        ]

    def test_wrong_storage_is_refused_by_name(self):
        with pytest.raises(SchemaError, match="'x' is stored as text") as caught:
            encode_one(Numeric(0, 1), raw("text", ["canary"]))
        assert "canary" not in str(caught.value)
