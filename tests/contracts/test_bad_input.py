"""The bad-input matrix: 96 cases, each a clear error or a right result (reliability of input, section C.5).

Each case is a function that either returns normally, having asserted that the result is right, or raises one
of our own errors; `refuses` states which and what its message must say. No message may hold a cell's value:
every table carries canary values that are searched for in all messages and warnings.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import stat
import warnings
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import (
    ArgumentError,
    BudgetError,
    CoercionWarning,
    DataError,
    ObservedDomainError,
    PrivacyWarning,
    PrivateDomainError,
    ReleaseFileError,
    ResourceError,
    SchemaError,
    SyntabulaError,
)

CANARY_TEXT = "zebra-canary-7731"
CANARY_NUMBER = 7731.0417

Case = Callable[[Path], None]
CASES: dict[str, tuple[str, Case]] = {}


def case(group: str, name: str) -> Callable[[Case], Case]:
    """Register a case under its group and name."""

    def register(function: Case) -> Case:
        assert name not in CASES, name
        CASES[name] = (group, function)
        return function

    return register


def base(n: int = 60) -> tuple[pd.DataFrame, st.Schema]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": np.round(rng.uniform(0, 100, n), 2),
            "job": rng.choice(["cook", "nurse", "judge"], n).astype(object),
        }
    )
    schema = st.Schema(
        {
            "age": st.Numeric(18, 90, integer=True, nullable=True),
            "income": st.Numeric(0.0, 100.0, decimals=2, nullable=True),
            "job": st.Categorical(("cook", "nurse", "judge"), nullable=True),
        }
    )
    return frame, schema


def fit(frame, schema=None, **options) -> st.Release:
    options = {"epsilon": 5.0, "delta": 1e-5, "seed": 1, "bins": 16} | options
    method = options.pop("method", st.MST)
    strict = options.pop("strict", False)
    return method(**options).fit(frame, schema, strict=strict)


def fit_observed(frame, **options) -> st.Release:
    return fit(frame, None, allow_observed=True, **options)


def assert_within(sample: pd.DataFrame, schema: st.Schema) -> None:
    """Assert that every value of a sample lies in the schema's domain."""
    assert list(sample.columns) == list(schema.columns)
    for name, column in schema.columns.items():
        present = sample[name].dropna()
        if not column.nullable:
            assert len(present) == len(sample), name
        if isinstance(column, st.Numeric):
            assert ((present >= column.lower) & (present <= column.upper)).all(), name
        elif isinstance(column, st.Categorical):
            allowed = set(column.categories) | ({column.other_label} if column.open else set())
            assert set(present) <= allowed, name


def with_cells(column: str, values: list, n: int = 60) -> tuple[pd.DataFrame, st.Schema]:
    frame, schema = base(n)
    cells = frame[column].tolist()
    cells[: len(values)] = values
    frame[column] = pd.Series(cells, dtype=object if column == "job" else None)
    return frame, schema


def refuses(error: type[Exception], *words: str) -> Callable[[Case], Case]:
    """Say that a case must raise this error, its message naming these words."""

    def wrap(function: Case) -> Case:
        def run(folder: Path) -> None:
            with pytest.raises(error) as caught:
                function(folder)
            message = str(caught.value)
            assert isinstance(caught.value, SyntabulaError)
            for word in words:
                assert word in message, f"{word!r} is not in: {message}"

        run.__name__ = function.__name__
        return run

    return wrap


# --- cells: 14 -------------------------------------------------------------------------------------------


@case("cells", "NaN in a number")
def _(folder):
    frame, schema = with_cells("income", [math.nan] * 20)
    sample = fit(frame, schema, epsilon=50.0).sample(600, seed=1)
    assert 0.2 < sample["income"].isna().mean() < 0.45
    assert_within(sample, schema)


@case("cells", "missing category")
def _(folder):
    frame, schema = with_cells("job", [None] * 20)
    sample = fit(frame, schema, epsilon=50.0).sample(600, seed=1)
    assert 0.2 < sample["job"].isna().mean() < 0.45
    assert_within(sample, schema)


@case("cells", "column all missing")
def _(folder):
    frame, schema = with_cells("job", [None] * 60)
    sample = fit(frame, schema, epsilon=50.0).sample(200, seed=1)
    assert sample["job"].isna().mean() > 0.8
    assert_within(sample, schema)


@case("cells", "plus and minus infinity")
def _(folder):
    frame, schema = with_cells("income", [math.inf, -math.inf])
    with pytest.warns(CoercionWarning, match="income"):
        release = fit(frame, schema)
    assert_within(release.sample(200, seed=1), schema)


@case("cells", "unseen category")
def _(folder):
    frame, schema = with_cells("job", [CANARY_TEXT])
    with pytest.warns(CoercionWarning, match="job"):
        release = fit(frame, schema)
    assert_within(release.sample(200, seed=1), schema)


@case("cells", "unseen category, strict")
@refuses(DataError, "job", "categories")
def _(folder):
    fit(*with_cells("job", [CANARY_TEXT]), strict=True)


@case("cells", "number out of bounds")
def _(folder):
    frame, schema = with_cells("income", [CANARY_NUMBER])
    with pytest.warns(CoercionWarning, match="income"):
        release = fit(frame, schema)
    assert_within(release.sample(200, seed=1), schema)


@case("cells", "text where the schema says number")
@refuses(SchemaError, "income")
def _(folder):
    frame, schema = base()
    frame["income"] = [CANARY_TEXT] * len(frame)
    fit(frame, schema)


@case("cells", "minus zero")
def _(folder):
    frame, schema = with_cells("income", [-0.0] * 30)
    assert_within(fit(frame, schema).sample(200, seed=1), schema)


@case("cells", "subnormal number")
def _(folder):
    frame, schema = with_cells("income", [5e-324] * 30)
    assert_within(fit(frame, schema).sample(200, seed=1), schema)


@case("cells", "empty string is a value of its own")
def _(folder):
    frame, _ = with_cells("job", [""] * 30)
    schema = base()[1].with_column("job", st.Categorical(("", "cook", "nurse", "judge")))
    sample = fit(frame, schema, epsilon=50.0).sample(600, seed=1)
    assert sample["job"].notna().all()
    assert 0.3 < (sample["job"] == "").mean() < 0.7


@case("cells", "NUL byte in text")
def _(folder):
    frame, _ = with_cells("job", ["a\0b"] * 30)
    schema = base()[1].with_column("job", st.Categorical(("a\0b", "cook", "nurse", "judge")))
    sample = fit(frame, schema, epsilon=50.0).sample(100, seed=1)
    assert "a\0b" in set(sample["job"])


@case("cells", "text of one megabyte, and a lone surrogate")
@refuses(DataError, "job")
def _(folder):
    frame, schema = with_cells("job", ["x" * 2**20])
    with pytest.warns(CoercionWarning, match="job"):
        fit(frame, schema)
    fit(*with_cells("job", ["\ud800" + CANARY_TEXT]))


@case("cells", "formula text does not run in a spreadsheet")
def _(folder):
    frame, _ = with_cells("job", ["=1+1"] * 60)
    schema = base()[1].with_column("job", st.Categorical(("=1+1", "cook")))
    release = fit(frame, schema, epsilon=50.0)
    release.sample_to(folder / "out.csv", 50, seed=1)
    text = (folder / "out.csv").read_text()
    assert "=1+1" in text
    assert ",=1+1" not in text


# --- shapes: 10 ------------------------------------------------------------------------------------------


@case("shapes", "no rows")
def _(folder):
    frame, schema = base()
    release = fit(frame.iloc[:0], schema)
    assert len(release.sample(5, seed=1)) == 5
    assert_within(release.sample(5, seed=1), schema)


@case("shapes", "no columns")
@refuses(DataError, "column")
def _(folder):
    fit(pd.DataFrame(index=range(5)), base()[1])


@case("shapes", "one row")
def _(folder):
    frame, schema = base()
    assert_within(fit(frame.iloc[:1], schema).sample(20, seed=1), schema)


@case("shapes", "two rows")
def _(folder):
    frame, schema = base()
    assert_within(fit(frame.iloc[:2], schema).sample(20, seed=1), schema)


@case("shapes", "constant column")
def _(folder):
    frame, schema = base()
    frame["age"] = 30
    assert_within(fit(frame, schema).sample(200, seed=1), schema)


@case("shapes", "all-unique text is never echoed")
def _(folder):
    frame, schema = base()
    frame["who"] = [f"{CANARY_TEXT}-{i}" for i in range(len(frame))]
    release = fit(frame, schema.with_column("who", st.Identifier(prefix="p")))
    assert not set(release.sample(60, seed=1)["who"]) & set(frame["who"])
    release.save(folder / "x.syn")
    assert CANARY_TEXT.encode() not in unzipped(folder / "x.syn")


@case("shapes", "200 columns")
def _(folder):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{i}": rng.integers(0, 4, 300) for i in range(200)})
    schema = st.Schema({c: st.Numeric(0, 3, integer=True) for c in frame})
    sample = fit(frame, schema, method=st.Independent).sample(50, seed=1)
    assert_within(sample, schema)


@case("shapes", "2,000 columns")
def _(folder):
    frame = pd.DataFrame(np.zeros((20, 2000), dtype=int), columns=[f"c{i}" for i in range(2000)])
    schema = st.Schema({c: st.Numeric(0, 1, integer=True) for c in frame})
    assert fit(frame, schema, method=st.Independent).sample(5, seed=1).shape == (5, 2000)


@case("shapes", "100,000 categories")
def _(folder):
    labels = tuple(f"v{i}" for i in range(100_000))
    frame = pd.DataFrame(
        {"code": np.array(labels, dtype=object)[np.arange(500) % 7], "x": np.arange(500) % 3}
    )
    schema = st.Schema({"code": st.Categorical(labels), "x": st.Numeric(0, 2, integer=True)})
    assert_within(fit(frame, schema).sample(100, seed=1), schema)


@case("shapes", "two columns too wide for a joint")
@refuses(ResourceError, "wide", "MB")
def _(folder):
    labels = tuple(f"v{i}" for i in range(20_000))
    frame = pd.DataFrame({"wide1": ["v1"] * 9, "wide2": ["v2"] * 9})
    schema = st.Schema({"wide1": st.Categorical(labels), "wide2": st.Categorical(labels)})
    fit(frame, schema, rare=None)


# --- numbers: 6 ------------------------------------------------------------------------------------------


@case("numbers", "integers beyond 2**53")
def _(folder):
    values = [2**53 + 1, 2**53 + 3, 2**60 + 1] * 20
    schema = st.Schema({"x": st.Numeric(2**53, 2**61, integer=True), "y": st.Boolean()})
    sample = fit(pd.DataFrame({"x": values, "y": [True, False] * 30}), schema).sample(100, seed=1)
    assert sample["x"].dtype == np.int64
    assert sample["x"].between(2**53, 2**61).all()


@case("numbers", "uint64")
def _(folder):
    frame = pd.DataFrame({"x": np.array([2**64 - 1, 2**63 + 1, 5] * 20, dtype=np.uint64), "y": 1})
    schema = st.Schema({"x": st.Numeric(0, 2**64 - 1, integer=True), "y": st.Numeric(0, 1, integer=True)})
    sample = fit(frame, schema).sample(100, seed=1)
    assert sample["x"].dtype == np.uint64


@case("numbers", "Python integers beyond 64 bits")
@refuses((SchemaError, DataError), "x")
def _(folder):
    fit(
        pd.DataFrame({"x": [10**30 + i for i in range(20)]}),
        st.Schema({"x": st.Numeric(0, 10, integer=True)}),
    )


@case("numbers", "Decimal")
def _(folder):
    frame = pd.DataFrame({"x": [Decimal("1.25"), Decimal("3.50"), None] * 20})
    schema = st.Schema({"x": st.Numeric(0, 5, decimals=2, nullable=True)})
    sample = fit(frame, schema).sample(50, seed=1)
    present = [v for v in sample["x"] if v is not None and not pd.isna(v)]
    assert present
    assert all(isinstance(v, Decimal) and v == round(v, 2) and 0 <= v <= 5 for v in present)


@case("numbers", "float16 and float32")
def _(folder):
    frame = pd.DataFrame(
        {"h": np.linspace(0, 1, 60).astype(np.float16), "s": np.linspace(0, 1, 60, dtype=np.float32)}
    )
    schema = st.Schema({"h": st.Numeric(0.0, 1.0), "s": st.Numeric(0.0, 1.0)})
    sample = fit(frame, schema).sample(50, seed=1)
    assert sample["h"].dtype == np.float16
    assert sample["s"].dtype == np.float32


@case("numbers", "complex numbers")
@refuses((SchemaError, DataError), "x")
def _(folder):
    fit_observed(pd.DataFrame({"x": [1j, 2 + 0j]}))


# --- times: 6 --------------------------------------------------------------------------------------------


def times(values, timezone=None, **bounds) -> tuple[pd.DataFrame, st.Schema]:
    bounds = {"lower": dt.datetime(2020, 1, 1), "upper": dt.datetime(2021, 1, 1)} | bounds
    frame = pd.DataFrame({"t": values})
    column = st.Datetime(
        bounds["lower"], bounds["upper"], timezone=timezone, resolution="second", nullable=True
    )
    return frame, st.Schema({"t": column})


@case("times", "datetime")
def _(folder):
    frame, schema = times(pd.date_range("2020-01-01", periods=60, freq="D"))
    sample = fit(frame, schema).sample(50, seed=1)
    assert sample["t"].dtype == frame["t"].dtype
    assert sample["t"].dropna().between("2020-01-01", "2021-01-01").all()


@case("times", "datetime with a zone")
def _(folder):
    frame, schema = times(
        pd.date_range("2020-01-01", periods=60, freq="D", tz="Europe/Paris"), "Europe/Paris"
    )
    sample = fit(frame, schema).sample(50, seed=1)
    assert sample["t"].dtype == frame["t"].dtype


@case("times", "mixed zones")
@refuses((SchemaError, DataError), "t")
def _(folder):
    one, other = (pd.Timestamp("2020-01-01", tz=z) for z in ("UTC", "Asia/Tokyo"))
    fit(*times(pd.Series([one, other] * 5, dtype=object), "UTC"))


@case("times", "daylight saving fold")
def _(folder):
    moments = pd.date_range("2020-10-24 20:00", periods=60, freq="h", tz="UTC").tz_convert("Europe/Paris")
    frame, schema = times(moments, "Europe/Paris")
    assert len(fit(frame, schema).sample(50, seed=1)) == 50


@case("times", "durations are refused with a remedy")
@refuses(SchemaError, "t")
def _(folder):
    fit_observed(pd.DataFrame({"t": pd.to_timedelta([1, 2, 3], unit="h")}))


@case("times", "years 0001 and 9999")
def _(folder):
    frame = pd.DataFrame(
        {"t": pd.Series([dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)] * 20, dtype=object)}
    )
    column = st.Datetime(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31), resolution="day", nullable=True)
    assert len(fit(frame, st.Schema({"t": column})).sample(20, seed=1)) == 20


# --- dtypes: 10 ------------------------------------------------------------------------------------------


def one_column(values, column: object, **options) -> pd.Series:
    frame = pd.DataFrame({"x": values})
    return fit(frame, st.Schema({"x": column}), **options).sample(80, seed=1)["x"]


@case("dtypes", "bool")
def _(folder):
    assert one_column([True, False] * 30, st.Boolean()).dtype == bool


@case("dtypes", "nullable Int64 with gaps")
def _(folder):
    values = pd.array([1, 2, None] * 20, dtype="Int64")
    sample = one_column(values, st.Numeric(0, 5, integer=True, nullable=True), epsilon=50.0)
    assert sample.dtype == "Int64"
    assert sample.isna().any()


@case("dtypes", "nullable boolean with gaps")
def _(folder):
    sample = one_column(pd.array([True, None] * 30, dtype="boolean"), st.Boolean(nullable=True), epsilon=50.0)
    assert sample.dtype == "boolean"
    assert sample.isna().any()


@case("dtypes", "nullable string")
def _(folder):
    values = pd.array(["a", None] * 30, dtype="string")
    sample = one_column(values, st.Categorical(("a", "b"), nullable=True), epsilon=50.0)
    assert sample.dtype == values.dtype


@case("dtypes", "categorical with unused levels")
def _(folder):
    values = pd.Categorical(["a", "b"] * 30, categories=["a", "b", "never"])
    sample = one_column(values, st.Categorical(("a", "b", "never")))
    assert isinstance(sample.dtype, pd.CategoricalDtype)
    assert set(sample.dtype.categories) == {"a", "b", "never"}


@case("dtypes", "Arrow dictionary")
def _(folder):
    import pyarrow as pa

    table = pa.table({"x": pa.array(["a", "b", None] * 20).dictionary_encode()})
    sample = fit(table, st.Schema({"x": st.Categorical(("a", "b"), nullable=True)})).sample(50, seed=1)
    assert isinstance(sample, pa.Table)
    assert pa.types.is_dictionary(sample.schema.field("x").type)


@case("dtypes", "mixed numbers and text")
@refuses((SchemaError, DataError), "x")
def _(folder):
    one_column(pd.Series([1, CANARY_TEXT] * 10, dtype=object), st.Categorical(("a", "b")))


@case("dtypes", "1 and '1' in one column")
@refuses((SchemaError, DataError), "x")
def _(folder):
    fit_observed(pd.DataFrame({"x": pd.Series([1, "1"] * 10, dtype=object)}))


@case("dtypes", "lists in cells")
@refuses((SchemaError, DataError), "x")
def _(folder):
    fit_observed(pd.DataFrame({"x": [[1, 2], [3]] * 10}))


@case("dtypes", "nested records in cells")
@refuses((SchemaError, DataError), "x")
def _(folder):
    fit_observed(pd.DataFrame({"x": [{"a": 1}, {"a": 2}] * 10}))


# --- names: 8 --------------------------------------------------------------------------------------------


def named(*names) -> pd.DataFrame:
    data = np.arange(40 * len(names)).reshape(40, len(names)) % 3
    return pd.DataFrame(data, columns=list(names))


def round_trip_names(*names: str) -> None:
    schema = st.Schema({n: st.Numeric(0, 2, integer=True) for n in names})
    assert list(fit(named(*names), schema).sample(10, seed=1).columns) == list(names)


@case("names", "duplicate names")
@refuses((SchemaError, DataError), "x")
def _(folder):
    fit_observed(named("x", "x"))


@case("names", "empty name")
@refuses((SchemaError, DataError), "name")
def _(folder):
    fit_observed(named("", "x"))


@case("names", "unicode names")
def _(folder):
    round_trip_names("größe", "年齢", "🙂")


@case("names", "quotes and newlines in names")
def _(folder):
    round_trip_names('a"b', "c'd", "e\nf", "g;h")


@case("names", "integers as names")
@refuses((SchemaError, DataError), "name")
def _(folder):
    fit_observed(named(0, 1))


@case("names", "reserved words as names")
def _(folder):
    round_trip_names("select", "class", "domain", "__class__", "codes")


@case("names", "a name of 10,000 characters")
def _(folder):
    round_trip_names("x" * 10_000, "y")


@case("names", "names equal after case folding")
def _(folder):
    round_trip_names("Age", "age", "AGE")


# --- privacy arguments: 14 -------------------------------------------------------------------------------


def budget_case(name: str, *words: str, **arguments) -> None:
    @case("privacy", name)
    @refuses(BudgetError, *words)
    def _(folder):
        st.MST(**({"epsilon": 1.0, "delta": 1e-5} | arguments))


budget_case("epsilon zero", "epsilon", epsilon=0)
budget_case("epsilon negative", "epsilon", epsilon=-1.0)
budget_case("epsilon NaN", "epsilon", epsilon=math.nan)
budget_case("epsilon text", "epsilon", epsilon="1.0")
budget_case("epsilon bool", "epsilon", epsilon=True)
budget_case("epsilon missing", "epsilon", epsilon=None)
budget_case("delta zero", "delta", delta=0)
budget_case("delta negative", "delta", delta=-1e-5)
budget_case("delta NaN", "delta", delta=math.nan)
budget_case("delta one or more", "delta", delta=1.0)


@case("privacy", "epsilon infinite is said loudly")
def _(folder):
    release = fit(*base(), epsilon=math.inf)
    assert not release.privacy.is_private
    assert "privacy was switched off" in release.privacy.text()


@case("privacy", "epsilon tiny gives noise, not failure")
def _(folder):
    frame, schema = base()
    assert_within(fit(frame, schema, epsilon=1e-6).sample(20, seed=1), schema)


@case("privacy", "delta too large for any table warns")
def _(folder):
    with pytest.warns(PrivacyWarning, match="delta"):
        st.MST(epsilon=1.0, delta=0.1)


@case("privacy", "a spent budget refuses the next spend")
def _(folder):
    from syntabula.errors import BudgetExceededError
    from syntabula.privacy.events import ExponentialEvent
    from syntabula.privacy.ledger import Ledger

    ledger = Ledger(st.Budget.pure(1.0))
    ledger.spend(ExponentialEvent(epsilon=1.0, candidates=2), step="first")
    before = ledger.spent
    with pytest.raises(BudgetExceededError, match="second"):
        ledger.spend(ExponentialEvent(epsilon=1e-9, candidates=2), step="second")
    assert ledger.spent == before


# --- sampling: 8 -----------------------------------------------------------------------------------------


@case("sampling", "zero rows")
def _(folder):
    frame, schema = base()
    sample = fit(frame, schema).sample(0)
    assert len(sample) == 0
    assert list(sample.columns) == list(frame.columns)


@case("sampling", "negative rows")
@refuses(ArgumentError, "n must be")
def _(folder):
    fit(*base()).sample(-5)


@case("sampling", "fractional rows")
@refuses(ArgumentError, "n must be")
def _(folder):
    fit(*base()).sample(10.5)


@case("sampling", "rows as text")
@refuses(ArgumentError, "n must be")
def _(folder):
    fit(*base()).sample("10")


@case("sampling", "2**63 rows")
@refuses((ResourceError, ArgumentError), "rows")
def _(folder):
    fit(*base()).sample(2**63)


@case("sampling", "a seed that is no integer")
@refuses(ArgumentError, "seed")
def _(folder):
    fit(*base()).sample(5, seed=1.5)


@case("sampling", "the same seed twice gives the same table, no seed another")
def _(folder):
    release = fit(*base())
    assert release.sample(50, seed=3).equals(release.sample(50, seed=3))
    assert not release.sample(50).equals(release.sample(50))


@case("sampling", "an unknown column in a marginal")
@refuses(SchemaError, "heigth")
def _(folder):
    fit(*base()).marginals([("age", "heigth")])


# --- schema: 8 -------------------------------------------------------------------------------------------


@case("schema", "no schema, and too little budget to find one")
@refuses(PrivateDomainError, "age", "schema")
def _(folder):
    fit(base()[0], epsilon=0.01)


@case("schema", "a column of the schema is not in the table")
@refuses(SchemaError, "height")
def _(folder):
    frame, schema = base()
    fit(frame, schema.with_column("height", st.Numeric(0, 1)))


@case("schema", "a column of the table is not in the schema")
@refuses(SchemaError, "extra")
def _(folder):
    frame, schema = base()
    fit(frame.assign(extra=1), schema)


@case("schema", "reversed bounds")
@refuses(SchemaError, "lower")
def _(folder):
    st.Numeric(10, 1)


@case("schema", "NaN bounds")
@refuses(SchemaError, "finite")
def _(folder):
    st.Numeric(math.nan, 1.0)


@case("schema", "no categories")
@refuses(SchemaError, "categor")
def _(folder):
    st.Categorical(())


@case("schema", "duplicate categories")
@refuses(SchemaError, "categor")
def _(folder):
    st.Categorical(("a", "b", "a"))


@case("schema", "observed domains without leave")
@refuses(ObservedDomainError, "age")
def _(folder):
    frame, schema = base()
    fit(frame, schema.with_column("age", st.Numeric(18, 90, integer=True, provenance="observed")))


# --- files: 12 -------------------------------------------------------------------------------------------


def unzipped(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())


def saved(folder: Path) -> Path:
    path = folder / "release.syn"
    fit(*base()).save(path)
    return path


@case("files", "truncated at 20 offsets")
def _(folder):
    path = saved(folder)
    whole = path.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 20).astype(int):
        path.write_bytes(whole[:length])
        with pytest.raises(ReleaseFileError):
            st.load(path)


@case("files", "random bytes")
@refuses(ReleaseFileError, "release.syn")
def _(folder):
    path = folder / "release.syn"
    path.write_bytes(np.random.default_rng(0).bytes(9999))
    st.load(path)


@case("files", "bits flipped everywhere")
def _(folder):
    path = saved(folder)
    whole = path.read_bytes()
    expected = st.load(path).sample(20, seed=1)
    for position in np.linspace(0, len(whole) - 1, 120).astype(int):
        damaged = bytearray(whole)
        damaged[position] ^= 16
        path.write_bytes(bytes(damaged))
        try:
            release = st.load(path)
        except ReleaseFileError:
            continue
        assert release.sample(20, seed=1).equals(expected)


@case("files", "a member is missing")
@refuses(ReleaseFileError)
def _(folder):
    path = saved(folder)
    with zipfile.ZipFile(path) as archive:
        members = {n: archive.read(n) for n in archive.namelist()[:-1]}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    st.load(path)


@case("files", "a zip bomb")
@refuses(ReleaseFileError)
def _(folder):
    path = folder / "release.syn"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", b" " * (300 * 2**20))
    st.load(path)


@case("files", "a path out of the archive")
@refuses(ReleaseFileError)
def _(folder):
    path = saved(folder)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("../../escaped.txt", b"x")
    st.load(path)


@case("files", "a pickle instead of a release")
@refuses(ReleaseFileError)
def _(folder):
    import pickle

    class Bomb:
        def __reduce__(self):
            return (os.abort, ())

    path = folder / "release.syn"
    path.write_bytes(pickle.dumps(Bomb()))
    st.load(path)


@case("files", "a newer version")
@refuses(ReleaseFileError, "newer")
def _(folder):
    from syntabula.synthesizers import release_file

    patch = pytest.MonkeyPatch()
    patch.setattr(release_file, "FORMAT_VERSION", 7)
    path = saved(folder)
    patch.undo()
    st.load(path)


@case("files", "the file of this version loads the same")
def _(folder):
    release = fit(*base())
    release.save(folder / "release.syn")
    loaded = st.load(folder / "release.syn")
    assert loaded.sample(50, seed=1).equals(release.sample(50, seed=1))
    assert loaded.privacy.text() == release.privacy.text()


@case("files", "disk full while writing the table leaves the old file")
def _(folder):
    release = fit(*base())
    path = folder / "out.csv"
    path.write_text("old")
    patch = pytest.MonkeyPatch()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    patch.setattr(os, "fsync", full)
    try:
        with pytest.raises(DataError, match="No space left"):
            release.sample_to(path, 20)
    finally:
        patch.undo()
    assert path.read_text() == "old"
    assert os.listdir(folder) == ["out.csv"]


@case("files", "a folder that does not exist")
@refuses(DataError, "missing")
def _(folder):
    fit(*base()).sample_to(folder / "missing" / "out.csv", 20)


@case("files", "files of the owner only where they hold state")
def _(folder):
    fit(*base(), journal=folder / "spends.journal")
    assert stat.S_IMODE((folder / "spends.journal").stat().st_mode) == 0o600


# --- the matrix ------------------------------------------------------------------------------------------

HELD: set[str] = set()


class TestMatrix:
    @pytest.mark.parametrize("name", list(CASES))
    def test_bad_input_gives_a_clear_error_or_a_right_result(self, name, tmp_path):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            CASES[name][1](tmp_path)
        for warning in caught:
            assert CANARY_TEXT not in str(warning.message)
            assert str(CANARY_NUMBER) not in str(warning.message)
        HELD.add(name)

    def test_the_matrix_has_96_cases_and_all_hold(self, capsys):
        with capsys.disabled():
            print(f"\nbad-input matrix: {len(HELD)} of {len(CASES)} cases hold")
        assert len(CASES) == 96
        assert set(CASES) == HELD
