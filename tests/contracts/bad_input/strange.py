"""Arguments, conditions, tables, release files and journals that are wrong in stranger ways than most."""

from __future__ import annotations

import datetime as dt
import math
import os
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import syntabula as st
from bad_input.matrix import CANARY_NUMBER, CANARY_TEXT, base, case, fit, refuses
from syntabula.errors import (
    ArgumentError,
    BudgetError,
    DataError,
    ReleaseFileError,
    ResourceError,
    SchemaError,
    SyntabulaError,
)

FRAME, SCHEMA = base()
Where = tuple[type[Exception], ...] | type[Exception]


def refused(group: str, what: str, call: Callable[[Path], Any], *words: str, error: Where) -> None:
    """State that a call is refused, with words in its message, and that it leaves nothing in its folder."""

    @case(group, what)
    @refuses(error, *words)
    def _(folder):
        before = files(folder)
        with pytest.raises(SyntabulaError) as told:
            call(folder)
        for unwanted in (CANARY_TEXT, str(CANARY_NUMBER), "\n"):
            assert unwanted not in str(told.value)
        assert files(folder) == before
        raise told.value


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def argument(what: str, call: Callable[[], Any], *words: str, error: Where = ArgumentError) -> None:
    refused("values", what, lambda _: call(), *words, error=error)


# Budgets and methods.
argument("an epsilon of bytes", lambda: st.MST(epsilon=b"1"), "epsilon", error=BudgetError)
argument("an epsilon that is a list", lambda: st.MST(epsilon=[1.0]), "epsilon", error=BudgetError)
argument("an epsilon that is complex", lambda: st.MST(epsilon=1 + 0j), "epsilon", error=BudgetError)
argument(
    "an epsilon below all floats", lambda: st.MST(epsilon=Fraction(1, 10**400)), "epsilon", error=BudgetError
)
argument(
    "an epsilon that is a signalling NaN",
    lambda: st.MST(epsilon=Decimal("sNaN")),
    "epsilon",
    error=BudgetError,
)
argument("an epsilon that is minus infinity", lambda: st.MST(epsilon=-math.inf), "epsilon", error=BudgetError)
argument(
    "an epsilon that is an array", lambda: st.MST(epsilon=np.array([1.0, 2.0])), "epsilon", error=BudgetError
)
argument("an epsilon that is a missing time", lambda: st.MST(epsilon=pd.NaT), "epsilon", error=BudgetError)
argument("an epsilon that is missing to pandas", lambda: st.MST(epsilon=pd.NA), "epsilon", error=BudgetError)
argument("a delta that is true", lambda: st.MST(delta=True), "delta", error=BudgetError)
argument("a delta of a fraction above 1", lambda: st.MST(delta=Fraction(3, 2)), "delta", error=BudgetError)
argument(
    "a delta that is no decimal number", lambda: st.MST(delta=Decimal("NaN")), "delta", error=BudgetError
)
argument("a pure budget of nothing", lambda: st.Budget.pure(0), "epsilon", error=BudgetError)
argument("a pure budget of text", lambda: st.Budget.pure("1"), "epsilon", error=BudgetError)
argument("a zCDP budget below 0", lambda: st.Budget.zcdp(-1.0, 1e-5), "rho", error=BudgetError)
argument("a zCDP budget of text", lambda: st.Budget.zcdp("0.5", 1e-5), "rho", error=BudgetError)
argument("a budget class instead of a budget", lambda: st.MST(budget=st.Budget), "budget")
argument("a seed below 0 of numpy", lambda: st.MST(seed=np.int8(-1)), "seed", "-1")
argument("a seed of a fraction", lambda: st.MST(seed=Fraction(7, 1) / 2), "seed", "7, 2")
argument("a seed that is a date", lambda: st.MST(seed=dt.date(2020, 1, 1)), "seed", "date(2020, 1, 1)")
argument("a seed of bytes", lambda: st.MST(seed=b"\x01"), "seed", "b'")
argument("bins below 2", lambda: st.MST(bins=1), "bins", "1")
argument("bins that are a list", lambda: st.MST(bins=[8]), "bins", "type list")
argument("bins of bytes", lambda: st.MST(bins=b"auto"), "bins", "b'auto'")
argument("a memory below 0", lambda: st.MST(memory_mb=-1), "memory_mb", "-1")
argument("a memory of more than 1e12", lambda: st.MST(memory_mb=10**400), "memory_mb", "megabytes")
argument("a memory that is complex", lambda: st.MST(memory_mb=4j), "memory_mb", "4j")
argument("a leave of the number 1", lambda: st.MST(allow_observed=1), "allow_observed", "1")
argument("a resume without a journal", lambda: st.MST(resume=True), "resume", "journal")
argument("a journal with a null character", lambda: st.MST(journal="a\0b"), "journal", "path")
argument("a journal that is a list", lambda: st.MST(journal=["a"]), "journal", "type list")
argument("a class of noise instead of one", lambda: st.MST(noise=dict), "noise", "type")
argument("an argument that no method has", lambda: st.MST(epsilom=1.0), "epsilom", "epsilon")
argument("an argument without its name", lambda: st.MST(1.0), "epsilon")
argument("a method by no name", lambda: st.synthesizer(""), "method")
argument("a method by a number", lambda: st.synthesizer(5), "5")
argument("a method by bytes", lambda: st.synthesizer(b"mst"), "mst")
argument("a share that is infinite", lambda: st.Preprocessing(share=math.inf), "share", "inf")
argument("a discretizer that is a number", lambda: st.Preprocessing(discretizer=3), "discretizer", "3")
argument("a theta that is complex", lambda: st.RareCategories(theta=1j), "theta", "1j")
argument("an option of no part", lambda: st.MST().with_options(nothing=1), "nothing")
argument("a plan of rows below 0", lambda: st.MST().plan(SCHEMA, -1), "n_rows", "-1")
argument("a plan of nothing", lambda: st.MST().plan(), "schema")

# Schemas made in Python.


def declared(what: str, call: Callable[[], Any], *words: str) -> None:
    refused("schema", what, lambda _: call(), *words, error=SchemaError)


declared("a bound that is complex", lambda: st.Numeric(0, 1j), "upper", "number")
declared("a bound of bytes", lambda: st.Numeric(b"0", 1), "lower", "number")
declared("a bound that is an array", lambda: st.Numeric(np.array([0, 1]), 2), "lower", "number")
declared("whole bounds beyond 64 bits", lambda: st.Numeric(0, 2**70, integer=True), "64")
declared("whole bounds of both signs beyond 64 bits", lambda: st.Numeric(-1, 2**64 - 1, integer=True), "64")
declared("a whole column with half bounds", lambda: st.Numeric(0.5, 9, integer=True), "lower", "whole")
declared("whole numbers with decimals", lambda: st.Numeric(0, 9, integer=True, decimals=2), "decimals")
declared("too many decimals", lambda: st.Numeric(0, 9, decimals=16), "decimals")
declared("decimals that are true", lambda: st.Numeric(0, 9, decimals=True), "decimals", "True")
declared("no point between bounds", lambda: st.Numeric(0.11, 0.14, decimals=1), "decimals", "bounds")
declared("decimals of huge bounds", lambda: st.Numeric(0, 1e15, decimals=9), "decimals")
declared("a usual range of one number", lambda: st.Numeric(0, 9, usual=5), "usual", "list of two numbers")
declared(
    "a usual range that is reversed", lambda: st.Numeric(0, 9, usual=(5, 2)), "usual", "smaller one first"
)
declared(
    "a usual range beyond the bounds", lambda: st.Numeric(0, 9, usual=(5, 20)), "usual", "within the bounds"
)
declared("a usual range of texts", lambda: st.Numeric(0, 9, usual=("1", "2")), "usual", "text")
declared("a step of 0", lambda: st.Numeric(0, 9, step=0), "step", "above 0")
declared("a step as text", lambda: st.Numeric(0, 9, step="0.5"), "step", "text")
declared("a step and decimals", lambda: st.Numeric(0, 9, step=0.5, decimals=1), "step", "drop decimals")
declared("a step beyond the bounds", lambda: st.Numeric(1, 9, step=100), "step", "smaller")
declared("atoms that are one number", lambda: st.Numeric(0, 9, atoms=5), "atoms", "list")
declared("an atom outside the bounds", lambda: st.Numeric(0, 9, atoms=[10]), "atom", "bounds")
declared("an atom off the grid", lambda: st.Numeric(0, 9, step=0.5, atoms=[0.3]), "atom", "steps of 0.5")
declared("an atom twice", lambda: st.Numeric(0, 9, atoms=[0, 0.0]), "atom", "once")
declared("bins of a column below 1", lambda: st.Numeric(0, 9, bins=0), "bins", "0")
declared("bins of a column as text", lambda: st.Numeric(0, 9, bins="8"), "bins", "'8'")
declared("nullable as text", lambda: st.Numeric(0, 9, nullable="yes"), "nullable", "'yes'")
declared("a provenance of no kind", lambda: st.Numeric(0, 9, provenance="guess"), "provenance")
declared("a category that is missing", lambda: st.Categorical(("a", None)), "category number 2")
declared("a category that is NaN", lambda: st.Categorical((1.0, math.nan)), "category number 2", "finite")
declared("a category that is a list", lambda: st.Categorical(("a", ["b"])), "category number 2", "list")
declared("a category of bytes", lambda: st.Categorical((b"a",)), "category number 1", "bytes")
declared("a category that is a lone surrogate", lambda: st.Categorical(("\ud800",)), "Unicode", "surrogates")
declared("categories that are a text", lambda: st.Categorical("abc"), "list", "text")
declared("categories of numbers that are equal", lambda: st.Categorical((0.0, -0.0)), "once")
declared("another label that is listed", lambda: st.Categorical(("other", "a"), open=True), "other_label")
declared("another label of another type", lambda: st.Categorical((1, 2), open=True), "other_label", "whole")
declared("a spelling that nobody uses", lambda: st.Boolean(spelling="on/off"), "spelling", "'on/off'")
declared("a spelling that is a list", lambda: st.Boolean(spelling=["y", "n"]), "spelling", "type list")
declared("an identifier of width 0", lambda: st.Identifier(width=0), "width", "0")
declared("a whole identifier with a prefix", lambda: st.Identifier(integer=True, prefix="p"), "prefix")
declared("a prefix with a lone surrogate", lambda: st.Identifier(prefix="\udfff"), "prefix", "Unicode")
declared("reversed days", lambda: st.Date(dt.date(2021, 1, 1), dt.date(2020, 1, 1)), "lower")
declared("days that are text", lambda: st.Date("2020-01-01", "2021-01-01"), "lower", "day")
moments = (dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1))
declared(
    "a resolution that is none", lambda: st.Datetime(*moments, resolution="week"), "resolution", "'week'"
)
declared("a zone that is nowhere", lambda: st.Datetime(*moments, timezone="Europe/Atlantis"), "Atlantis")
declared("a zone out of its folder", lambda: st.Datetime(*moments, timezone="../../etc/passwd"), "zone")
declared(
    "bounds with and without a zone",
    lambda: st.Datetime(moments[0], moments[1].replace(tzinfo=dt.UTC)),
    "zone",
)
declared("a schema of nothing", lambda: st.Schema({}), "column")
declared("a schema that is a list", lambda: st.Schema([("a", st.Boolean())]), "mapping")
declared("a schema of a class", lambda: st.Schema({"a": st.Boolean}), "'a'")
declared("a schema with a name that is no text", lambda: st.Schema({1: st.Boolean()}), "text")
declared("a schema with a name without characters", lambda: st.Schema({"": st.Boolean()}), "name")
declared("a schema with a name of a surrogate", lambda: st.Schema({"\ud800": st.Boolean()}), "Unicode")
declared(
    "a schema whose others are guessed", lambda: st.Schema({"a": st.Boolean()}, others="guess"), "others"
)
declared("a schema from a folder", lambda: st.Schema.from_yaml(os.sep), ".yaml")
declared("a column that a schema has not", lambda: SCHEMA["agee"], "agee", "age")

# What is asked of a release.
MADE: list[st.Release] = []


def made() -> st.Release:
    if not MADE:
        MADE.append(fit(FRAME, SCHEMA))
    return MADE[0]


def draw(
    what: str, call: Callable[[st.Release, Path], Any], *words: str, error: Where = ArgumentError
) -> None:
    refused("sampling", what, lambda folder: call(made(), folder), *words, error=error)


draw("conditions on no column", lambda r, _: r.sample(5, where={"agee": 5}), "agee", error=SchemaError)
draw(
    "conditions on a number", lambda r, _: r.sample(5, where={5: 5}), "5", error=(SchemaError, ArgumentError)
)
draw("a condition of a reversed range", lambda r, _: r.sample(5, where={"age": (40, 30)}), "'age'")
draw("a condition of a range of three", lambda r, _: r.sample(5, where={"age": (1, 2, 3)}), "'age'")
draw("a condition of infinity", lambda r, _: r.sample(5, where={"age": math.inf}), "'age'")
draw("a condition beyond the bounds", lambda r, _: r.sample(5, where={"age": (500, 600)}), "'age'")
draw("a condition of an unknown category", lambda r, _: r.sample(5, where={"job": "king"}), "'job'")
draw("a condition of half a whole number", lambda r, _: r.sample(5, where={"age": 30.5}), "'age'")
draw("a condition that is a function", lambda r, _: r.sample(5, where={"age": len}), "'age'")
draw("a condition that is a table", lambda r, _: r.sample(5, where=FRAME), "where")
draw("a condition of a surrogate", lambda r, _: r.sample(5, where={"job": "\ud800"}), "'job'")
draw("a condition of a huge number", lambda r, _: r.sample(5, where={"age": 10**400}), "'age'")
draw("a condition of bytes", lambda r, _: r.sample(5, where={"job": b"cook"}), "'job'")
draw("given and rows", lambda r, _: r.sample(5, given=FRAME[["job"]]), "given")
draw(
    "given and conditions of a column", lambda r, _: r.sample(where={"age": 30}, given=FRAME[["age"]]), "age"
)
draw(
    "given without columns",
    lambda r, _: r.sample(given=FRAME[[]]),
    "column",
    error=(DataError, ArgumentError),
)
draw(
    "given an unknown column",
    lambda r, _: r.sample(given=pd.DataFrame({"x": [1]})),
    "'x'",
    error=(SchemaError, ArgumentError),
)
draw("given a number", lambda r, _: r.sample(given=5), "int", error=(ArgumentError, DataError))
draw(
    "given a category that is none",
    lambda r, _: r.sample(given=pd.DataFrame({"job": [CANARY_TEXT]})),
    "'job'",
    error=(ArgumentError, DataError),
)
draw(
    "given a number beyond the bounds",
    lambda r, _: r.sample(given=pd.DataFrame({"income": [CANARY_NUMBER]})),
    "'income'",
    error=(ArgumentError, DataError),
)
draw("a probability of nothing", lambda r, _: r.probability(None), "where")
draw("a probability of an unknown column", lambda r, _: r.probability({"x": 1}), "'x'", error=SchemaError)
draw(
    "a marginal of a column twice",
    lambda r, _: r.marginals([("age", "age")]),
    "age",
    error=(ArgumentError, SchemaError),
)
draw("a file of no format", lambda r, f: r.sample_to(f / "out.ods", 5), ".ods")
draw("a file without a suffix", lambda r, f: r.sample_to(f / "out", 5), "out")
draw("a file that is a number", lambda r, _: r.sample_to(5, 5), "path", "5")
draw("a file that is a folder", lambda r, f: r.sample_to(f, 5), f"{''}", error=(ArgumentError, DataError))
draw("a file under a file", lambda r, f: r.sample_to(Path(__file__) / "o.csv", 5), "o.csv", error=DataError)
draw(
    "a file of a name that is too long",
    lambda r, f: r.sample_to(f / f"{'x' * 300}.csv", 5),
    "long",
    error=DataError,
)
draw("a file with a null character", lambda r, f: r.sample_to(f"{f}/a\0b.csv", 5), "path")
draw(
    "a release in a folder that is none",
    lambda r, f: r.save(f / "no" / "r.syn"),
    "no",
    error=ReleaseFileError,
)
draw("a release that is a folder", lambda r, f: r.save(f), "folder", error=ReleaseFileError)
draw(
    "a release with a null character",
    lambda r, f: r.save(f"{f}/a\0b"),
    "path",
    error=(ArgumentError, ReleaseFileError),
)

# Tables.


def refused_table(what: str, table: Callable[[], Any], *words: str, error: Where = DataError) -> None:
    refused(
        "types", what, lambda folder: fit(table(), SCHEMA, journal=folder / "journal"), *words, error=error
    )


refused_table("a dictionary", lambda: FRAME.to_dict("list"), "dict")
refused_table("a list of rows", lambda: FRAME.to_dict("records"), "list")
refused_table("an array", lambda: FRAME.to_numpy(), "ndarray")
refused_table("a column alone", lambda: FRAME["age"], "Series")
refused_table("a column of polars", lambda: pl.Series("age", [1]), "Series")
refused_table("a text of CSV", lambda: "age,income,job\n30,5,cook\n", error=(DataError, ArgumentError))
refused_table("bytes", lambda: b"age\n1\n", "bytes")
refused_table("a generator", lambda: (row for row in [1]), "generator")
refused_table("a class", lambda: pd.DataFrame, "type")
refused_table("names in two levels", lambda: pd.concat({"x": FRAME}, axis=1), "tuple")
refused_table("a name that is missing", lambda: FRAME.rename(columns={"age": None}), "name")
refused_table("a name that is a day", lambda: FRAME.rename(columns={"age": pd.Timestamp(0)}), "name")
refused_table(
    "names that differ by a space", lambda: FRAME.rename(columns={"age": "age "}), "'age'", error=SchemaError
)
# The cells of a lazy table are read after a journal is opened, so there is none.
refused(
    "types",
    "a lazy table that fails",
    lambda _: fit(
        pl.LazyFrame(FRAME.assign(job=CANARY_TEXT)).with_columns(pl.col("job").cast(pl.Int64)), SCHEMA
    ),
    "cannot be read",
    error=DataError,
)
refused_table(
    "an Arrow table with names twice",
    lambda: pa.table([pa.array([1]), pa.array([2])], names=["age", "age"]),
    "'age'",
)

# Paths that no file system can name, and arguments that were taken as they came.
argument("a schema file that is a number", lambda: st.Schema.from_yaml(5), "path", "5")
argument("a schema file with a null character", lambda: st.MST().fit(FRAME, "a\0.yaml"), "path")
argument("a schema written to a null character", lambda: SCHEMA.to_yaml("a\0.yaml"), "path")
argument("a schema written to a number", lambda: SCHEMA.to_yaml(5), "path", "5")
argument("a schema written to a surrogate", lambda: SCHEMA.to_yaml("\ud800.yaml"), "path")
argument("a journal named by a surrogate", lambda: st.MST(journal="\ud800"), "journal")
argument("a release file named by a surrogate", lambda: st.load("\ud800"), "path")
argument("a strictness that is text", lambda: st.MST().fit(FRAME, SCHEMA, strict="no"), "strict", "'no'")
argument("a strictness that is a number", lambda: st.MST().fit(FRAME, SCHEMA, strict=1), "strict", "1")
argument("metrics that are a number", lambda: st.evaluate(FRAME, FRAME, metrics=5), "metrics", "5")
draw("a table named by a surrogate", lambda r, _: r.sample_to("\ud800.csv", 5), "path")
draw("a saved release named by a surrogate", lambda r, _: r.save("\ud800"), "path")
draw("a file of 10**21 rows", lambda r, f: r.sample_to(f / "o.csv", 10**21), "rows", error=ResourceError)
