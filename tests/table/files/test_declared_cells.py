"""With a schema, the cells of text files are read as it declares, each cell on its own."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import CoercionWarning, DataError, SchemaError
from syntabula.table.coding.codec import Codec
from syntabula.table.files.files import write_table
from syntabula.table.frames.conform import output_type
from syntabula.table.frames.object_columns import to_objects
from syntabula.table.raw import Dialect, Origin
from syntabula.table.read import read
from syntabula.table.schema.columns import (
    SPELLINGS,
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Identifier,
    Numeric,
)
from syntabula.table.schema.text_formats import read_time
from syntabula.table.schema.time_columns import Period

DAYS = (dt.date(2020, 1, 1), dt.date(2020, 12, 31))
MOMENTS = (dt.datetime(2020, 1, 1), dt.datetime(2020, 12, 31))
SUFFIXES = (".csv", ".tsv", ".jsonl", ".csv.gz", ".tsv.gz", ".jsonl.gz")
LEAP, NIGHT, MINUTE = dt.date(2020, 2, 29), dt.datetime(2020, 2, 29), dt.timedelta(minutes=1)
GAP, BAD = None, "unreadable"


def quoted(cell: str | None) -> str:
    return f'"{cell}"' if cell and "," in cell else cell or ""


def write(path: Path, columns: dict[str, list[str | None]]) -> Path:
    """Write texts as they are; JSON numbers as texts too, missing cells as nothing."""
    rows = list(zip(*columns.values(), strict=True))
    if ".jsonl" in path.name:
        lines = [json.dumps(dict(zip(columns, row, strict=True))) for row in rows]
    else:
        delimiter = "\t" if ".tsv" in path.name else ","
        lines = [delimiter.join(columns), *(delimiter.join(map(quoted, row)) for row in rows)]
    data = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def shown(table: Any, name: str) -> list[Any]:
    column = table.columns[name]
    cells = to_objects(column).tolist()
    for row in np.flatnonzero(column.unreadable) if column.unreadable is not None else ():
        assert column.missing[row]
        cells[row] = BAD
    return cells


class TestCells:
    @pytest.mark.thorough
    def test_each_is_read_as_declared_and_on_its_own(self, tmp_path: Path) -> None:
        cases = [
            (
                Categorical(("007", "7")),
                ["007", "7", "NA", " 7", "1e3", None],
                ["007", "7", "NA", " 7", "1e3", GAP],
            ),
            (
                Categorical(("a", "b"), nullable=True, missing_as="none"),
                ["a", "none", "NA"],
                ["a", GAP, "NA"],
            ),
            (
                Date(*DAYS, nullable=True, missing_as="never"),
                ["2020-02-29", " never ", "."],
                [LEAP, GAP, GAP],
            ),
            (Categorical((7, 8)), ["007", " 7 ", "7.0", "x", None], [7, 7, 7, BAD, GAP]),
            (Categorical((0.5, 1.5)), ["0.50", "5e-1", "1,5", "nan"], [0.5, 0.5, BAD, GAP]),
            (Categorical((True, False)), ["1", "no", "2"], [True, False, BAD]),
            (
                Boolean(),
                ["True", "f", "0", "1.0", " YES ", "2", None],
                [True, False, False, True, True, BAD, GAP],
            ),
            (Numeric(0, 9, integer=True), ["+5", "-3", "007", "NA", "", "nan"], [5, -3, 7, GAP, GAP, GAP]),
            (Numeric(0, 9, integer=True), [str(2**53 + 1), "1"], [2**53 + 1, 1]),
            (Numeric(0, 2**64 - 1, integer=True), [str(2**64 - 1), "1"], [2**64 - 1, 1]),
            (Numeric(0, 9, integer=True), ["2.5", str(2**70), "-inf", "x"], [2.5, 2**70, float("-inf"), BAD]),
            (
                Numeric(0, 9),
                ["1", ".5", "-2.", "1e3", "1e999", "0x1F", "1_0"],
                [1, 0.5, -2, 1e3, float("inf"), BAD, BAD],
            ),
            (
                Date(*DAYS),
                ["2020-02-29", "2020-02-29T23:59", "2020-02-30", "1.2.2020"],
                [LEAP, LEAP, BAD, BAD],
            ),
            (
                Datetime(*MOMENTS),
                ["2020-02-29", "2020-02-29 01:02", "2020-02-29T01:02:03.5", "2020-02-29T01:02Z", "noon"],
                [NIGHT, NIGHT + MINUTE * 62, NIGHT + MINUTE * 62 + MINUTE * 3.5 / 60, BAD, BAD],
            ),
        ]
        for column, texts, values in cases:
            schema = st.Schema({"x": column, "y": Categorical(("k",))})
            for suffix in SUFFIXES[:3]:
                whole = write(tmp_path / f"all{suffix}", {"x": texts, "y": ["k"] * len(texts)})

                together = read(whole, schema)

                assert shown(together, "x") == values, suffix
                if suffix == ".tsv":
                    # Read by the same lines as the first, with another delimiter.
                    continue
                for i, (text, value) in enumerate(zip(texts, values, strict=True)):
                    alone = read(write(tmp_path / f"{i}{suffix}", {"x": [text], "y": ["k"]}), schema)
                    assert shown(alone, "x") == [value], suffix
                    # What a release says of the table's types must not tell its cells.
                    assert alone.origin == together.origin, suffix
                    schema.check_table(alone)

    def test_times_without_an_offset_are_of_the_declared_zone(self, tmp_path: Path) -> None:
        schema = st.Schema({"x": Datetime(*MOMENTS, timezone="Europe/Paris"), "y": Categorical(("k",))})
        texts: list[str | None] = [
            "2020-07-01T12:00",
            "2020-07-01T10:00Z",
            "2020-07-01 12:00:00+02",
            "2020-07-01",
            "soon",
        ]

        table = read(write(tmp_path / "t.csv", {"x": texts, "y": ["k"] * 5}), schema)

        noon = dt.datetime(2020, 7, 1, 10, tzinfo=dt.UTC)
        assert shown(table, "x") == [noon, noon, noon, noon - dt.timedelta(hours=12), BAD]

    def test_a_quoted_empty_cell_is_text_in_a_column_of_text_alone(self, tmp_path: Path) -> None:
        schema = st.Schema({"a": Categorical(("", "x")), "b": Numeric(0, 9, integer=True)})
        (tmp_path / "t.csv").write_text('a,b\n"",""\n,\n')

        table = read(tmp_path / "t.csv", schema)

        assert shown(table, "a") == ["", None]
        assert shown(table, "b") == [None, None]

    def test_json_is_read_as_it_is_written(self, tmp_path: Path) -> None:
        schema = st.Schema(
            {"a": Categorical(("x", "1.50")), "b": Numeric(0, 9, integer=True), "c": Boolean()}
        )
        (tmp_path / "t.jsonl").write_text(
            '{"a": 1.50, "b": 12345678901234567, "c": true}\n'
            '{"b": "3", "c": 0, "a": "\\u0078"}\n{}\n{"a": null, "b": [1], "c": {"d": 1}}\n'
        )

        table = read(tmp_path / "t.jsonl", schema)

        assert [shown(table, n) for n in schema] == [
            ["1.50", "x", None, None], [12345678901234567, 3, None, BAD], [True, False, None, BAD],
        ]  # fmt: skip


class TestTables:
    def test_keys_of_json_that_are_not_declared_are_ignored_aloud(self, tmp_path: Path) -> None:
        (tmp_path / "t.jsonl").write_text('{"a": 1}\n{"a": 2, "secret-key": 3}\n')

        with pytest.warns(CoercionWarning, match="keys") as caught:
            table = read(tmp_path / "t.jsonl", st.Schema({"a": Numeric(0, 9), "b": Boolean(nullable=True)}))

        assert "secret" not in str(caught[0].message)
        assert [shown(table, n) for n in table.columns] == [[1.0, 2.0], [None, None]]

    @pytest.mark.thorough
    def test_many_rows_keep_their_order_and_their_own_marks(self, tmp_path: Path) -> None:
        # More than one row group of DuckDB, whose threads may overtake each other.
        n = 250_000
        numbers: list[str | None] = ["x" if i % 1000 == 7 else str(i) for i in range(n)]
        schema = st.Schema({f"c{i}": Numeric(0, n, integer=True) for i in range(4)})

        table = read(write(tmp_path / "t.csv", dict.fromkeys(schema, numbers)), schema)

        for column in table.columns.values():
            assert column.unreadable is not None
            assert np.flatnonzero(column.unreadable).tolist() == list(range(7, n, 1000))
            assert (np.where(column.unreadable, np.arange(n), column.values) == np.arange(n)).all()

    def test_json_lines_without_a_line_are_a_table_without_rows(self, tmp_path: Path) -> None:
        (tmp_path / "t.jsonl").write_text("")

        assert read(tmp_path / "t.jsonl", st.Schema({"a": Numeric(0, 9), "b": Boolean()})).n_rows == 0

    def test_the_declared_names_tell_the_delimiter(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("a;b\n1,5;2,5\n")
        schema = st.Schema({"a": Categorical(("1,5",)), "b": Categorical(("2,5",))})

        assert shown(read(tmp_path / "t.csv", schema), "b") == ["2,5"]

    def test_other_names_are_left_to_the_check(self, tmp_path: Path) -> None:
        schema = st.Schema({"a": Numeric(0, 9)})
        table = read(write(tmp_path / "t.csv", {"a": ["1"], "b": ["x"]}), schema)

        with pytest.raises(SchemaError, match="'b'"):
            schema.check_table(table)

    @pytest.mark.filterwarnings("ignore::syntabula.errors.PrivacyWarning")
    def test_metrics_say_which_cells_count_as_missing(self, tmp_path: Path) -> None:
        schema = st.Schema({"a": Numeric(0, 9), "b": Boolean()})
        good = write(tmp_path / "good.csv", {"a": ["1", "2"], "b": ["1", "0"]})
        bad = write(tmp_path / "bad.csv", {"a": ["1", "much"], "b": ["1", "0"]})

        with pytest.warns(CoercionWarning, match="the synthetic table .* in 'a'") as caught:
            result = st.evaluate(good, bad, metrics="tvd-1", schema=schema, baselines=())

        assert not any("much" in str(w.message) for w in caught)
        # One of two cells of `a` went missing, and nothing else differs.
        assert result.score("tvd-1").value == pytest.approx((0.5 + 0.0) / 2)


MIXED = {
    "code": Categorical(("007", "01234"), nullable=True),
    "level": Categorical((1, 2), open=True, other_label=-1),
    "flag": Boolean(nullable=True),
    "age": Numeric(0, 99, integer=True, nullable=True),
    "pay": Numeric(0, 9.5, decimals=1),
    "day": Date(*DAYS, nullable=True),
    "when": Datetime(*MOMENTS, timezone="Europe/Paris", resolution="minute"),
    "id": Identifier(width=4),
}
GOOD: dict[str, str | None] = {
    "code": "007", "level": "1", "flag": "true", "age": "30", "pay": "2.5", "day": "2020-02-29",
    "when": "2020-07-01T12:00", "id": "0001",
}  # fmt: skip


class TestEncoding:
    @pytest.mark.thorough
    @pytest.mark.parametrize(
        ("name", "text", "kept", "kind"),
        [
            ("code", "7", True, "unknown"),
            ("level", "high", True, "unknown"),
            ("flag", "perhaps", True, "unreadable"),
            ("age", "old", True, "unreadable"),
            ("pay", "much", False, "unreadable"),
            ("day", "today", True, "unreadable"),
            ("when", "now", False, "unreadable"),
            ("age", "30.5", True, "rounded"),
            ("age", str(10**30), True, "clipped"),
        ],
    )
    def test_one_odd_cell_changes_its_own_record_only(
        self, name: str, text: str, kept: bool, kind: str, tmp_path: Path
    ) -> None:
        schema = st.Schema(MIXED)
        codec = Codec.plan(schema)
        records = [GOOD, {**GOOD, name: text}, GOOD]

        def encoded(rows: list[dict[str, str | None]], suffix: str) -> Any:
            path = write(tmp_path / f"{len(rows)}{suffix}", {n: [r[n] for r in rows] for n in GOOD})
            return codec.encode(read(path, schema))

        for suffix in (".csv", ".jsonl"):
            table, coercions = encoded(records, suffix)
            without, nothing = encoded([GOOD, GOOD], suffix)

            rows = Counter(
                map(tuple, np.stack([table.column(c) for c in table.domain.columns], axis=1).tolist())
            )
            rows -= Counter(
                map(tuple, np.stack([without.column(c) for c in table.domain.columns], axis=1).tolist())
            )
            assert rows.total() == table.n_rows - without.n_rows == kept
            assert getattr(coercions, kind) == {name: 1}
            assert coercions.columns == (name,)
            assert not nothing

    def test_labels_that_are_no_numbers_count_as_other(self, tmp_path: Path) -> None:
        schema = st.Schema({"a": MIXED["level"], "b": Categorical((1, 2), nullable=True)})
        table = read(write(tmp_path / "t.csv", {"a": ["x", "2"], "b": ["x", "2"]}), schema)

        codes, _ = Codec.plan(schema).encode(table)

        assert [codes.column("a").tolist(), codes.column("b").tolist()] == [[2, 1], [2, 1]]

    def test_strict_names_the_column_and_no_cell(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.csv", {n: [c, c] for n, c in {**GOOD, "day": "canary"}.items()})

        with pytest.raises(DataError, match="'day'") as caught:
            st.Independent(epsilon=1.0, seed=0).fit(path, st.Schema(MIXED), strict=True)

        assert "canary" not in str(caught.value)


NOON = dt.datetime(2020, 7, 1, 12)
NARROW = MIXED | {
    # One value each, so that what is drawn is what was given.
    "age": Numeric(30, 30, integer=True, nullable=True),
    "pay": Numeric(2.5, 2.5, decimals=1),
    "day": Date(LEAP, LEAP, nullable=True),
    "when": Datetime(NOON, NOON, timezone="Europe/Paris"),
}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.thorough
def test_a_synthetic_file_is_written_like_the_original(suffix: str, tmp_path: Path) -> None:
    schema = st.Schema(NARROW)
    original = write(tmp_path / f"in{suffix}", {name: [cell] * 40 for name, cell in GOOD.items()})
    made = tmp_path / f"out{suffix}"

    release = st.Independent(epsilon=float("inf")).fit(original, schema)
    release.sample_to(made, 5, seed=0)

    data = gzip.decompress(made.read_bytes()) if suffix.endswith(".gz") else made.read_bytes()
    lines = data.decode().splitlines()
    written = GOOD | {"when": "2020-07-01T12:00:00+02:00"}
    if ".jsonl" in suffix:
        assert json.loads(lines[0]) == written | {"level": 1, "flag": True, "age": 30, "pay": 2.5}
    else:
        delimiter = "\t" if ".tsv" in suffix else ","
        assert lines[:2] == [delimiter.join(written), delimiter.join(map(quoted, written.values()))]
    # What was made is read again as what it was.
    assert Codec.plan(schema).encode(read(made, schema), strict=True)[0].n_rows == 5


@pytest.mark.thorough
def test_flags_are_written_as_the_schema_spells_them(tmp_path: Path) -> None:
    for spelling in SPELLINGS:
        true, _, false = spelling.partition("/")
        (tmp_path / "in.csv").write_text("x\n" + "\n".join([true] * 30 + [false] * 30 + [""] * 30) + "\n")
        schema = st.Schema({"x": st.Boolean(spelling=spelling, nullable=True)})
        release = st.Independent(epsilon=9.0, seed=0).fit(tmp_path / "in.csv", schema)

        for suffix in (".csv", ".jsonl", ".parquet"):
            release.sample_to(tmp_path / f"out{suffix}", 60, seed=0)

            back = read(tmp_path / f"out{suffix}", schema).columns["x"]
            assert set(back.values[~back.missing].tolist()) == {True, False}, suffix
            assert back.missing.any(), suffix
        assert set((tmp_path / "out.csv").read_text().split("\n")[1:]) == {true, false, ""}
        release.save(tmp_path / "x.syn")
        assert st.load(tmp_path / "x.syn").sample(30, seed=0).equals(release.sample(30, seed=0))


FIRST, LAST = dt.date(1990, 1, 1), dt.date(2030, 12, 31)
START, END = dt.datetime(1990, 1, 1), dt.datetime(2030, 12, 31)


def day(format: str) -> Date:
    return Date(FIRST, LAST, nullable=True, format=format)


def period(format: str, resolution: Period) -> Date:
    return Date(FIRST, LAST, nullable=True, format=format, resolution=resolution)


def time(format: str, **other: object) -> Datetime:
    return Datetime(START, END, nullable=True, format=format, **other)


def number(format: str, **other: object) -> Numeric:
    return Numeric(-1e7, 1e7, nullable=True, format=format, **other)


CASES: list[tuple[Column, list[str]]] = [
    (day("%d/%m/%Y"), ["31/12/2020", "05/01/2021"]),
    (day("%-m/%-d/%Y"), ["12/31/2020", "1/5/2021"]),
    (day("%d.%m.%y"), ["31.12.20", "05.01.99"]),
    (day("%Y%m%d"), ["20201231", "19990105"]),
    (day("%b-%Y"), ["Dec-2011", "Jan-2012"]),
    (period("%Y-%m", "month"), ["2011-12", "2012-01"]),
    (period("%b %Y", "month"), ["Dec 2011", "Jan 2012"]),
    (period("%Y-Q%q", "quarter"), ["2011-Q4", "2012-Q1"]),
    (period("%q/%Y", "quarter"), ["4/2011", "1/2012"]),
    (period("%G-W%V", "week"), ["2020-W53", "2021-W01"]),
    (day("%d %B %Y"), ["31 December 2020", "05 May 2021"]),
    (time("%Y-%m-%d %H:%M:%S"), ["2013-08-13 06:03:42", "2013-08-13 00:00:00"]),
    (time("%Y-%m-%d %H:%M", resolution="minute"), ["2013-08-13 06:03", "2013-08-13 00:00"]),
    (time("%d/%m/%Y %H:%M:%S", resolution="day"), ["31/12/2020 00:00:00"]),
    (time("%m/%d/%Y %I:%M:%S %p"), ["08/13/2013 06:03:42 PM", "08/13/2013 12:03:42 AM"]),
    (time("%Y-%m-%d %H:%M:%S.%f", resolution="millisecond"), ["2013-08-13 06:03:42.120"]),
    (time("%Y-%m-%d %H:%M:%S.%f", resolution="microsecond"), ["2013-08-13 06:03:42.120300"]),
    (time("%Y-%m-%dT%H:%M:%SZ", timezone="UTC"), ["2013-08-13T06:03:42Z"]),
    (time("%d/%m/%Y %H:%M:%S", timezone="Europe/Paris"), ["13/08/2013 06:03:42"]),
    (number("1234,5"), ["-1234,25", "12", "0,001"]),
    (number("1234,50", decimals=2), ["1234,25", "12,00"]),
    (number("1234.500", decimals=2), ["1234.250", "12.000"]),
    (number("1234.50", integer=True), ["1234.00", "-12.00"]),
    (number("1234.0"), ["1234.25", "12.0"]),
    (number("1234.5"), ["1234.25", "12"]),
    (number("1.234,50", decimals=2), ["-1.234.567,25", "12,00"]),
    (number("1,234", integer=True), ["1,234,567", "-12"]),
    (number("1 234,5"), ["1 234,5"]),
    (number("1'234.5"), ["1'234.5"]),
    (number("1\u202f234,50 €", decimals=2), ["1\u202f234,50 €"]),
    (number("$1,234.50", decimals=2), ["$1,234.50", "-$5.00"]),
    (number("1234.5%"), ["12.5%"]),
    (number("1234.0", integer=True), ["12.0", "7.0"]),
]

# Every form once, and those of each kind and with a comma by other separators too.
WRITTEN = [
    *(
        pytest.param(column, cells, Dialect(";"), marks=pytest.mark.thorough if place % 2 else ())
        for place, (column, cells) in enumerate(CASES)
    ),
    *(
        pytest.param(column, cells, dialect, marks=pytest.mark.thorough)
        for column, cells in CASES
        if column.format in ("%d/%m/%Y", "%Y-%m-%dT%H:%M:%SZ", "1234,5", "1,234", "$1,234.50")
        for dialect in (Dialect(","), Dialect("|", quoted=True))
    ),
]


@pytest.mark.parametrize(("column", "cells", "dialect"), WRITTEN, ids=lambda x: getattr(x, "format", ""))
def test_a_file_comes_out_as_it_was(
    column: Column, cells: list[str], dialect: Dialect, tmp_path: Path
) -> None:
    mark = '"' if dialect.quoted or any(dialect.delimiter in cell for cell in cells) else ""
    lines = [f'"x"{dialect.delimiter}"y"', *(f"{mark}{cell}{mark}{dialect.delimiter}" for cell in cells)]
    if not dialect.quoted:
        lines[0] = lines[0].replace('"', "")
    if dialect.delimiter == "," and mark:
        # Only what holds the delimiter is in quotes.
        lines = [lines[0], *((f'"{c}",' if "," in c else f"{c},") for c in cells)]
    text = "\n".join([*lines, dialect.delimiter]) + "\n"
    (tmp_path / "in.csv").write_text(text, encoding="utf-8")
    schema = st.Schema({"x": column, "y": number("1234,5")})

    table = read(tmp_path / "in.csv", schema)
    types = {name: output_type(c, "csv") for name, c in schema.columns.items()}
    write_table(table.columns, tmp_path / "out.csv", Origin("csv", types, table.origin.dialect))

    assert table.columns["x"].unreadable is None
    assert not table.columns["x"].missing[:-1].any()
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == text


# The forms are those above: some of each kind are enough.
@pytest.mark.parametrize(("column", "cells"), CASES[::3], ids=lambda x: getattr(x, "format", ""))
@pytest.mark.thorough
def test_a_frame_of_the_same_texts_is_read_alike(column: Column, cells: list[str], tmp_path: Path) -> None:
    pd.DataFrame({"x": cells}).to_csv(tmp_path / "in.csv", index=False)
    schema = st.Schema({"x": column})

    in_file, in_frame = (
        to_objects(read(source, schema).columns["x"]).tolist()
        for source in (tmp_path / "in.csv", pd.DataFrame({"x": cells}))
    )

    assert None not in in_file
    assert in_file == in_frame


@pytest.mark.parametrize(
    ("lower", "upper", "cells", "years"),
    [
        (1925, 2015, ["31.12.44", "05.01.68", "29.02.00", "01.02.15"], [1944, 1968, 2000, 2015]),
        (1880, 1910, ["29.02.00", "05.01.99"], [1900, 1899]),
        (2050, 2090, ["31.12.70"], [2070]),
        # None of these lies within the bounds in any century.
        (1980, 1990, ["31.12.44", "31.12.75"], [2044, 1975]),
        # More than one does.
        (1900, 2100, ["31.12.44", "31.12.75"], [2044, 1975]),
    ],
)
def test_years_of_two_digits_are_those_within_the_bounds(
    lower: int, upper: int, cells: list[str], years: list[int], tmp_path: Path
) -> None:
    days = Date(dt.date(lower, 1, 1), dt.date(upper, 12, 31), format="%d.%m.%y")
    times = Datetime(dt.datetime(lower, 1, 1), dt.datetime(upper, 12, 31), format="%d.%m.%y %H:%M:%S")
    frame = pd.DataFrame({"day": cells, "time": [f"{cell} 12:30:00" for cell in cells]})
    frame.to_csv(tmp_path / "in.csv", index=False)
    schema = st.Schema({"day": days, "time": times})

    for source in (tmp_path / "in.csv", frame):
        columns = read(source, schema).columns
        assert [day.year for day in to_objects(columns["day"])] == years
        assert [time.year for time in to_objects(columns["time"])] == years
        # So are conditions read.
        points = [float(days.written(cell)[0]) for cell in cells]
        assert points == columns["day"].values.tolist()


def test_typed_tables_hold_values_and_not_texts() -> None:
    for column, plain in (
        (day("%d/%m/%Y"), Date(FIRST, LAST, nullable=True)),
        (time("%d/%m/%Y %H:%M:%S"), Datetime(START, END, nullable=True)),
        (number("1.234,5"), Numeric(-1e7, 1e7, nullable=True)),
    ):
        for container in ("pandas", "polars", "pyarrow", "parquet", "arrow"):
            assert output_type(column, container) == output_type(plain, container)
    assert output_type(number("1234,5"), "jsonl").kind == "float"
    assert output_type(day("%d/%m/%Y"), "jsonl").kind == "text"


def test_a_number_in_another_form_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('x\n"12.5"\n1.23\n"1.234"\n"1.234,5"\nnan\n\n')

    column = read(tmp_path / "t.csv", st.Schema({"x": number("1.234,5")})).columns["x"]

    assert column.unreadable is not None
    assert column.unreadable.tolist() == [True, True, False, False, False, False]
    assert column.values[2:4].tolist() == [1234.0, 1234.5]


@pytest.mark.parametrize("format", ["1234,5", "1.234,5", "1234,5 €", "1.234,5 kg"])
def test_small_and_large_numbers_may_have_an_exponent(format: str, tmp_path: Path) -> None:
    # pandas writes every number below 0.0001 so.
    schema = st.Schema({"x": Numeric(-10, 5_000_000, format=format)})
    (tmp_path / "t.csv").write_text(
        "x\n" + "".join(f'"{c}"\n' for c in ("9,83e-05", "-1e-05", "2,5E+6", "0,5"))
    )

    column = read(tmp_path / "t.csv", schema).columns["x"]

    assert column.values.tolist() == [9.83e-05, -1e-05, 2.5e6, 0.5]
    assert column.unreadable is None


def test_letters_of_a_currency_are_no_exponent(tmp_path: Path) -> None:
    schema = st.Schema({"x": Numeric(0, 5_000, format="EUR 1.234,5")})
    (tmp_path / "t.csv").write_text('x\n"EUR 1.234,5"\n"EUR 0,5"\n')

    assert read(tmp_path / "t.csv", schema).columns["x"].values.tolist() == [1234.5, 0.5]


def test_numbers_that_are_none_of_text_are_not_mistaken_for_groups(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"x": 1.234}\n{"x": "1.234"}\n{"x": 5}\n')
    schema = st.Schema({"x": number("1.234,5")})

    for source in (tmp_path / "t.jsonl", pd.DataFrame({"x": [1.234, "1.234", 5]}, dtype=object)):
        assert read(source, schema).columns["x"].values.tolist() == [1.234, 1234.0, 5.0]


def test_days_and_times_may_also_be_in_iso_8601(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n2020-12-31\n31/12/2020\n2020-12-31T10:00\nelse\n")

    column = read(tmp_path / "t.csv", st.Schema({"x": day("%d/%m/%Y")})).columns["x"]

    assert column.missing.tolist() == [False, False, False, True]
    assert set(column.values[:3].tolist()) == {18627}


@pytest.mark.thorough
def test_a_release_writes_the_dialect_and_the_formats_of_its_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    days = pd.to_datetime(rng.integers(18_000, 19_000, 2000), unit="D").strftime("%d/%m/%Y")
    pay = [f"{x:.2f}".replace(".", ",") for x in rng.uniform(-50, 50, 2000)]
    pd.DataFrame({"day": days, "pay": pay}).to_csv(tmp_path / "in.csv", index=False, sep=";")
    schema = st.Schema(
        {"day": day("%d/%m/%Y"), "pay": Numeric(-50, 50, decimals=2, format="1234,50")}, label="payments"
    )
    release = st.Independent(epsilon=1.0, seed=0).fit(tmp_path / "in.csv", schema)
    release.save(tmp_path / "r.syn")

    st.load(tmp_path / "r.syn").sample_to(tmp_path / "out.csv", 300, seed=1)

    made = pd.read_csv(tmp_path / "out.csv", sep=";", dtype=str)
    assert list(made) == ["day", "pay"]
    assert made["day"].dropna().str.fullmatch(r"[0-3]\d/[01]\d/20\d\d").all()
    assert made["pay"].str.fullmatch(r"-?\d+,\d\d").all()
    assert release.sample(5)["pay"].dtype == np.float64


@pytest.mark.parametrize("format", ["%G-W%V", "%V/%G", "%G%V"])
def test_week_53_of_a_year_of_52_weeks_is_no_week(format: str) -> None:
    column = period(format, "week")
    weeks = ((2010, "52"), (2010, "53"), (2020, "53"), (1953, "1"))
    texts = [format.replace("%G", str(year)).replace("%V", week) for year, week in weeks]

    table = read(pd.DataFrame({"x": texts}), st.Schema({"x": column}))

    days = [dt.date(2010, 12, 27), BAD, dt.date(2020, 12, 28), dt.date(1952, 12, 29)]
    assert shown(table, "x") == days
    assert [_read_alone(text, format) for text in texts] == days


def _read_alone(text: str, format: str) -> dt.date | str:
    try:
        return read_time(text, format).date()
    except ValueError:
        return BAD
