"""Texts of codes: each tells its code, whatever labels and column names hold."""

from __future__ import annotations

import datetime as dt

import numpy as np

import syntabula as st
from syntabula.bins.uniform import Bins
from syntabula.table.coding.code_texts import code_texts
from syntabula.table.coding.codec import Codec
from syntabula.table.schema.columns import Column
from syntabula.table.schema.schema import Schema

AWKWARD = ("", " ", "null", '"', ",", " is ", "a is b, c is d", "0", "é", "日本", "x\ny", "other")


def texts_of(column: Column, bins: Bins | None = None) -> list[str]:
    name = 'a "name", is so'
    return code_texts(Codec.plan(Schema({name: column}), fitted={} if bins is None else {name: bins}))[name]


class TestLabels:
    def test_each_has_a_text_of_its_own_beside_missing_and_others(self) -> None:
        column = st.Categorical(AWKWARD, open=True, other_label="rest", nullable=True)

        texts = texts_of(column)

        assert len(set(texts)) == len(AWKWARD) + 2
        assert texts[2] == '"null"'
        assert texts[-2:] == ['"rest"', "null"]

    def test_others_are_written_as_in_json(self) -> None:
        for column, wanted in [
            (st.Categorical((0, -7)), ["0", "-7"]),
            (st.Categorical((0.5, 1.0)), ["0.5", "1.0"]),
            (st.Boolean(nullable=True), ["false", "true", "null"]),
            (st.Identifier(nullable=True), ['"present"', "null"]),
        ]:
            assert code_texts(Codec.plan(Schema({"x": column, "y": st.Boolean()})))["x"] == wanted


class TestNumbers:
    def test_whole_ones_have_the_same_places(self) -> None:
        texts = texts_of(st.Numeric(-5, 20, integer=True, nullable=True))

        assert texts[:6] == ["-05", "-04", "-03", "-02", "-01", "+00"]
        assert texts[-2:] == ["+20", "null"]

    def test_of_a_bin_the_roundest_stands_for_all(self) -> None:
        bins = Bins((1, 2, 97, 134, 1001), integer=True)

        texts = texts_of(st.Numeric(1, 1000, integer=True), bins)

        assert texts == ["0001", "0010", "0100", "1000"]

    def test_of_a_frequent_float_it_is_written_as_it_is(self) -> None:
        bins = Bins((-1.0, 0.1, float(np.nextafter(0.1, 1)), 0.25, 1e3))

        assert texts_of(st.Numeric(-1.0, 1e3), bins) == ["0000.0", "0000.1", "0000.2", "1000.0"]

    def test_each_lies_in_its_bin(self) -> None:
        rng = np.random.default_rng(0)
        for scale in (1e-12, 1.0, 1e15):
            inner = np.unique(rng.normal(0, scale, 200))
            bins = Bins((float(inner[0]) - scale, *inner.tolist(), float(inner[-1]) + scale))

            texts = texts_of(st.Numeric(bins.edges[0], bins.edges[-1]), bins)

            values = np.array([float(text) for text in texts])
            assert (bins.codes(values) == np.arange(bins.size)).all()
            assert len({len(text) for text in texts}) == 1

    def test_decimals_are_written_as_declared(self) -> None:
        assert texts_of(st.Numeric(0.0, 0.3, decimals=1)) == ["0.0", "0.1", "0.2", "0.3"]

    def test_bounds_of_any_size(self) -> None:
        for bounds in [(-(2**63), 2**63 - 1), (0, 2**64 - 1), (7, 7)]:
            texts = texts_of(st.Numeric(*bounds, integer=True))

            assert len(set(texts)) == len(texts)
            assert all(bounds[0] <= int(text) <= bounds[1] for text in texts)

    def test_floats_of_any_size(self) -> None:
        bins = Bins((-1e308, -5e-324, 5e-324, 1e308))

        texts = texts_of(st.Numeric(-1e308, 1e308), bins)

        assert [float(text) for text in texts][1] == 0.0
        assert (bins.codes(np.array([float(text) for text in texts])) == np.arange(3)).all()


class TestTimes:
    def test_a_bin_is_written_as_its_first_day(self) -> None:
        column = st.Date(dt.date(1, 1, 1), dt.date(9999, 12, 31))

        texts = texts_of(column, Bins((*column.grid(), column.grid()[1] + 1), integer=True))

        assert texts == ["0001-01-01", "9999-12-31"]

    def test_or_as_its_first_moment(self) -> None:
        column = st.Datetime(dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 0, 2), resolution="minute")

        assert [text[:16] for text in texts_of(column)] == [f"2024-01-01T00:0{m}" for m in range(3)]
