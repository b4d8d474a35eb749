"""The codec is total, gives back what it was given, and says nothing of values."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_columns import decode_one, encode_one, raw, table

from syntabula.bins.uniform import Bins
from syntabula.errors import ArgumentError, DataError, SchemaError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.table.coding.codec import Codec
from syntabula.table.raw import RawTable
from syntabula.table.schema.columns import Boolean, Categorical, Date, Datetime, Identifier, Numeric
from syntabula.table.schema.schema import Schema

ALL_KINDS = Schema(
    {
        "id": Identifier(prefix="p", width=4),
        "age": Numeric(17, 90, integer=True, nullable=True),
        "large": Numeric(2**53 + 1, 2**64 - 1, integer=True, bins=7),
        "signed": Numeric(-(2**63), 2**63 - 1, integer=True),
        "real": Numeric(-1e300, 1e300, nullable=True),
        "price": Numeric(-0.55, 99.95, decimals=2),
        "amount": Numeric(-500, 50_000, step=100),
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
    @pytest.mark.thorough
    @settings(max_examples=50)
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

    @pytest.mark.thorough
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

    def test_altered_json_is_refused(self):
        for change in [
            {"cuts": {}},
            {"cuts": {"work": [1]}},
            {"cuts": {"age": ["a"]}},
            {"cuts": 3},
            {"schema": {}},
            {"extra": 1},
        ]:
            with pytest.raises(SchemaError):
                Codec.from_json({**Codec.plan(ALL_KINDS).to_json(), **change})

    def test_a_number_of_another_notation_is_refused_unread(self):
        """1e999999999 would take all memory."""
        for step in ["1e300", "nan", "-1", "1/0", "9" * 401]:
            stored = {**Codec.plan(ALL_KINDS).to_json(), "roundness": {"age": [[step], [1.0, 0.0]]}}

            with pytest.raises(
                SchemaError, match=r"cannot be read: (a step is no fraction|Fraction\(1, 0\))"
            ):
                Codec.from_json(stored)


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

    def test_bin_counts_are_checked(self):
        for bins in [0, True, "2"]:
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
            "columns 'a', 'b': some values are not declared categories and their records are left out, because the "
            "column is not nullable",
            "column 'c': some values are not declared categories and become missing",
            "column 'd': some values are not declared categories and become the category for all others",
        ]

    def test_wrong_storage_is_refused_by_name(self):
        with pytest.raises(SchemaError, match="'x' is stored as text") as caught:
            encode_one(Numeric(0, 1), raw("text", ["canary"]))
        assert "canary" not in str(caught.value)
