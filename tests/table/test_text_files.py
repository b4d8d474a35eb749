"""Text is read by what all of its cells are, and refused by line without showing one."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sample_files import TABLE, cells, read_text, shown

import syntabula as st
from syntabula.errors import DataError
from syntabula.table.draft import draft_schema
from syntabula.table.files.files import read_table, write_table
from syntabula.table.frames.frames import from_frame
from syntabula.table.read import read

CANARY = "zebra-canary-7731"


class TestDelimitedText:
    @pytest.mark.thorough
    def test_a_column_has_the_first_type_that_all_cells_have(self, tmp_path: Path) -> None:
        cases = [
            (["1", "-2", ""], "integer", [1, -2, None]),
            (["18446744073709551615", "0"], "integer", [2**64 - 1, 0]),
            (["18446744073709551615", "-1"], "text", None),
            (["123456789012345678901234567890", "1"], "text", None),
            (["007", "8"], "text", None),
            (["1234567890123456789", "0.5"], "text", None),
            (["1", "0.5", ".5", "1e3", "-2."], "float", [1.0, 0.5, 0.5, 1000.0, -2.0]),
            (["inf", "-inf", "nan", "1"], "float", [float("inf"), float("-inf"), None, 1.0]),
            (["true", "False", ""], "boolean", [True, False, None]),
            (["2020-02-29", "1970-01-02"], "date", [18321, 1]),
            (["2020-02-30", "1970-01-02"], "text", None),
            (["1970-01-01T00:00:01", "1970-01-01 00:00:00.5"], "datetime", [1_000_000, 500_000]),
            (["1970-01-01T02:00:00+02:00", "1970-01-01T00:00:00Z"], "datetime", [0, 0]),
            (["NA", "1"], "integer", [None, 1]),
            (["NA", "x"], "text", None),
            ([" 1", "2 ", "  "], "integer", [1, 2, None]),
            ([" a", "b "], "text", [" a", "b "]),
            (["", ""], "text", [None, None]),
        ]
        for written, kind, values in cases:
            content = "x,y\n" + "".join(f"{w},k\n" for w in written)
            column = read_text(tmp_path, content).columns["x"]

            assert column.physical.kind == kind
            assert cells(column) == (values if values is not None else written)

    def test_the_type_holds_for_every_row_not_just_the_first(self, tmp_path: Path) -> None:
        column = read_text(tmp_path, "x\n" + "1\n" * 5000 + "0.5\n").columns["x"]
        other = read_text(tmp_path, "x\n" + "1\n" * 5000 + "word\n").columns["x"]

        assert (column.physical.kind, other.physical.kind) == ("float", "text")

    def test_empty_is_missing_but_a_quoted_empty_text_is_not(self, tmp_path: Path) -> None:
        table = read_text(tmp_path, 'a,b\nx,1\n,\n"",""\n')

        assert cells(table.columns["a"]) == ["x", None, ""]
        assert cells(table.columns["b"]) == [1, None, None]

    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    def test_the_delimiter_is_found(self, delimiter: str, tmp_path: Path) -> None:
        assert list(read_text(tmp_path, f"a{delimiter}b c\n1{delimiter}x\n").columns) == ["a", "b c"]

    @pytest.mark.parametrize("content", ["\ufeffa,b\r\n1,x\r\n", "a,b\n1,x", '"a","b"\n"1","x"\n'])
    def test_usual_dialects_are_read(self, content: str, tmp_path: Path) -> None:
        table = read_text(tmp_path, content)

        assert [cells(c) for c in table.columns.values()] == [[1], ["x"]]
        assert list(table.columns) == ["a", "b"]

    def test_broken_text_is_refused_by_line_without_its_cells(self, tmp_path: Path) -> None:
        for content, words in [
            (f"a,b\n1,2\n{CANARY},2,3\n", "line 3"),
            (f"a,b\n1,2\n{CANARY}\n", "line 3"),
            (f'a,b\n1,2\n{CANARY},"x\n', "line 3"),
            (b"a,b\n1," + CANARY.encode() + b"\xe9\xff\n", "UTF-8"),
            ("a,a\n1,2\n", "'a'"),
            ("", "empty"),
            ("\n", "empty"),
        ]:
            with pytest.raises(DataError, match=words) as caught:
                read_text(tmp_path, content)

            assert CANARY not in shown(caught.value)

    def test_bytes_of_another_format_are_refused_without_their_cells(self, tmp_path: Path) -> None:
        for name in ["t.csv.gz", "t.csv.zst", "t.parquet", "t.arrow", "t.jsonl"]:
            with pytest.raises(DataError, match="t\\.") as caught:
                read_text(tmp_path, f"a,b\n{CANARY},2\n" * 9, name)

            assert CANARY not in shown(caught.value)

    def test_truncated_files_are_refused(self, tmp_path: Path) -> None:
        for suffix in [".csv.gz", ".parquet", ".jsonl.zst", ".arrow"]:
            path = tmp_path / f"t{suffix}"
            table = from_frame(TABLE)
            write_table(table.columns, path, table.origin)
            path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])

            with pytest.raises(DataError):
                read_table(path)


class TestJsonLines:
    def test_numbers_are_exact_and_dates_are_dates(self, tmp_path: Path) -> None:
        content = (
            '{"a": 18446744073709551615, "b": "2020-01-01", "c": "2020-01-01T00:00:00Z", "d": [1], "e": 1.5}\n'
            '{"a": null, "b": "2020-01-02", "c": "2020-01-01T02:00:00+02:00", "f": ""}\n'
        )
        table = read_text(tmp_path, content, "t.jsonl")

        assert cells(table.columns["a"]) == [2**64 - 1, None]
        assert {n: c.physical.kind for n, c in table.columns.items()} == {
            "a": "integer", "b": "date", "c": "datetime", "d": "other", "e": "float", "f": "text",
        }  # fmt: skip
        assert cells(table.columns["f"]) == [None, ""]

    def test_what_is_no_object_is_refused(self, tmp_path: Path) -> None:
        for content in ["[1]\n", f'{{"a": "{CANARY}"\n', f'{{"a": 1}}\n"{CANARY}"\n', ""]:
            with pytest.raises(DataError) as caught:
                read_text(tmp_path, content, "t.jsonl")

            assert CANARY not in shown(caught.value)


def test_na_has_no_quotes_where_other_texts_have_them(tmp_path: Path) -> None:
    # As R writes missing texts, whether they are declared to be missing or are a category.
    texts = ["NA", '"say ""no"""', '"a,b"', '"x"']
    lines = ['"n","missing","category"', *(f"{i % 7},{texts[i % 4]},{texts[i % 4]}" for i in range(300))]
    (tmp_path / "in.csv").write_text("\n".join(lines))
    labels = ['say "no"', "a,b", "x"]
    columns = {
        "n": st.Numeric(0, 6, integer=True),
        "missing": st.Categorical(labels, nullable=True, missing_as="NA"),
        "category": st.Categorical([*labels, "NA"]),
    }

    release = st.MST(epsilon=np.inf, seed=1).fit(tmp_path / "in.csv", st.Schema(columns))
    release.sample_to(tmp_path / "out.csv", 200, seed=1)

    header, *rows = (tmp_path / "out.csv").read_text().splitlines()
    assert header == lines[0]
    one = "(" + "|".join(texts) + ")"
    found = [re.fullmatch(rf"[0-6],{one},{one}", row) for row in rows]
    assert all(found)
    assert {row[i] for row in found if row for i in (1, 2)} == {*texts}


@pytest.mark.parametrize(
    ("written", "format", "value"),
    [
        (["12,5", "803", "1.234"], "1.234,5", 1234.0),
        (["12,50", "1.234"], "1.234,50", 1234.0),
        (["803", "1.234.567", "1.234"], "1.234", 1234),
        (["12,5", "1.234.567,5", "1.234.567", "1.234"], "1.234,5", 1234.0),
        # Nothing else says that these are thousands.
        (["803", "12.5", "1.234"], "1234.5", 1.234),
    ],
)
def test_few_numbers_in_groups_of_points_are_numbers(
    tmp_path: Path, written: list[str], format: str, value: float
) -> None:
    lines = ["x;y", *(f"{written[i // 9 % len(written) if i % 9 == 0 else 0]};{i % 5}" for i in range(300))]
    (tmp_path / "in.csv").write_text("\n".join(lines))

    schema, _ = draft_schema(tmp_path / "in.csv")

    assert schema["x"].format == format
    (tmp_path / "one.csv").write_text("x;y\n1.234;1\n")
    assert read(tmp_path / "one.csv", schema).columns["x"].values.tolist() == [value]


def test_times_come_out_with_the_offset_that_all_of_them_had(tmp_path: Path) -> None:
    times = [f"2024-05-{1 + i % 28:02}T{i % 24:02}:00:00+05:30" for i in range(300)]
    (tmp_path / "in.csv").write_text("\n".join(["at,y", *(f"{at},{i % 5}" for i, at in enumerate(times))]))

    drafted, _ = draft_schema(tmp_path / "in.csv")
    for schema in (None, drafted):
        release = st.MST(epsilon=np.inf, seed=1, allow_observed=True).fit(tmp_path / "in.csv", schema)
        (tmp_path / "out.csv").unlink(missing_ok=True)
        release.sample_to(tmp_path / "out.csv", 50, seed=1)

        _, *rows = (tmp_path / "out.csv").read_text().splitlines()
        assert all(re.fullmatch(r"2024-05-[0-3][0-9]T[0-2][0-9]:00:00\+05:30,[0-4]", row) for row in rows)


@pytest.mark.parametrize(("budget", "is_whole"), [(np.inf, True), (1.0, False)])
def test_where_all_cells_are_in_quotes_they_are_again_if_privacy_is_off(
    tmp_path: Path, budget: float, is_whole: bool
) -> None:
    rows = [
        f'"{i % 7}","{i % 9 / 2}","{"" if i % 4 else i % 5}","{"a,b" if i % 2 else "c"}"' for i in range(400)
    ]
    (tmp_path / "in.csv").write_text("\n".join(['"n","x","gap","text"', *rows, ""]))
    numeric = {"n": (0, 6, True), "x": (0, 4, False), "gap": (0, 4, True)}
    columns = {
        name: st.Numeric(
            lower, upper, integer=integer, decimals=None if integer else 1, nullable=name == "gap"
        )
        for name, (lower, upper, integer) in numeric.items()
    }
    schema = st.Schema({**columns, "text": st.Categorical(["a,b", "c"])})

    release = st.MST(epsilon=budget, delta=0 if is_whole else 1e-5, seed=1).fit(tmp_path / "in.csv", schema)
    release.save(tmp_path / "t.syn")
    st.load(tmp_path / "t.syn").sample_to(tmp_path / "out.csv", 100, seed=1)

    header, *found = (tmp_path / "out.csv").read_text().splitlines()
    assert header == '"n","x","gap","text"'
    number = '"[0-9.]+"' if is_whole else "[0-9.]+"
    gap = '"[0-4]?"' if is_whole else "[0-4]?"
    assert all(re.fullmatch(f'{number},{number},{gap},"(a,b|c)"', row) for row in found)
    assert any(f",{gap[:1] * 2 if is_whole else ''}," in row for row in found)


def test_one_cell_without_quotes_leaves_numbers_without(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('"n","k"\n' + '"1","a"\n"2","b"\n' * 100 + '3,"a"\n')
    schema = st.Schema({"n": st.Numeric(1, 3, integer=True), "k": st.Categorical(["a", "b"])})

    st.MST(epsilon=np.inf, seed=1).fit(tmp_path / "in.csv", schema).sample_to(
        tmp_path / "out.csv", 20, seed=1
    )

    assert re.fullmatch('"n","k"\n([123],"[ab]"\n)+', (tmp_path / "out.csv").read_text())
