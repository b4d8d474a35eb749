"""Text files in other encodings than UTF-8: declared, or shown by a byte order mark, and written as they were."""

from __future__ import annotations

import codecs
import math
from pathlib import Path

import numpy as np
import pytest

import syntabula as st
from syntabula.errors import DataError, SchemaError
from syntabula.table.draft import draft_schema
from syntabula.table.files import encodings
from syntabula.table.files.files import write_table
from syntabula.table.files.formats import file_format
from syntabula.table.raw import Dialect, Origin
from syntabula.table.read import read
from syntabula.table.schema.schema import Schema

TEXT = 'größe;preis;ort\r\n„a“;5 €;Köln\r\n"b;\r\nc";7 €;Málaga\r\n' + "„a“;6 €;Köln\r\n" * 60
WINDOWS = Schema({}, others="find", encoding="cp1252")


def file_of(folder: Path, encoding: str, name: str = "t.csv", *, mark: bytes = b"") -> Path:
    raw = mark + TEXT.encode(encoding)
    with encodings.opened(str(folder / name), file_format(name).compression, "wb") as file:
        file.write(raw)
    return folder / name


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.zst"])
def test_a_declared_encoding_is_that_of_what_is_read_and_drawn(tmp_path: Path, name: str) -> None:
    path = file_of(tmp_path, "cp1252", name)

    table = read(path, WINDOWS)
    release = st.Independent(epsilon=math.inf, seed=0).fit(path, WINDOWS)
    release.save(tmp_path / "r.syn")
    st.load(tmp_path / "r.syn").sample_to(tmp_path / f"drawn-{name}", 20, seed=0)

    assert [*table.columns] == ["größe", "preis", "ort"]
    assert table.columns["größe"].values[:2].tolist() == ["„a“", "b;\r\nc"]
    with encodings.opened(str(tmp_path / f"drawn-{name}"), file_format(name).compression) as file:
        drawn = file.read().decode("cp1252")
    assert drawn.startswith("größe;preis;ort\r\n")
    assert "Köln" in drawn
    assert "€" in drawn


def test_a_draft_declares_it_and_its_file_is_read_in_parts(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = file_of(tmp_path, "cp1252")

    schema, _ = draft_schema(read(path, WINDOWS))
    release = st.Independent(epsilon=math.inf, seed=0, allow_observed=True).fit(f"{tmp_path}/*.csv", schema)

    assert schema.encoding == "cp1252"
    assert Schema.from_json(schema.to_json()) == schema
    release.sample_to(tmp_path / "drawn.csv", 5, seed=0)
    assert (tmp_path / "drawn.csv").read_bytes().startswith("größe;".encode("cp1252"))


@pytest.mark.parametrize(
    ("encoding", "mark"), [("utf-16-le", codecs.BOM_UTF16_LE), ("utf-16-be", codecs.BOM_UTF16_BE)]
)
def test_a_byte_order_mark_shows_utf_16(tmp_path: Path, encoding: str, mark: bytes) -> None:
    path = file_of(tmp_path, encoding, mark=mark)

    # Seeded.
    release = st.Independent(epsilon=5.0, seed=0).fit(path)

    assert [*release.schema] == ["größe", "preis", "ort"]
    release.sample_to(tmp_path / "drawn.csv", 5, seed=0)
    raw = (tmp_path / "drawn.csv").read_bytes()
    assert raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    assert raw.decode("utf-16").startswith("größe;preis;ort\r\n")


def test_a_byte_order_mark_shows_utf_32_too(tmp_path: Path) -> None:
    for name in ("t.csv", "t.csv.zst"):
        assert [*read(file_of(tmp_path, "utf-32", name)).columns] == ["größe", "preis", "ort"]


def test_a_mark_of_utf_8_counts_more_than_a_declared_encoding(tmp_path: Path) -> None:
    table = read(file_of(tmp_path, "utf-8", mark=codecs.BOM_UTF8), WINDOWS)

    assert [*table.columns] == ["größe", "preis", "ort"]
    assert table.origin.dialect == Dialect(";", marked=True, returns=True)


class TestRefusal:
    def test_says_how_to_state_the_encoding(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"line 1 of .* --encoding cp1252"):
            read(file_of(tmp_path, "cp1252"))

    def test_names_the_line_that_the_declared_encoding_lacks(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"not in the encoding ascii, from line 1 on") as refused:
            read(file_of(tmp_path, "cp1252"), Schema({}, others="find", encoding="ascii"))
        assert "gr" not in str(refused.value).replace(str(tmp_path), "")

    @pytest.mark.parametrize("n_rows", [3, 500_000])
    def test_names_the_line_in_long_files_too(self, tmp_path: Path, n_rows: int) -> None:
        (tmp_path / "t.csv").write_bytes(b"x,y\n" + b"a,1\n" * n_rows + "ü,2\nb,3\n".encode("cp1252"))

        with pytest.raises(DataError, match=rf"from line {n_rows + 2} on"):
            read(tmp_path / "t.csv", Schema({}, others="find", encoding="ascii"))

    @pytest.mark.parametrize("damaged", [True, False])
    @pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.zst"])
    def test_of_damaged_and_of_no_compression(self, tmp_path: Path, name: str, damaged: bool) -> None:
        raw = file_of(tmp_path, "cp1252", name).read_bytes()
        (tmp_path / name).write_bytes(raw[:-20] if damaged else TEXT.encode("cp1252"))

        with pytest.raises(
            DataError, match=f"damaged, or not compressed with {file_format(name).compression}"
        ):
            read(tmp_path / name, WINDOWS)

    def test_of_utf_8_that_is_stated_as_another(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        right, wrong = (("größe,ort\n" + "1,Köln\n" * 90).encode(name) for name in ("cp1252", "utf-8"))
        (tmp_path / "a.csv").write_bytes(right)
        for text in (wrong, wrong.replace("größe".encode(), b"n")):
            (tmp_path / "b.csv").write_bytes(text)

            # A part of a table too, before its columns are compared with those of others.
            for source in (tmp_path / "b.csv", tmp_path):
                with pytest.raises(
                    DataError, match=r"b\.csv' is in UTF-8, though its encoding is stated as cp1252"
                ):
                    st.Independent(epsilon=math.inf, seed=0).fit(source, WINDOWS)
        (tmp_path / "b.csv").write_bytes(right)
        assert st.Independent(epsilon=math.inf, seed=0).fit(tmp_path, WINDOWS).schema["ort"]

    def test_of_an_unknown_encoding(self) -> None:
        # By idna, cells would lose their capitals.
        for name in ("western", "hex", "rot13", "idna", "punycode", "unicode_escape", 1252):
            with pytest.raises(SchemaError, match="encoding must be"):
                Schema({}, others="find", encoding=name)  # type: ignore[arg-type]

    def test_of_a_category_that_the_encoding_lacks(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("x\nд\n", encoding="utf-8")
        columns = read(tmp_path / "t.csv").columns

        with pytest.raises(DataError, match="a character that latin-1 lacks"):
            write_table(columns, tmp_path / "drawn.csv", Origin("csv", {}, Dialect(encoding="latin-1")))
        assert not (tmp_path / "drawn.csv").exists()


def test_an_encoding_of_several_bytes_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("名,数\n東京,1\n大阪,2\n".encode("shift-jis"))

    table = read(tmp_path / "t.csv", Schema({}, others="find", encoding="shift-jis"))

    assert table.columns["名"].values.tolist() == ["東京", "大阪"]
    assert np.array_equal(table.columns["数"].values, [1, 2])
