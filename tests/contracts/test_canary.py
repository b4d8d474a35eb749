"""No cell of a sensitive table is found in anything that a run leaves behind, for every registered method.

Unique texts and numbers are planted in a table (reliability of artifacts, section C.8). A fit is made, saved,
sampled, logged at level DEBUG and made to fail in many ways; then all of it is searched: files, unpacked and
decoded, statements, plans, journals, warnings, messages and tracebacks.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import json
import logging
import traceback
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from canaries import COUNT, NAMES, REALS, TEXTS, WHOLES, found_in
from small_settings import small_parts, small_words

import syntabula as st
from syntabula.cli.main import main
from syntabula.errors import SyntabulaError
from syntabula.marginals.counting import MemoryEngine
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.journal import Journal
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.table.coding.codec import Codec
from syntabula.table.read import read

N = len(NAMES)

SCHEMA = st.Schema(
    {
        "who": st.Identifier(prefix="row"),
        "note": st.Categorical(("red", "green"), nullable=True),
        "place": st.Categorical(("north", "south"), open=True),
        "level": st.Numeric(0.0, 1000.0),
        "score": st.Numeric(0, 100, integer=True),
        "day": st.Date(dt.date(2000, 1, 1), dt.date(2020, 1, 1), nullable=True),
    }
)


def table() -> pd.DataFrame:
    """A table whose texts, reals and out-of-bounds integers are canaries in a part of its cells."""
    rng = np.random.default_rng(0)
    note = rng.choice(["red", "green"], N).astype(object)
    place = rng.choice(["north", "south"], N).astype(object)
    level, score = rng.uniform(0, 1000, N), rng.integers(0, 101, N)
    at = rng.permutation(N)[:COUNT]
    note[at], place[(at + 1) % N], level[at], score[at] = TEXTS, TEXTS, REALS, WHOLES
    return pd.DataFrame(
        {
            "who": NAMES,
            "note": note,
            "place": place,
            "level": level,
            "score": score,
            "day": pd.Timestamp("2005-03-01") + pd.to_timedelta(rng.integers(0, 900, N), unit="D"),
        }
    )


def make(method: str, **options: Any) -> Any:
    """Make a synthesizer with those of the options that it has."""
    kind = st.synthesizer(method)
    known = {f.name for f in dataclasses.fields(kind)}
    chosen = {"epsilon": 8.0, "delta": 1e-6} | small_parts(method) | options
    return kind(**{k: v for k, v in chosen.items() if k in known})


def search(folder: Path) -> list[str]:
    return [
        name for path in sorted(folder.rglob("*")) if path.is_file() for name in found_in(path.read_bytes())
    ]


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG)
    return caplog


class TestSearch:
    """A search that finds nothing shows nothing, unless it finds what is there."""

    def test_it_finds_what_is_planted(self) -> None:
        cases = [
            lambda: f"the value {TEXTS[3]} is odd".encode(),
            lambda: TEXTS[3].encode("utf-16-le"),
            lambda: json.dumps({"x": base64.b64encode(f"--{TEXTS[3]}--".encode()).decode()}).encode(),
            lambda: f"{REALS[3]!r}".encode(),
            lambda: f"{WHOLES[3]}".encode(),
            lambda: np.array([1.0, REALS[3]]).tobytes(),
            lambda: np.array([1, WHOLES[3]], dtype=">i8").tobytes(),
            lambda: np.array([1.0, WHOLES[3]]).tobytes(),
            lambda: base64.b64encode(np.array([5, WHOLES[3]]).tobytes()),
        ]
        for planted in cases:
            found = found_in(b"before " + planted() + b" after")

            assert len(found) == 1
            assert found[0] in (TEXTS[3], repr(REALS[3]), repr(WHOLES[3]))

    def test_it_looks_into_release_files(self, tmp_path: Path) -> None:
        from syntabula.synthesizers.release_file import write_release

        write_release(tmp_path / "double", {}, {"x": np.array([REALS[0]])})
        write_release(tmp_path / "single", {}, {"x": np.array([REALS[1]], dtype=np.float32)})
        write_release(tmp_path / "fact", {"categories": [TEXTS[2]]}, {})

        assert search(tmp_path) == [repr(REALS[0]), TEXTS[2], repr(REALS[1])]

    def test_it_finds_the_table_itself(self, tmp_path: Path) -> None:
        table().to_csv(tmp_path / "t.csv", index=False)

        assert len(search(tmp_path)) == len(NAMES) + 3 * COUNT


FIRST = ("auto", "mst")
# One of each way to ask for counts, and one of each way to train on records.
ARTIFACTS = [
    *("auto", "independent", "mst", "privsyn", "private-gsd", "privbayes", "privmrf", "gem", "rap++"),
    *("argn", "ctgan", "pategan", "synthpop", "tab-pe", "dp-merf"),
]
# Counts, features and votes.
DECLARED = (*FIRST, "dp-merf", "tab-pe")
# All methods share the command line, and how domains are found.
SHARED = (*FIRST, "argn", "pategan", "private-gsd")


@pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
class TestArtifacts:
    @pytest.mark.parametrize(
        ("method", "schema"),
        [
            *(
                pytest.param(
                    m,
                    SCHEMA,
                    id=f"{m}-declared",
                    marks=() if m in DECLARED else pytest.mark.thorough,
                )
                for m in ARTIFACTS
            ),
            pytest.param("mst", replace(SCHEMA, unit="who", rows_per_unit=3), id="mst-persons"),
            *(
                pytest.param(m, None, id=f"{m}-found", marks=() if m == "mst" else pytest.mark.thorough)
                for m in SHARED
            ),
        ],
    )
    def test_nothing_that_a_fit_leaves_holds_a_cell(
        self, method: str, schema: st.Schema | None, tmp_path: Path, log: pytest.LogCaptureFixture
    ) -> None:
        progress: list[str] = []
        synthesizer = make(
            method,
            seed=3,
            journal=tmp_path / "journal",
            progress=lambda step, done: progress.append(f"{step} {done}"),
        )

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            release = synthesizer.fit(table(), schema)
            release.save(tmp_path / "release.syn")
            loaded = st.load(tmp_path / "release.syn")
            for suffix in ("csv", "parquet", "jsonl.gz", "arrow"):
                loaded.sample_to(tmp_path / f"rows.{suffix}", 2_000, seed=5)
            frame = loaded.sample(2_000, seed=6)
        plan = synthesizer.plan(schema, N, physical=release.origin.physical)

        told = [
            plan.describe(),
            json.dumps(plan.to_json()),
            release.privacy.text(),
            repr(release),
            repr(loaded),
        ]
        told += [json.dumps(release.privacy.to_json()), repr(synthesizer), repr(release.codec), *progress]
        told += [str(w.message) for w in caught] + [repr(loaded.model), log.text, frame.to_csv()]
        assert progress
        assert len(list(tmp_path.iterdir())) >= 5
        assert found_in("\n".join(told).encode()) == []
        assert search(tmp_path) == []

    @pytest.mark.thorough
    @pytest.mark.parametrize("method", [*FIRST, "argn"])
    def test_the_command_line_tells_no_cell(
        self, method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], log: pytest.LogCaptureFixture
    ) -> None:
        inside, outside = tmp_path / "in", tmp_path / "out"
        inside.mkdir()
        outside.mkdir()
        table().to_csv(inside / "t.csv", index=False)
        SCHEMA.to_yaml(inside / "s.yaml")
        source, declared = str(inside / "t.csv"), ("--schema", str(inside / "s.yaml"))
        shared = ("--method", method, "--epsilon", "8", "--delta", "1e-6", *small_words(method))
        release = str(outside / "x.syn")

        codes = [
            main(["plan", source, *shared]),
            main(["plan", source, *shared, *declared, "--json"]),
            main(["synth", source, *shared, *declared, "-o", str(outside / "a.csv"), "--save", release]),
            main(["synth", source, *shared, "-o", str(outside / "b.csv"), "--json", "--seed", "1"]),
            main(["synth", source, *shared, *declared, "-o", str(outside / "c.csv"), "--strict"]),
            main(["synth", source, *shared, *declared, "-o", str(outside / "d.csv"), "--memory", "0.0001"]),
            main(["info", release]),
            main(["info", release, "--json"]),
            main(["sample", release, "--rows", "500", "-o", str(outside / "e.parquet")]),
        ]

        shown = capsys.readouterr()
        assert codes == [0, 0, 0, 0, 3, 5, 0, 0, 0]
        assert found_in((shown.out + shown.err + log.text).encode()) == []
        assert search(outside) == []


def altered(**columns: Any) -> pd.DataFrame:
    return table().assign(**columns)


def mixed() -> pd.DataFrame:
    frame = table()
    return frame.assign(note=[v if i % 2 else REALS[i % COUNT] for i, v in enumerate(frame["note"])])


def nested() -> pd.DataFrame:
    return altered(note=[[t] for t in NAMES])


def in_file(name: str, content: bytes) -> Callable[[Path], Any]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


def fits(source: Any, schema: st.Schema | None = SCHEMA, *, strict: bool = False, **options: Any) -> Any:
    def run(folder: Path) -> None:
        given = source(folder) if callable(source) else source
        made = {"seed": 1, "epsilon": 8.0} | options
        st.Independent(**made).fit(given, schema, strict=strict)

    return run


def with_column(name: str, column: Any) -> st.Schema:
    return SCHEMA.with_column(name, column)


CSV = table().to_csv(index=False).encode()
PARQUET_HEAD = b"PAR1" + TEXTS[0].encode() * 20


def journal_in_use(folder: Path) -> None:
    with Journal(folder / "journal"):
        fits(table(), journal=folder / "journal")(folder)


def full_journal(folder: Path) -> None:
    for _ in range(2):
        fits(table(), journal=folder / "journal")(folder)


def resumed_as_another(folder: Path) -> None:
    fits(table(), journal=folder / "journal", bins=5)(folder)
    fits(table(), journal=folder / "journal", bins=6, resume=True)(folder)


def saved_nowhere(folder: Path) -> None:
    st.Independent(epsilon=8.0, seed=1).fit(table(), SCHEMA).save(folder / "no" / "x.syn")


def written_in_no_format(folder: Path) -> None:
    st.Independent(epsilon=8.0, seed=1).fit(table(), SCHEMA).sample_to(folder / "x.ods", 5)


def wrong_rows(folder: Path) -> None:
    st.Independent(epsilon=8.0, seed=1).fit(table(), SCHEMA).sample(-1)


def loaded_from_a_table(folder: Path) -> None:
    st.load(in_file("t.csv", CSV)(folder))


FAILURES: dict[str, Callable[[Path], Any]] = {
    "strict, values outside the schema": fits(table(), strict=True),
    "a column of the schema is not in the table": fits(table().drop(columns="note")),
    "a column of the table is not in the schema": fits(altered(extra=NAMES)),
    "text declared as numbers": fits(table(), with_column("note", st.Numeric(0, 1)), strict=True),
    "text declared as dates": fits(
        table(), with_column("note", st.Date(dt.date(2000, 1, 1), dt.date(2001, 1, 1))), strict=True
    ),
    "numbers declared as text": fits(table(), with_column("level", st.Categorical(("a", "b"))), strict=True),
    "a column of mixed values": fits(mixed(), strict=True),
    "a column of mixed values without a schema": fits(mixed(), None),
    "a column of lists": fits(nested(), strict=True),
    "a column of lists in polars": fits(pl.DataFrame({"note": [[t] for t in TEXTS]}), None),
    "text with a lone surrogate": fits(
        altered(note=pd.Series([t + "\ud800" for t in NAMES], dtype=object)), strict=True
    ),
    "a column twice": fits(pd.concat([table(), table()[["note"]]], axis=1)),
    "column names that are numbers": fits(table().set_axis(range(6), axis=1)),
    "integers beyond 64 bits": fits(altered(score=[10**30 + WHOLES[0]] * N), strict=True),
    "bounds that noise hides": fits(table(), None, epsilon=0.001),
    "categories to find without a delta": fits(table(), None, budget=st.Budget.pure(1.0)),
    "too little memory": fits(table(), memory_mb=1e-4),
    "an observed schema": fits(table(), with_column("score", st.Numeric(0, 9, provenance="observed"))),
    "a table of a dictionary": fits({"note": TEXTS}),
    "a row with too many cells": fits(
        in_file("t.csv", CSV + b"a,b,c,d,e,f,g,h," + TEXTS[1].encode() + b"\n")
    ),
    "a row with too few cells": fits(in_file("t.csv", CSV + TEXTS[1].encode() + b",b\n")),
    "bytes that are no text": fits(
        in_file("t.csv", CSV + TEXTS[1].encode() + b"\xff\xfe,a,b,1,1,2000-01-01\n")
    ),
    "an open quote": fits(in_file("t.csv", CSV + b'"' + TEXTS[1].encode() + b",a,b\n")),
    "a line that is not JSON": fits(in_file("t.jsonl", b'{"note": "' + TEXTS[1].encode() + b"}\n")),
    "a JSON line that is a list": fits(in_file("t.jsonl", b'["' + TEXTS[1].encode() + b'"]\n')),
    "a damaged Parquet file": fits(in_file("t.parquet", PARQUET_HEAD)),
    "a damaged Arrow file": fits(in_file("t.arrow", b"ARROW1" + TEXTS[0].encode())),
    "a damaged gzip file": fits(in_file("t.csv.gz", TEXTS[0].encode())),
    "a journal in use": journal_in_use,
    "a journal that is full": full_journal,
    "a journal of another run": resumed_as_another,
    "a release saved nowhere": saved_nowhere,
    "rows written in no format": written_in_no_format,
    "a negative number of rows": wrong_rows,
    "a table loaded as a release": loaded_from_a_table,
}


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
def test_no_error_quotes_a_cell(tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    quoted = {}

    for number, (name, failing) in enumerate(FAILURES.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(SyntabulaError) as caught:
            failing(folder)
        error = caught.value
        # With the traceback come the messages of errors behind this one, where they are not cut off.
        told = "".join(traceback.format_exception(error)) + repr(error) + repr(error.args) + log.text
        if cells := found_in(told.encode()):
            quoted[name] = cells
        log.clear()

    assert quoted == {}


def test_objects_on_the_way_show_no_cell() -> None:
    raw = read(table())
    codec = Codec.plan(SCHEMA, bins=8)
    encoded, coercions = codec.encode(raw)
    curator = Curator(MemoryEngine(encoded), Ledger(st.Budget(epsilon=1.0, delta=1e-6)), SeededNoise(0))

    shown = [repr(x) for x in (raw, *raw.columns.values(), codec, encoded, coercions, curator)]
    shown += coercions.describe()

    assert coercions
    assert found_in("\n".join(shown).encode()) == []
    assert not any(str(N) in text for text in shown)
