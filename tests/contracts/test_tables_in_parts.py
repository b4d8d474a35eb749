"""One table in memory, in one, two and seven parts, in processes and from other libraries: one release."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import shutil
import tempfile
import time
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError, CoercionWarning, DataError, SchemaError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import all_cliques
from syntabula.marginals.passes import PassEngine
from syntabula.table.coding.codec import Codec
from syntabula.table.parts import written_parts
from syntabula.table.parts.encoded_parts import EncodedParts
from syntabula.table.parts.found_parts import found_parts
from syntabula.table.parts.part_reading import Part
from syntabula.table.parts.points import Expected
from syntabula.table.parts.raw_parts import RawParts
from syntabula.table.raw import RawTable
from syntabula.table.read import parts_of, read
from syntabula.table.schema.schema import Schema

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N = 700


def frame(n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    kind = rng.integers(0, 4, n)
    amount = (rng.normal(size=n).clip(-3, 3) + kind).round(2)
    begin = datetime(2024, 1, 1)
    return pd.DataFrame(
        {
            "kind": [("red", "blue", "other", "")[k] for k in kind],
            "amount": np.where(rng.random(n) < 0.1, np.nan, amount),
            "age": rng.integers(0, 300, n),
            "paid": rng.random(n) < 0.3,
            "at": [begin + timedelta(minutes=int(m)) for m in rng.integers(0, 500_000, n)],
        }
    )


def schema() -> st.Schema:
    return st.Schema(
        {
            "kind": st.Categorical(("red", "blue"), open=True, nullable=True),
            "amount": st.Numeric(-5, 8, nullable=True),
            "age": st.Numeric(0, 250, integer=True),
            "paid": st.Boolean(),
            "at": st.Datetime(datetime(2024, 1, 1), datetime(2024, 12, 31), resolution="minute"),
        }
    )


def arrow() -> object:
    return pa.Table.from_pandas(frame(), preserve_index=False)


def in_parts(folder, n_parts: int, *, empty: bool = False, suffix: str = ".parquet"):
    """Write the table to files of which each holds some rows, and return their folder."""
    folder.mkdir()
    table = arrow()
    cuts = [N * i // n_parts for i in range(n_parts + 1)]
    pieces = [table.slice(a, b - a) for a, b in itertools.pairwise(cuts)]
    pieces += [table.slice(0, 0)] if empty else []
    for i, piece in enumerate(pieces):
        if suffix == ".parquet":
            pq.write_table(piece, folder / f"{i}.parquet", row_group_size=90)
        elif suffix == ".arrow":
            with pa.ipc.new_file(folder / f"{i}.arrow", piece.schema) as writer:
                writer.write_table(piece, max_chunksize=60)
        else:
            piece.to_pandas().to_csv(folder / f"{i}.csv", index=False)
    return folder


def lazy(folder):
    return pytest.importorskip("polars").from_arrow(arrow()).lazy()


def relation(folder):
    in_parts(folder / "duckdb", 2)
    return pytest.importorskip("duckdb").connect().read_parquet(str(folder / "duckdb" / "*.parquet"))


def dataset(folder):
    return pytest.importorskip("pyarrow.dataset").dataset(in_parts(folder / "dataset", 3))


def ibis(folder):
    return pytest.importorskip("ibis").polars.connect({"people": lazy(folder)}).table("people")


def ibis_of_duckdb(folder):
    library = pytest.importorskip("ibis", reason='needs Ibis: pip install "syntabula[warehouse]"')
    if int(pytest.importorskip("duckdb").__version__.split(".")[0]) > 1:
        pytest.skip("Ibis 12 cannot read by DuckDB 2")
    return library.duckdb.connect().read_parquet(str(in_parts(folder / "warehouse", 2) / "*.parquet"))


SOURCES = {
    "one part": lambda folder: in_parts(folder / "parts", 1),
    "seven parts and an empty one": lambda folder: in_parts(folder / "parts", 7, empty=True),
    "a pattern": lambda folder: str(in_parts(folder / "parts", 2) / "*.parquet"),
    "Arrow files": lambda folder: in_parts(folder / "parts", 2, suffix=".arrow"),
    "text files": lambda folder: in_parts(folder / "parts", 2, suffix=".csv"),
    "a LazyFrame": lazy,
    "a DuckDB relation": relation,
    "a dataset": dataset,
    "an Ibis table": ibis,
    "an Ibis table of DuckDB": ibis_of_duckdb,
}


def release_of(source, method=st.MST, **options) -> tuple[str, str]:
    """Return hashes of what a release's model and rows are."""
    with pytest.warns(CoercionWarning):
        release = method(seed=5, **options).fit(source, schema())
    with tempfile.TemporaryDirectory() as folder:
        release.save(Path(folder) / "release.syn")
        with zipfile.ZipFile(Path(folder) / "release.syn") as file:
            names = [name for name in sorted(file.namelist()) if name.endswith(".npy")]
            arrays = b"".join(map(file.read, names))
    rows = release.sample(200, seed=1)
    rows = rows if isinstance(rows, pd.DataFrame) else rows.to_pandas()
    rows["kind"] = rows["kind"].astype(object).where(rows["kind"].notna(), "missing")
    written = rows.assign(at=rows["at"].astype("datetime64[us]")).to_csv(index=False).encode()
    return hashlib.sha256(arrays).hexdigest(), hashlib.sha256(written).hexdigest()


@pytest.fixture(scope="module")
def in_memory():
    return release_of(frame())


class TestReleases:
    @pytest.mark.thorough
    @pytest.mark.parametrize("source", SOURCES)
    def test_are_those_of_the_table_in_memory(self, source, tmp_path, in_memory):
        assert release_of(SOURCES[source](tmp_path)) == in_memory

    @pytest.mark.thorough
    def test_of_two_processes_are_those_of_one(self, tmp_path, in_memory):
        assert release_of(in_parts(tmp_path / "parts", 3), workers=2) == in_memory

    @pytest.mark.parametrize("method", [st.AIM, st.RAP])
    @pytest.mark.thorough
    def test_of_other_methods_are_those_of_the_table_in_memory(self, method, tmp_path):
        few = {"bins": 8}

        in_parts_of = release_of(in_parts(tmp_path / "parts", 3), method, **few)

        assert in_parts_of == release_of(frame(), method, **few)

    @pytest.mark.parametrize(
        "options",
        [
            {"epsilon": float("inf"), "bins": 9},
            {"bins": 6, "preprocessing": st.Preprocessing(discretizer="quantile", within="normal")},
            {"bins": 4, "preprocessing": st.Preprocessing(discretizer="kmeans", atoms="declared")},
        ],
    )
    @pytest.mark.thorough
    def test_whose_values_are_too_many_to_hold_are_those_of_the_table_in_memory(
        self, options, tmp_path, monkeypatch
    ):
        right = release_of(frame(), **options)
        monkeypatch.setattr(Expected, "most", 10)

        assert release_of(in_parts(tmp_path / "parts", 3), **options) == right

    @pytest.mark.thorough
    def test_differ_if_a_part_is_counted_twice(self, tmp_path, in_memory, monkeypatch):
        """A planted bug, which the comparisons above have to find."""
        right = RawParts.fold

        def twice(self, fold):
            state = right(self, fold)
            fold.merge(state, right(RawParts(self.container, self.schema, self.parts[:1]), fold))
            return state

        monkeypatch.setattr(RawParts, "fold", twice)
        assert release_of(in_parts(tmp_path / "parts", 2)) != in_memory


RULES = st.Rules(
    derive={"total": "paid_in + fee"},
    order=[("asked", "given")],
    require=["fee <= 40 OR kind = 'red'"],
    together=[("fee", "note")],
)


def ruled() -> st.Schema:
    return st.Schema(
        {
            "kind": st.Categorical(("red", "blue")),
            "paid_in": st.Numeric(0, 200, integer=True),
            "fee": st.Numeric(0, 50, integer=True, nullable=True),
            "note": st.Categorical(("a", "b"), nullable=True),
            "total": st.Numeric(0, 250, integer=True, nullable=True),
            "asked": st.Date(date(2024, 1, 1), date(2024, 12, 31)),
            "given": st.Date(date(2024, 1, 1), date(2025, 12, 31)),
        },
        rules=RULES,
    )


def ruled_rows() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    asked = rng.integers(0, 300, N)
    fee = np.where(rng.random(N) < 0.2, None, rng.integers(0, 60, N))
    rows = {
        "kind": rng.choice(["red", "blue"], N),
        "paid_in": rng.integers(0, 200, N),
        "fee": fee,
        "note": np.where(fee == None, None, rng.choice(["a", "b"], N)),  # noqa: E711
        "asked": [date(2024, 1, 1) + timedelta(days=int(d)) for d in asked],
        "given": [date(2024, 1, 1) + timedelta(days=int(d)) for d in asked + rng.integers(-3, 99, N)],
    }
    return pd.DataFrame(rows).assign(fee=pd.array(fee, dtype="Int64"))


def fitted_by_rules(source, declared=None, **options) -> tuple[str, set[str]]:
    """Return the rows of a release with rules, and what the fit warned of."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        release = st.MST(seed=5, **options).fit(source, declared or ruled())
        rows = release.sample(100, seed=1)
    rows = rows if isinstance(rows, pd.DataFrame) else rows.to_pandas()
    return rows.astype(str).to_csv(index=False), {str(w.message) for w in said}


class TestRules:
    @pytest.mark.thorough
    def test_without_an_order_are_those_of_the_table_in_memory(self, tmp_path):
        kept = ["age", "paid"]
        rules = st.Rules(require=["age <> 7 or not paid"])
        declared = st.Schema({name: schema()[name] for name in kept}, rules=rules)
        pq.write_table(arrow().select(kept), tmp_path / "rows.parquet")
        counts = []
        for table in (str(tmp_path / "*.parquet"), frame()[kept]):
            with pytest.warns(CoercionWarning):
                counts.append(st.MST(seed=1).fit(table, declared).marginals([("age", "paid")])[0])

        assert (counts[0] == counts[1]).all()

    def parted(self, folder, n_parts: int, rows: pd.DataFrame):
        folder.mkdir()
        for i, piece in enumerate(np.array_split(np.arange(len(rows)), n_parts)):
            table = pa.Table.from_pandas(rows.iloc[piece], preserve_index=False)
            pq.write_table(table, folder / f"{i}.parquet")
        return folder

    @pytest.mark.thorough
    def test_of_one_and_of_two_processes_are_those_of_the_table_in_memory(self, tmp_path):
        rows = ruled_rows()
        # A single small file is read into memory.
        right, said = fitted_by_rules(self.parted(tmp_path / "file", 1, rows) / "0.parquet")

        for n_parts in (2, 7):
            folder = self.parted(tmp_path / str(n_parts), n_parts, rows)
            assert fitted_by_rules(folder) == (right, said)
        assert fitted_by_rules(tmp_path / "2", workers=2) == (right, said)
        assert any("rules that some rows of the table break" in sentence for sentence in said)
        assert "total" in right.splitlines()[0]

    @pytest.mark.thorough
    @pytest.mark.parametrize(
        ("suffix", "derived"), [(".parquet", "absent"), (".csv", "present"), (".jsonl", "absent")]
    )
    def test_beside_undeclared_columns_are_those_of_the_file(self, suffix, derived, tmp_path):
        rng = np.random.default_rng(8)
        rows = ruled_rows().assign(
            size=rng.integers(0, 90, N),
            city=rng.choice(["east", "west"], N),
            seen=rng.normal(size=N).round(2),
        )
        if derived == "present":
            # Some rows break the rule.
            rows.insert(2, "total", rows["paid_in"] + rows["fee"] + (rng.random(N) < 0.1))
        (tmp_path / "parts").mkdir()
        for i, place in enumerate([np.arange(N), *np.array_split(np.arange(N), 3)]):
            path = tmp_path / ("all" if i == 0 else f"parts/{i}")
            piece = rows.iloc[place]
            if suffix == ".parquet":
                pq.write_table(pa.Table.from_pandas(piece, preserve_index=False), path.with_suffix(suffix))
            elif suffix == ".csv":
                piece.to_csv(path.with_suffix(suffix), index=False)
            else:
                days = piece.astype({"asked": str, "given": str})
                days.to_json(path.with_suffix(suffix), orient="records", lines=True)
        declared = st.Schema(ruled().columns, rules=RULES, others="find")

        whole, of_file = fitted_by_rules(tmp_path / f"all{suffix}", declared)
        rows_in_parts, said = fitted_by_rules(tmp_path / "parts", declared)

        assert rows_in_parts == whole
        assert said == of_file
        assert any(
            ("total = " in sentence) == (derived == "present") for sentence in said if "break" in sentence
        )
        assert {"total", "size", "city"} <= set(whole.splitlines()[0].split(","))

    @pytest.mark.thorough
    def test_that_rows_break_are_refused_in_strict_reading_before_the_first_spend(self, tmp_path):
        with pytest.raises(DataError, match=r"strict reading failed.*rules that some rows"):
            st.MST(journal=tmp_path / "journal").fit(
                self.parted(tmp_path / "parts", 2, ruled_rows()), ruled(), strict=True
            )

        assert "spend" not in (tmp_path / "journal").read_text()

    def test_of_a_file_without_a_column_name_both(self, tmp_path):
        folder = self.parted(tmp_path / "parts", 2, ruled_rows())
        pq.write_table(
            pa.Table.from_pandas(ruled_rows().drop(columns="asked"), preserve_index=False),
            folder / "later.parquet",
        )

        with pytest.raises(SchemaError, match=r"later\.parquet.*no column 'asked'"):
            st.MST().fit(folder, ruled())


def undeclared_rows(n: int = N) -> pd.DataFrame:
    """Return rows with a key, texts that repeat and others that do not, and values of each kind."""
    rng = np.random.default_rng(6)
    return frame(n).assign(
        order_id=np.arange(n) + 10_000,
        name=[f"name {i}" for i in rng.permutation(n)],
        day=[date(2020, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 90, n)],
        ratio=np.append(rng.gamma(2, 30, n - 1).round(1), np.inf),
        exact=rng.normal(size=n),
    )


def found_in(source, declared=None, **options) -> tuple[str, str, str]:
    """Return the schema, a hash of the model, and the rows of a release of which nothing, or little, is declared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = st.MST(seed=5, epsilon=20.0, **options).fit(source, declared)
        with tempfile.TemporaryDirectory() as folder:
            release.save(Path(folder) / "release.syn")
            with zipfile.ZipFile(Path(folder) / "release.syn") as file:
                names = [name for name in sorted(file.namelist()) if name.endswith(".npy")]
                arrays = b"".join(map(file.read, names))
        rows = release.sample(50, seed=1)
    rows = rows if isinstance(rows, pd.DataFrame) else rows.to_pandas()
    schema = str(release.schema.to_json())
    return schema, hashlib.sha256(arrays).hexdigest(), rows.astype(str).to_csv(index=False)


def undeclared_in_parts(folder, n_parts: int) -> tuple[Path, Path]:
    """Return a file of all rows, and a folder of files of some each."""
    folder.mkdir()
    (folder / "parts").mkdir()
    table = pa.Table.from_pandas(undeclared_rows(), preserve_index=False)
    pq.write_table(table, folder / "all.parquet")
    cuts = [N * i // n_parts for i in range(n_parts + 1)]
    for i, (a, b) in enumerate(itertools.pairwise(cuts)):
        pq.write_table(table.slice(a, b - a), folder / "parts" / f"{i}.parquet", row_group_size=90)
    return folder / "all.parquet", folder / "parts"


@pytest.fixture(scope="module")
def of_file(tmp_path_factory):
    return found_in(undeclared_in_parts(tmp_path_factory.mktemp("whole") / "rows", 1)[0])


class TestWithoutASchema:
    @pytest.mark.thorough
    def test_releases_are_those_of_the_table_in_memory(self, tmp_path, of_file):
        assert found_in(undeclared_in_parts(tmp_path / "rows", 7)[1]) == of_file
        assert all(
            kind in of_file[0] for kind in ("categorical", "identifier", "'blue'", "boolean", "datetime")
        )

    def test_values_beyond_bounds_that_were_found_are_not_told_of_and_pass_strict_reading(self, tmp_path):
        rows = pd.DataFrame({"size": [*range(2, 2 * N, 2), 10**9]})
        pq.write_table(pa.Table.from_pandas(rows), tmp_path / "0.parquet")

        # Warnings are errors in all tests.
        release = st.MST(seed=5, epsilon=5.0).fit(tmp_path, strict=True)

        assert release.schema["size"].upper < 10**9

    @pytest.mark.thorough
    def test_of_columns_with_too_many_values_to_hold_they_are_too(self, tmp_path, of_file, monkeypatch):
        monkeypatch.setattr(Expected, "most", 10)
        monkeypatch.setitem(found_parts.__kwdefaults__, "most", 3)

        assert found_in(undeclared_in_parts(tmp_path / "rows", 2)[1]) == of_file

    @pytest.mark.thorough
    def test_of_two_processes_they_are_too(self, tmp_path, of_file, monkeypatch):
        monkeypatch.setitem(found_parts.__kwdefaults__, "most", 30)

        assert found_in(undeclared_in_parts(tmp_path / "rows", 3)[1], workers=2) == of_file

    @pytest.mark.thorough
    def test_with_some_columns_declared_they_are_too(self, tmp_path):
        file, folder = undeclared_in_parts(tmp_path / "rows", 2)
        declared = st.Schema({"age": st.Numeric(0, 400, integer=True)}, others="find")

        assert found_in(folder, declared) == found_in(file, declared)

    def test_of_texts_that_are_numbers_they_are_too_without_a_budget(self, tmp_path, monkeypatch):
        rng = np.random.default_rng(0)
        rows = pd.DataFrame(
            {
                "euro": [f"{v:,.2f} €".translate({44: ".", 46: ","}) for v in rng.uniform(0, 9999, N)],
                "share": [None if v > 95 else f"{v} %" for v in rng.integers(0, 100, N)],
                "plain": [f"{v:.1f}" for v in rng.uniform(0, 9, N)],
                # One cell that is no number keeps all texts.
                "mixed": [*(f"${v}" for v in rng.integers(0, 90, N - 1)), "some"],
                "city": rng.choice(["a", "b"], N),
            }
        )
        (tmp_path / "parts").mkdir()
        rows.to_parquet(tmp_path / "all.parquet", index=False)
        for i in range(3):
            rows[i::3].to_parquet(tmp_path / "parts" / f"{i}.parquet", index=False)

        def learned_of(source, **options):
            release = st.MST(epsilon=math.inf, seed=1, **options).fit(source)
            drawn = release.sample(50, seed=1)
            drawn = drawn if isinstance(drawn, pd.DataFrame) else drawn.to_pandas()
            return str(release.schema.to_json()), drawn.astype(str).to_csv(index=False)

        whole = learned_of(tmp_path / "all.parquet")
        assert learned_of(tmp_path / "parts") == whole
        assert learned_of(tmp_path / "parts", workers=2) == whole
        assert [whole[0].count(f"'kind': '{kind}'") for kind in ("numeric", "categorical")] == [2, 3]
        assert all(sign in whole[1] for sign in (",", "€", "%"))
        monkeypatch.setattr(written_parts, "MOST_TEXTS_HELD", 10)
        with pytest.warns(CoercionWarning, match="has more than 10 different texts"):
            assert learned_of(tmp_path / "parts")[0] != whole[0]

    @pytest.mark.parametrize("most", [pytest.param(3, marks=pytest.mark.thorough), 10_000])
    def test_of_decimals_they_are_too(self, most, tmp_path, monkeypatch):
        rng = np.random.default_rng(1)
        cents = [
            None if i % 9 == 0 else Decimal(int(c)) / 100 for i, c in enumerate(rng.integers(0, 9000, N))
        ]
        table = pa.table(
            {
                "price": pa.array(cents, pa.decimal128(9, 2)),
                "whole": pa.array([Decimal(int(v)) for v in rng.gamma(2, 40, N)], pa.decimal128(25, 0)),
                "wide": pa.array([Decimal(2**60) + i % 7 for i in range(N)], pa.decimal128(25, 0)),
            }
        )
        pq.write_table(table, tmp_path / "all.parquet")
        (tmp_path / "parts").mkdir()
        for i in range(3):
            pq.write_table(table.slice(i * N // 3, N // 3 + 1 - (i < 2)), tmp_path / "parts" / f"{i}.parquet")
        whole = found_in(tmp_path / "all.parquet")
        monkeypatch.setitem(found_parts.__kwdefaults__, "most", most)

        assert found_in(tmp_path / "parts") == whole

    def test_of_decimals_too_fine_for_floats_are_refused(self, tmp_path):
        table = pa.table({"price": pa.array([Decimal("0.123456789")], pa.decimal128(20, 9))})
        pq.write_table(table, tmp_path / "0.parquet")

        with pytest.raises(SchemaError, match="'price' is stored as"):
            st.MST().fit(tmp_path)

    @pytest.mark.parametrize("kind", ["a LazyFrame", "a DuckDB relation", "a dataset"])
    @pytest.mark.thorough
    def test_of_other_libraries_they_are_those_of_the_frame_that_is_read_whole(self, kind, tmp_path):
        source = SOURCES[kind](tmp_path)
        whole = {
            "a LazyFrame": lambda: source.collect(),
            "a DuckDB relation": lambda: source.to_arrow_table(),
            "a dataset": lambda: source.to_table(),
        }[kind]()

        assert found_in(source)[:2] == found_in(whole)[:2]


def text_in_parts(folder, n_parts: int, **form) -> tuple[Path, Path]:
    """Return a text file of all rows, and a folder of files of some each."""
    folder.mkdir()
    (folder / "parts").mkdir()
    rows = undeclared_rows().assign(spaced=lambda t: t["day"].astype(str).str.replace("-", "/"))
    rows = rows[["order_id", "kind", "amount", "age", "paid", "at", "name", "spaced"]]
    rows.to_csv(folder / "all.csv", index=False, **form)
    for i, place in enumerate(np.array_split(np.arange(N), n_parts)):
        rows.iloc[place].to_csv(folder / "parts" / f"{i}.csv", index=False, **form)
    return folder / "all.csv", folder / "parts"


@pytest.fixture(scope="module")
def of_text(tmp_path_factory):
    return found_in(text_in_parts(tmp_path_factory.mktemp("text") / "rows", 1)[0])


class TestTextWithoutASchema:
    @pytest.mark.thorough
    def test_releases_are_those_of_the_file(self, tmp_path, of_text):
        assert found_in(text_in_parts(tmp_path / "rows", 3)[1]) == of_text
        assert all(kind in of_text[0] for kind in ("'blue'", "boolean", "datetime", "%Y/%m/%d", "integer"))

    @pytest.mark.thorough
    def test_with_another_form_and_some_columns_declared_they_are_too(self, tmp_path):
        file, folder = text_in_parts(tmp_path / "rows", 2, sep=";", decimal=",")
        declared = st.Schema({"age": st.Numeric(0, 400, integer=True)}, others="find")

        assert found_in(folder, declared) == found_in(file, declared)

    @pytest.mark.thorough
    def test_of_two_processes_and_of_too_many_values_to_hold_they_are_too(
        self, tmp_path, monkeypatch, of_text
    ):
        _, folder = text_in_parts(tmp_path / "rows", 2)

        assert found_in(folder, workers=2) == of_text
        monkeypatch.setattr(Expected, "most", 10)
        monkeypatch.setitem(found_parts.__kwdefaults__, "most", 3)
        assert found_in(folder) == of_text

    @pytest.mark.thorough
    def test_of_persons_they_are_too(self, tmp_path):
        file, folder = text_in_parts(tmp_path / "rows", 3)
        for path in (file, *folder.iterdir()):
            rows = pd.read_csv(path, dtype=str, keep_default_na=False)
            rows.assign(who=rows["order_id"].astype(int) % 150).to_csv(path, index=False)
        declared = st.Schema({"who": st.Identifier()}, others="find", unit="who", rows_per_unit=3)

        assert found_in(folder, declared) == found_in(file, declared)


JSON_ROWS = [
    {
        "kind": "a",
        "late": 1,
        "size": 3,
        "day": "2024-01-05",
        "when": "2024-01-05T10:00:00Z",
        "mixed": "2024-01-05",
    },
    {
        "kind": "b",
        "size": None,
        "flag": True,
        "mixed": "no day",
        "wide": 2**63 + 5,
        "when": None,
        "empty": None,
    },
    {"late": 2, "kind": "a", "size": 2.5, "flag": False, "day": None, "wide": 7, "code": "007"},
]


def json_in_parts(folder, n_parts: int) -> tuple[Path, Path]:
    """Return a JSON file of all rows, and a folder of files, in which types show in some files alone."""
    (folder / "parts").mkdir(parents=True)
    rng = np.random.default_rng(2)
    lines = [
        # The kinds of rows follow each other, so that most files have one of them.
        json.dumps(JSON_ROWS[3 * i // N] | {"age": int(rng.integers(20, 60)), "city": f"city {i % 3}"}) + "\n"
        for i in range(N)
    ]
    (folder / "all.jsonl").write_text("".join(lines))
    for i, place in enumerate(np.array_split(np.arange(N), n_parts)):
        (folder / "parts" / f"{i}.jsonl").write_text("".join(lines[j] for j in place))
    return folder / "all.jsonl", folder / "parts"


class TestJsonWithoutASchema:
    @pytest.mark.thorough
    def test_releases_are_those_of_the_file(self, tmp_path):
        file, folder = json_in_parts(tmp_path / "rows", 5)

        assert found_in(folder) == found_in(file)

    @pytest.mark.thorough
    def test_types_are_those_of_the_file(self, tmp_path):
        file, folder = json_in_parts(tmp_path / "rows", 4)
        whole = read(file)
        parts = parts_of(folder, None)

        assert parts.names == tuple(whole.columns)
        assert {n: s.physical for n, s in parts.stored.items()} == {
            n: c.physical for n, c in whole.columns.items()
        }
        assert {n: s.kind for n, s in parts.stored.items()} == {
            n: c.values.dtype for n, c in whole.columns.items()
        }
        for name, column in whole.columns.items():
            pieces = [piece.columns[name] for piece in parts.pieces()]
            missing = np.concatenate([piece.missing for piece in pieces])
            assert (missing == column.missing).all()
            values = np.concatenate([piece.values for piece in pieces])
            assert (values == column.values)[~missing].all()

    @pytest.mark.thorough
    def test_with_persons_and_some_columns_declared_they_are_too(self, tmp_path):
        file, folder = json_in_parts(tmp_path / "rows", 3)
        declared = st.Schema(
            {"age": st.Identifier(integer=True), "size": st.Numeric(0, 9)},
            others="find",
            unit="age",
            rows_per_unit=2,
        )

        assert found_in(folder, declared) == found_in(file, declared)

    def test_of_empty_files_say_what_to_do(self, tmp_path):
        (tmp_path / "0.jsonl").write_text("")

        with pytest.raises(DataError, match="one object per line"):
            st.MST().fit(tmp_path)


class TestCounts:
    @pytest.mark.parametrize("source", SOURCES)
    def test_and_what_did_not_fit_are_equal(self, source, tmp_path):
        codec = Codec.plan(schema(), bins=9)
        rows, coercions = codec.encode(read(frame(), schema()))
        cliques = [c for k in range(4) for c in all_cliques(codec.domain.columns, k)]
        parts = EncodedParts(parts_of(SOURCES[source](tmp_path), schema()), codec)

        found = PassEngine(parts, codec.domain).counts(cliques)

        for counts, right in zip(found, MemoryEngine(rows).counts(cliques), strict=True):
            assert (counts == right).all()
        assert parts.coercions == coercions
        assert parts.coercions.clipped["age"] == coercions.clipped["age"] > 0

    def test_of_a_part_that_is_repeated_are_multiples(self, tmp_path):
        codec = Codec.plan(schema(), bins=9)
        parts = parts_of(in_parts(tmp_path / "parts", 1), schema())
        again = RawParts(parts.container, parts.schema, tuple(RepeatedPart(p, 3) for p in parts.parts))

        once, thrice = (
            PassEngine(EncodedParts(p, codec), codec.domain).counts([("kind", "age")])[0]
            for p in (parts, again)
        )

        assert (thrice == 3 * once).all()
        assert again.n_rows == 3 * parts.n_rows


@dataclass(frozen=True)
class RepeatedPart:
    """A part that is read several times: every exact count is a multiple of that of the part."""

    part: Part
    times: int

    @property
    def place(self) -> str:
        return self.part.place

    def tables(self, schema: Schema | None, columns: Sequence[str] | None) -> Iterator[RawTable]:
        for _ in range(self.times):
            yield from self.part.tables(schema, columns)


def written_anew(folder: Path, suffix: str) -> None:
    """Write a file of the same size again."""
    file = folder / f"1{suffix}"
    content = file.read_bytes()
    # Clocks of file systems are coarse.
    time.sleep(0.02)
    file.write_bytes(content)


CHANGES = {
    "one more": lambda folder, suffix: shutil.copy(folder / f"0{suffix}", folder / f"9{suffix}"),
    "one gone": lambda folder, suffix: (folder / f"1{suffix}").unlink(),
    "one written anew": written_anew,
}


class TestRefusals:
    def fitted(self, source, declared=None, **options):
        return st.MST(seed=1, **options).fit(source, declared or schema())

    def test_of_a_file_that_lacks_a_column_name_both(self, tmp_path):
        folder = in_parts(tmp_path / "parts", 2)
        pq.write_table(arrow().drop_columns(["paid"]), folder / "later.parquet")

        for options in ({}, {"preprocessing": st.Preprocessing(discretizer="uniform"), "bins": 5}):
            with pytest.raises(SchemaError, match=r"later\.parquet.*no column 'paid'"):
                self.fitted(folder, **options)

    def test_of_a_dataset_whose_file_lacks_a_column_name_both(self, tmp_path):
        datasets = pytest.importorskip("pyarrow.dataset")
        folder = in_parts(tmp_path / "parts", 1)
        pq.write_table(arrow().drop_columns(["paid"]), folder / "later.parquet")

        with pytest.raises(DataError, match=r"later\.parquet.*'paid'"):
            self.fitted(datasets.dataset(folder))

    def test_of_text_files_with_other_columns_name_both_before_anything_is_spent(self, tmp_path):
        folder = in_parts(tmp_path / "parts", 2, suffix=".csv")
        arrow().to_pandas().drop(columns="paid").to_csv(folder / "later.csv", index=False)

        with pytest.raises(SchemaError, match=r"later\.csv' has no column 'paid'"):
            st.MST(journal=tmp_path / "journal").fit(folder)

        assert not (tmp_path / "journal").exists() or "spend" not in (tmp_path / "journal").read_text()

    def test_of_undeclared_columns_that_differ_between_files_name_both(self, tmp_path):
        folder = in_parts(tmp_path / "parts", 2)
        table = pq.read_table(folder / "1.parquet")
        texts = table.set_column(2, "age", table.column("age").cast(pa.string()))
        for other, said in ((texts, "'age' is stored as string"), (table.drop_columns(["paid"]), "'paid'")):
            pq.write_table(other, folder / "1.parquet")

            with pytest.raises(SchemaError, match=rf"1\.parquet.*{said}"):
                st.MST().fit(folder)

    def test_of_observed_domains_say_what_to_do(self, tmp_path):
        with pytest.raises(ArgumentError, match="leave out allow_observed"):
            st.MST(allow_observed=True).fit(in_parts(tmp_path / "parts", 1))

    def test_of_nothing_and_of_several_formats(self, tmp_path):
        (tmp_path / "empty").mkdir()
        with pytest.raises(DataError, match="holds no file"):
            self.fitted(tmp_path / "empty")
        with pytest.raises(DataError, match="holds no file"):
            self.fitted(str(tmp_path / "*.parquet"))
        folder = in_parts(tmp_path / "parts", 1)
        arrow().to_pandas().to_csv(folder / "more.csv", index=False)
        with pytest.raises(DataError, match="one format"):
            self.fitted(folder)

    @pytest.mark.thorough
    def test_of_a_damaged_file_show_no_cell(self, tmp_path):
        folder = in_parts(tmp_path / "parts", 2)
        written = (folder / "0.parquet").read_bytes()
        (folder / "0.parquet").write_bytes(written[:200] + b"secret cell" * 30 + written[530:])
        (folder / "1.parquet").write_bytes(b"PAR1 secret cell PAR1")

        with pytest.raises(DataError, match="damaged") as refused:
            self.fitted(folder)
        assert "secret" not in str(refused.value)

        (folder / "1.parquet").unlink()
        for workers in (1, 2):
            with pytest.raises(DataError, match=r"0\.parquet.*damaged") as refused:
                self.fitted(folder, workers=workers)
            assert "secret" not in f"{refused.value} {refused.value.__cause__!r}"
            assert refused.value.__suppress_context__ or refused.value.__context__ is None

    def test_of_a_folder_that_changes_between_passes(self, tmp_path):
        folder = in_parts(tmp_path / "parts", 2)
        parts = parts_of(folder, schema())
        assert parts.n_rows == N

        pq.write_table(arrow(), folder / "new.parquet")

        with pytest.raises(DataError, match=r"changed while it was read.*new\.parquet"):
            _ = [*parts.pieces()]

    @pytest.mark.thorough
    @pytest.mark.parametrize(
        ("change", "suffix"),
        [
            *((change, ".parquet") for change in CHANGES),
            *(("one written anew", suffix) for suffix in (".arrow", ".csv", ".jsonl")),
        ],
    )
    def test_of_files_that_change_between_two_questions_name_them(self, change, suffix, tmp_path):
        folder = in_parts(tmp_path / "parts", 3, suffix=".csv" if suffix == ".jsonl" else suffix)
        if suffix == ".jsonl":
            for file in folder.iterdir():
                pd.read_csv(file).to_json(file.with_suffix(suffix), orient="records", lines=True)
                file.unlink()
        journal = tmp_path / "journal"

        def changing(step, done):
            # The bins are fitted between two passes.
            if step.startswith("fit the bins") and not (tmp_path / "done").exists():
                (tmp_path / "done").touch()
                CHANGES[change](folder, suffix)

        with pytest.raises(
            DataError, match=rf"the table changed while it was read: '.*[19]\{suffix}' is not"
        ):
            self.fitted(folder, journal=journal, progress=changing)

        assert (tmp_path / "done").exists()
        # What was spent until then stays spent.
        assert '"spend"' in journal.read_text()

    def test_of_a_folder_that_is_gone_later(self, tmp_path):
        folder = in_parts(tmp_path / "parts", 1)
        for source in (folder, str(folder / "*.parquet")):
            parts = parts_of(source, schema())
            folder.rename(tmp_path / "elsewhere")
            with pytest.raises(DataError, match=r"changed while it was read.*0\.parquet"):
                _ = [*parts.pieces()]
            (tmp_path / "elsewhere").rename(folder)

    def test_of_a_dataset_whose_file_is_written_anew(self, tmp_path):
        folder = in_parts(tmp_path / "parts", 2)
        parts = parts_of(pytest.importorskip("pyarrow.dataset").dataset(folder), schema())
        assert sum(piece.n_rows for piece in parts.pieces()) == N

        rows = pq.read_table(folder / "1.parquet")
        pq.write_table(rows.slice(1).slice(0), folder / "1.parquet")

        with pytest.raises(DataError, match=r"changed while it was read.*1\.parquet"):
            _ = [*parts.pieces()]

    def test_of_a_stream_that_gives_other_records_later(self):
        polars = pytest.importorskip("polars")
        begun = []

        def growing(rows):
            begun.append(1)
            return polars.concat([rows] * len(begun)) if rows.height else rows

        frames = polars.from_arrow(arrow()).lazy().map_batches(growing)
        parts = parts_of(frames, schema())

        with pytest.raises(DataError, match="did not find the records"):
            _ = [*parts.pieces(), *parts.pieces(), *parts.pieces()]

    def test_of_strict_reading_come_before_the_first_spend(self, tmp_path):
        with pytest.raises(DataError, match=r"strict reading failed.*'age'"):
            st.MST(seed=1, bins=5, preprocessing=st.Preprocessing(discretizer="uniform")).fit(
                in_parts(tmp_path / "parts", 2), schema(), strict=True
            )

    @pytest.mark.thorough
    def test_of_a_worker_that_is_killed_say_that_memory_may_have_ended(self, tmp_path):
        from syntabula.errors import ResourceError

        parts = parts_of(in_parts(tmp_path / "parts", 2), schema(), workers=2)
        with pytest.raises(ResourceError, match="fewer workers"):
            parts.fold(_Killing())


class _Killing:
    """A fold whose process ends at once, as the system ends one that takes too much memory."""

    def start(self):
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)


class TestTypes:
    @pytest.mark.thorough
    def test_that_differ_between_files_are_read_as_declared(self, tmp_path, in_memory):
        folder = in_parts(tmp_path / "parts", 2)
        place = folder / "1.parquet"
        table = pq.read_table(place)
        at = table.column_names.index("age")
        texts = table.column("age").cast(pa.string())
        pq.write_table(table.set_column(at, "age", texts), place)

        assert release_of(folder) == in_memory
