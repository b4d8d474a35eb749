"""Columns that are stored otherwise than declared: each cell is read on its own, as from a file."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import syntabula as st
from syntabula.errors import CoercionWarning, DataError
from syntabula.table.coding.codec import Codec
from syntabula.table.frames.frames import from_frame
from syntabula.table.frames.object_columns import to_objects
from syntabula.table.frames.retyping import distinct_values, is_read_by_meaning, text_of, typed_as_declared
from syntabula.table.read import read
from syntabula.table.schema.columns import Boolean, Categorical, Column, Date, Datetime, Identifier, Numeric

DAY = dt.date(2020, 2, 3)
DAYS = (dt.date(2020, 1, 1), dt.date(2020, 12, 31))
MOMENTS = (dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31))
COLUMNS: dict[str, Column] = {
    "whole": Numeric(0, 9, integer=True, nullable=True),
    "real": Numeric(0, 9, nullable=True),
    "money": Numeric(0, 9, decimals=2, nullable=True),
    "yes": Boolean(nullable=True),
    "day": Date(*DAYS, nullable=True),
    "moment": Datetime(*MOMENTS, nullable=True),
    "zoned": Datetime(*MOMENTS, timezone="Europe/Paris", nullable=True),
    "text": Categorical(("a", "b"), nullable=True),
    "code": Categorical((1, 2), nullable=True),
    "share": Categorical((0.5, 1.5), nullable=True),
    "truth": Categorical((True, False), nullable=True),
    "id": Identifier(),
}


class Nowhere(dt.tzinfo):
    """A time zone whose name says nothing, as those of some libraries."""

    def utcoffset(self, moment: dt.datetime | None) -> dt.timedelta:
        return dt.timedelta(hours=1)

    def dst(self, moment: dt.datetime | None) -> dt.timedelta:
        return dt.timedelta(0)

    def tzname(self, moment: dt.datetime | None) -> str:
        return "nowhere"


def empty(n: int) -> list[Any]:
    columns = {name: [None] * n for name in COLUMNS}
    return [
        pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()}),
        pa.table({name: pa.array(cells, pa.null()) for name, cells in columns.items()}),
    ]


@pytest.mark.thorough
def test_they_are_learned_as_missing() -> None:
    for library, n in [(0, 0), (0, 30), (1, 1)]:
        release = st.Independent(epsilon=5.0, seed=0).fit(empty(n)[library], st.Schema(COLUMNS))

        made = release.sample(20, seed=0)
        names = made.column_names if isinstance(made, pa.Table) else list(made)
        assert names == list(COLUMNS)
        # Seeded; with fewer records noise may hide that nothing is there.
        if n == 30:
            whole, missing = release.marginals([("whole",), ("text",)])
            assert whole[-1] > whole[:-1].sum()
            assert missing[-1] > missing[:-1].sum()


@pytest.mark.thorough
def test_a_file_without_rows_or_values_is_read(tmp_path: Path) -> None:
    header = ",".join(COLUMNS)
    for name, lines in (("none.csv", []), ("gaps.csv", ["," * (len(COLUMNS) - 1)] * 5)):
        (tmp_path / name).write_text("\n".join([header, *lines]) + "\n")

        release = st.Independent(epsilon=5.0, seed=0).fit(tmp_path / name, st.Schema(COLUMNS))

        assert len(release.sample(7, seed=0)) == 7


class TestObjects:
    CELLS: ClassVar[list[Any]] = [
        *(
            1,
            2.5,
            "3",
            " 4 ",
            Decimal("5.5"),
            True,
            None,
            float("nan"),
            "x",
            [1],
            {},
            b"6",
            "\ud800",
            10**5000,
        ),
        *(dt.date(2020, 2, 3), dt.datetime(2020, 2, 4, 12), pd.Timestamp("2020-02-05"), "2020-02-06", pd.NaT),
    ]

    def read(self, column: Column, *cells: Any) -> tuple[list[Any], list[bool]]:
        frame = pd.DataFrame({"x": pd.Series(list(cells) or self.CELLS, dtype=object)})
        raw = read(frame, st.Schema({"x": column})).columns["x"]
        unreadable = np.zeros(len(frame), bool) if raw.unreadable is None else raw.unreadable
        return to_objects(raw).tolist(), unreadable.tolist()

    def test_are_read_as_their_texts_each_on_its_own(self) -> None:
        numbers, unreadable = self.read(COLUMNS["real"])

        assert numbers == [1.0, 2.5, 3.0, 4.0, 5.5, 1.0, *[None] * 13]
        assert unreadable == [False] * 8 + [True] * 10 + [False]
        texts, unreadable = self.read(COLUMNS["text"])
        assert texts[:6] == ["1", "2.5", "3", " 4 ", "5.5", "true"]
        assert [i for i, bad in enumerate(unreadable) if bad] == [9, 10, 11, 12, 13]
        days = [dt.date(2020, 2, day) for day in (3, 4, 5, 6)]
        assert self.read(COLUMNS["day"])[0] == [None] * 14 + [*days, None]
        assert self.read(COLUMNS["yes"])[0][:6] == [True, None, None, None, None, True]

    ODD: ClassVar[list[Any]] = [
        dt.datetime(2020, 5, 1, tzinfo=Nowhere()),
        dt.datetime.min.replace(tzinfo=dt.timezone(dt.timedelta(hours=2))),
        dt.datetime.max.replace(tzinfo=dt.timezone(-dt.timedelta(hours=2))),
        np.timedelta64(1, "D"),
        Decimal("sNaN"),
        Decimal("1E+400"),
        "a\ud800",
    ]

    @pytest.mark.thorough
    @pytest.mark.parametrize("name", COLUMNS)
    def test_odd_ones_count_alike_alone_and_beside_any_other(self, name: str) -> None:
        schema = st.Schema({"x": COLUMNS[name], "y": Boolean()})
        if name == "id":
            schema = schema.with_column("x", Identifier(nullable=True))
        codec = Codec.plan(schema)

        def codes(*cells: Any) -> list[int]:
            frame = pd.DataFrame({"x": pd.Series([*cells, None], dtype=object)}).iloc[: len(cells)]
            encoded, _ = codec.encode(read(frame.assign(y=True), schema))
            found: list[int] = encoded.column("x").tolist()
            return found

        others = [(other, codes(other)) for other in ("a", dt.datetime(2020, 5, 2))]
        for odd in self.ODD:
            alone = codes(odd)
            for other, its_own in (*others, (odd, alone)):
                assert codes(odd, other) == alone + its_own, (ascii(odd), other)

    @pytest.mark.thorough
    def test_what_one_of_them_is_changes_no_other(self) -> None:
        for name in COLUMNS:
            rest = [1, 0, 3, None]

            assert self.read(COLUMNS[name], *rest, 1)[0][:4] == self.read(COLUMNS[name], *rest, [1])[0][:4]

    def test_do_not_say_how_the_output_is_stored(self) -> None:
        schema = st.Schema({"x": COLUMNS["money"]})
        for cells in ([1, 2], ["1", 2], [1.5, None], [Decimal(1)]):
            origin = read(pd.DataFrame({"x": pd.Series(cells, dtype=object)}), schema).origin
            assert origin.physical == {}

    def test_that_are_unreadable_are_counted_and_refused_only_if_asked(self) -> None:
        frame = pd.DataFrame({"whole": pd.Series([7, "7", "x"] * 20, dtype=object)})
        schema = st.Schema({"whole": COLUMNS["whole"]})

        with pytest.warns(CoercionWarning, match="'whole': some cells cannot be read"):
            release = st.Independent(epsilon=5.0, seed=0).fit(frame, schema)

        assert set(release.sample(200, seed=0)["whole"].dropna()) & {6, 7}
        with pytest.raises(DataError, match="whole"):
            st.Independent(epsilon=5.0, seed=0).fit(frame, schema, strict=True)


class TestStoredOtherwise:
    """A schema that reads a file of text reads what a library makes of that file, and the declared values come out."""

    LIBRARIES: ClassVar[list[Any]] = [
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        lambda cells: pd.DataFrame(cells).convert_dtypes(dtype_backend="pyarrow"),
    ]
    CASES: ClassVar[dict[str, tuple[Column, list[Any], list[Any]]]] = {
        "days as text": (COLUMNS["day"], ["2020-02-03", "2020-02-04"], [DAY, DAY + dt.timedelta(days=1)]),
        "times as text": (
            Datetime(*MOMENTS, resolution="hour"),
            ["2020-02-03 10:00:00", "2020-02-04T11:00"],
            [dt.datetime(2020, 2, 3, 10), dt.datetime(2020, 2, 4, 11)],
        ),
        "times of a zone where none is declared": (
            Datetime(*MOMENTS, resolution="hour"),
            [dt.datetime(2020, 2, 3, 10, tzinfo=dt.UTC)],
            [dt.datetime(2020, 2, 3, 10)],
        ),
        "days as times of a zone": (COLUMNS["day"], [dt.datetime(2020, 2, 3, 23, tzinfo=dt.UTC)], [DAY]),
        "days as points in time": (
            Datetime(*MOMENTS, resolution="hour"),
            [DAY],
            [dt.datetime(2020, 2, 3)],
        ),
        "days as categories": (Categorical(("2020-02-03", "never")), [DAY], ["2020-02-03"]),
        "times as categories": (
            Categorical(("2020-02-03 10:30", "2020-02-03")),
            [dt.datetime(2020, 2, 3, 10, 30), dt.datetime(2020, 2, 3)],
            ["2020-02-03 10:30", "2020-02-03"],
        ),
        "numbers as text": (COLUMNS["whole"], ["7", " 8"], [7, 8]),
        "flags as text": (Boolean(spelling="yes/no"), ["yes", "no"], [True, False]),
        "whole codes as text": (COLUMNS["code"], ["1", "2"], [1, 2]),
        "text codes as integers": (Categorical(("1", "2")), [1, 2], ["1", "2"]),
        "text codes as floats": (Categorical(("1", "2.5", "3.0")), [1.0, 2.5, 3.0], ["1", "2.5", "3.0"]),
        "text codes that lost their zeros": (Categorical(("007", "1.50")), [7.0, 1.5], ["007", "1.50"]),
        "the same as text": (Categorical(("007", "1.50")), ["7", "007", "1.5"], ["007", "007", "1.50"]),
        "codes of which two are one number": (Categorical(("007", "7")), ["7", "007"], ["7", "007"]),
        "numbers of such codes": (Categorical(("007", "7")), [7], ["7"]),
        "flags as integers": (Boolean(), [1, 0], [True, False]),
        "flags as floats": (Boolean(nullable=True), [1.0, 0.0], [True, False]),
        "flags as decimals": (Boolean(), [Decimal("1.00"), Decimal("0.00")], [True, False]),
        "text flags as booleans": (Categorical(("False", "True")), [True, False], ["True", "False"]),
        "words as booleans": (Categorical(("yes", "no", "never")), [True, False], ["yes", "no"]),
        "text flags beside others": (
            Categorical(("yes", "no", "?")),
            ["TRUE", "?", "no"],
            ["yes", "?", "no"],
        ),
        "whole flags as booleans": (Categorical((0, 1)), [True, False], [1, 0]),
        "numbers as booleans": (Numeric(0, 1, integer=True), [True, False], [1, 0]),
        "numbers as truth": (Numeric(0, 1, integer=True), ["TRUE", "0"], [1, 0]),
        "other codes as integers": (Categorical(("1",), open=True), [1, 5], ["1", "other"]),
    }
    # One for each kind that objects may be declared as, and for each rule of what they mean.
    BESIDE = (
        *(
            "days as text",
            "times of a zone where none is declared",
            "days as categories",
            "times as categories",
        ),
        *("numbers as text", "text codes as floats", "the same as text", "codes of which two are one number"),
        *("flags as decimals", "text flags beside others", "whole flags as booleans", "numbers as truth"),
        "other codes as integers",
    )

    @pytest.mark.thorough
    @pytest.mark.filterwarnings("ignore:.*stored with a time zone")
    @pytest.mark.parametrize("case", CASES)
    def test_it_is_read_as_declared(self, case: str) -> None:
        column, cells, expected = self.CASES[case]
        for position, make in enumerate(self.LIBRARIES):
            table = read(make({"x": cells * 20}), st.Schema({"x": column}))
            codec = Codec.plan(st.Schema({"x": column}), bins=10_000)
            encoded, coercions = codec.encode(table, strict="other" not in case)
            decoded = codec.decode(encoded, np.random.default_rng(0))

            assert "other" in case or not coercions, position
            assert to_objects(decoded["x"]).tolist() == expected * 20, position
            assert table.origin.physical == {}, position

    @pytest.mark.thorough
    @pytest.mark.filterwarnings("ignore:.*stored with a time zone")
    @pytest.mark.parametrize("case", BESIDE)
    def test_objects_beside_others_are_read_alike(self, case: str) -> None:
        column, cells, _ = self.CASES[case]
        schema = st.Schema({"x": column})
        codec = Codec.plan(schema, bins=10_000)

        def codes(*more: Any) -> list[int]:
            frame = pd.DataFrame({"x": pd.Series([*cells, *more], dtype=object)})
            found: list[int] = codec.encode(read(frame, schema))[0].column("x").tolist()
            return found[: len(cells)]

        alone = codes()
        for other in (
            [1],
            "a",
            2.25,
            Decimal("2.25"),
            dt.date(2020, 5, 6),
            np.datetime64("2020-05-06"),
            True,
        ):
            assert codes(other) == alone

    @pytest.mark.thorough
    def test_no_cell_decides_whether_it_is_read(self) -> None:
        for cells in [[None, None], [None, "7"], [None, "x"]]:
            for stored in ["string", "str", "category"]:
                categories = pd.CategoricalDtype(["7", "x"])
                series = pd.Series(cells, dtype=categories if stored == "category" else stored)

                raw = read(pd.DataFrame({"x": series}), st.Schema({"x": COLUMNS["whole"]})).columns["x"]

                assert raw.physical.kind == "integer"
                assert raw.missing.tolist() == [True, cells[1] != "7"]

    def test_a_zone_that_is_left_out_is_told(self) -> None:
        frame = pd.DataFrame({"x": pd.to_datetime(["2020-02-03 01:00"]).tz_localize("Asia/Tokyo")})

        with pytest.warns(CoercionWarning, match="column 'x': times are stored with a time zone") as told:
            raw = read(frame, st.Schema({"x": COLUMNS["moment"]})).columns["x"]

        assert to_objects(raw).tolist() == [dt.datetime(2020, 2, 3, 1)]
        assert "2020" not in str(told[0].message)

    def test_an_empty_text_is_missing_unless_it_is_a_category(self) -> None:
        for stored in ["object", "str", "category"]:
            cases_2 = [
                (COLUMNS["text"], True),
                (Categorical(("1", "b"), open=True), True),
                (Identifier(nullable=True), True),
                (Categorical(("", "b")), False),
            ]
            for column, missing in cases_2:
                # A library that reads blanks of texts as empty ones reads those of numbers as missing.
                frame = pd.DataFrame({"x": pd.Series(["b", ""], dtype=stored)})

                raw = read(frame, st.Schema({"x": column})).columns["x"]

                assert raw.missing.tolist() == [False, missing]

    @pytest.mark.parametrize("label", ["", "NA"])
    def test_a_frame_that_pandas_reads_fits_the_schema_of_its_file(self, label: str, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text(f'x,paid\n"{label}",1.5\nb, \n"{label}",2\n')
        columns = {"x": Categorical((label, "b")), "paid": Numeric(0, 9, nullable=True)}
        schema = st.Schema(columns)

        tables = [read(s, schema) for s in (tmp_path / "t.csv", pd.read_csv(tmp_path / "t.csv"))]

        for table in tables:
            assert to_objects(table.columns["x"]).tolist() == [label, "b", label]
            assert to_objects(table.columns["paid"]).tolist() == [1.5, None, 2.0]

    def test_a_missing_cell_stays_missing_if_it_may_be_or_means_several(self) -> None:
        for column in (Categorical(("", "b"), nullable=True), Categorical(("", "NA", "b"))):
            raw = read(pd.DataFrame({"x": ["b", None]}), st.Schema({"x": column})).columns["x"]

            assert raw.missing.tolist() == [False, True]

    def test_text_that_no_file_can_hold_is_unreadable(self) -> None:
        frame = pd.DataFrame({"x": pd.Series(["7", "\ud800", None, "x"], dtype="string[python]")})

        raw = read(frame, st.Schema({"x": COLUMNS["whole"]})).columns["x"]

        assert raw.unreadable is not None
        assert raw.unreadable.tolist() == [False, True, False, True]

    def test_a_cell_of_another_kind_counts_as_it_does_in_a_file(self) -> None:
        frame = pd.DataFrame({"x": ["2020-02-03", "yesterday"]})

        raw = read(frame, st.Schema({"x": COLUMNS["day"]})).columns["x"]

        assert raw.unreadable is not None
        assert raw.unreadable.tolist() == [False, True]

    def test_what_holds_nothing_declared_is_told_beside_missing_cells(self) -> None:
        frame = pd.DataFrame({"x": [None, True] * 20})
        schema = st.Schema({"x": st.Date(dt.date(2020, 1, 1), dt.date(2020, 12, 31))})

        with pytest.warns(CoercionWarning) as caught:
            st.Independent(epsilon=5.0, seed=0).fit(frame, schema)

        told = " ".join(str(w.message) for w in caught)
        assert "no cell can be read as the declared kind, so all their records are left out" in told
        assert "some cells are missing though the column is not nullable" in told

    def test_what_holds_nothing_declared_is_not_refused_but_told(self) -> None:
        for name, cells, told in [
            ("day", [20200203], "no cell can be read as the declared kind"),
            ("whole", [dt.datetime(2020, 2, 3)], "no cell can be read as the declared kind"),
            ("text", [dt.datetime(2020, 2, 3)], "no value is a declared category"),
            ("text", [True], "no value is a declared category"),
            ("moment", [dt.timedelta(days=3)], "no cell can be read as the declared kind"),
        ]:
            # One cell may have made the type of all, so that a refusal would tell of it.
            frame, schema = pd.DataFrame({"x": cells * 20}), st.Schema({"x": COLUMNS[name]})

            with pytest.warns(
                CoercionWarning, match=rf"column 'x': {told}, so all become missing; check .* in the schema"
            ):
                release = st.Independent(epsilon=5.0, seed=0).fit(frame, schema)

            assert release.marginals([("x",)])[0][-1] > 10
            with pytest.raises(DataError, match=told):
                st.Independent(epsilon=5.0, seed=0).fit(frame, schema, strict=True)


def test_columns_of_the_declared_kind_are_left_as_they_are() -> None:
    table = read(pd.DataFrame({"text": pd.Series([None], dtype=object), "real": [np.nan], "other": [1]}))
    schema = st.Schema({name: COLUMNS[name] for name in ("text", "real")})

    typed = typed_as_declared(table, schema)

    assert [*typed.columns.values()] == [*table.columns.values()]
    assert typed.origin.physical == {"other": table.origin.physical["other"]}


WHOLE = st.Numeric(0, 9, integer=True)
DECLARED_DAY = st.Date(dt.date(2020, 1, 1), dt.date(2020, 12, 31))
LOCAL = st.Datetime(*MOMENTS)
ZONED = st.Datetime(*MOMENTS, timezone="Europe/Paris")
CODES = st.Categorical(("007", "8", "8.0", "2.50", "=x"))
WORDS = st.Categorical(("yes", "no", "maybe"))
TOKYO = dt.timezone(dt.timedelta(hours=9))
NOON = dt.datetime(2020, 2, 3, 12)


class TestTexts:
    def test_follow_from_the_value_and_the_declaration(self) -> None:
        cases = [
            (CODES, [7, 7.0, Decimal("7.00"), np.int8(7), np.float32(7), "7", " 7.0", "007"], "007"),
            (CODES, [2.5, Decimal("2.5"), "2.5", "2.50", "+25e-1"], "2.50"),
            (CODES, [7 + 0j, np.complex64(7)], "007"),
            (CODES, [8, 8.0, "8"], "8"),
            (CODES, ["8.0"], "8.0"),
            (CODES, [9, 9.0], "9"),
            (WORDS, [True, np.True_, "TRUE", "true", "yes"], "yes"),
            (WORDS, [1, 1.0], "1"),
            (st.Categorical(("True", "other")), [True, "TRUE", "True"], "True"),
            (st.Categorical(("a",)), [True], "true"),
            (st.Categorical((0, 1)), [True, "True", 1, 1.0, Decimal(1)], "1"),
            (st.Categorical((True, False)), [False, "FALSE"], "false"),
            (WHOLE, [False, "false", 0, -0.0, Decimal("0.00")], "0"),
            (WHOLE, [1e300], "1e+300"),
            (WHOLE, [float("inf")], "inf"),
            (st.Boolean(), [1, 1.0, Decimal("1.0")], "1"),
            (DECLARED_DAY, [dt.date(2020, 2, 3)], "2020-02-03"),
            (DECLARED_DAY, ["2020-02-03", "2020-02-03 "], "2020-02-03"),
            (LOCAL, [NOON, pd.Timestamp(NOON), np.datetime64(NOON, "ns")], "2020-02-03T12:00:00"),
            (LOCAL, [NOON.replace(tzinfo=TOKYO), "2020-02-03T12:00:00+09:00"], "2020-02-03T12:00:00"),
            (ZONED, [NOON.replace(tzinfo=TOKYO)], "2020-02-03T03:00:00+00:00"),
            (ZONED, ["2020-02-03T12:00+09:00"], "2020-02-03T12:00+09:00"),
            (
                st.Categorical(("2020-02-03", "x")),
                [dt.date(2020, 2, 3), dt.datetime(2020, 2, 3)],
                "2020-02-03",
            ),
            (st.Categorical(("2020-02-03 12:00",)), [NOON], "2020-02-03 12:00"),
            (st.Categorical(("10:00:00",)), [dt.time(10)], "10:00:00"),
            (st.Categorical(("a",)), [[1], {}, b"a", 1j, "a\ud800", 10**5000, np.timedelta64(1, "D")], None),
        ]
        for column, values, text in cases:
            written = text_of(column)

            assert [written(value) for value in values] == [text] * len(values)

    def test_only_categories_that_mean_something_change_how_texts_are_read(self) -> None:
        assert is_read_by_meaning(CODES)
        assert is_read_by_meaning(WORDS)
        assert not is_read_by_meaning(st.Categorical(("cook", "judge")))
        assert not is_read_by_meaning(WHOLE)


class TestDistinctValues:
    def test_give_back_the_cells(self) -> None:
        cases = [
            ["b", "a", "b"],
            [3, 1, 3],
            [0.5, 0.25, 0.5],
            [True, False, True],
            [dt.date(2020, 1, 2), dt.date(1, 1, 1), dt.date(9999, 12, 31)],
            [NOON, MOMENTS[0], NOON],
            [NOON.replace(tzinfo=dt.UTC), MOMENTS[0].replace(tzinfo=dt.UTC)],
            [Decimal("1.0"), Decimal("1.00")],
        ]
        for cells in cases:
            raw = from_frame(pd.DataFrame({"x": pd.Series([*cells, None], dtype=object)})).columns["x"]

            values, places = distinct_values(raw)

            assert [values[place] for place in places] == cells
            assert len(values) <= len(cells)

    def test_beyond_the_calendar_or_of_no_column_are_none(self) -> None:
        far = pd.Series(np.array([2**40], dtype="datetime64[s]"))
        spans = pd.Series(pd.to_timedelta(["1h"]))
        for series in (far, far.dt.tz_localize("UTC"), spans):
            values, _ = distinct_values(from_frame(pd.DataFrame({"x": series})).columns["x"])
            assert values == [None]
