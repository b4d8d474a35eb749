"""Independent, MST and AIM from a table to a table: kinds, types, missing values, budgets and files."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import syntabula as st
from syntabula.errors import ArgumentError
from syntabula.privacy.journal import Journal
from syntabula.privacy.ledger import Ledger
from syntabula.table.files.files import read_table, write_table
from syntabula.table.frames.frames import from_frame

METHODS = ["independent", "mst", "aim"]
N = 1_000
JOBS = ("cook", "judge", "nurse")
ZONE = "Europe/Paris"
SCHEMA = st.Schema(
    {
        "age": st.Numeric(18, 65, integer=True, nullable=True, bins=8),
        "pay": st.Numeric(0, 99, decimals=2, bins=5),
        "job": st.Categorical(JOBS, nullable=True),
        "member": st.Boolean(nullable=True),
        "born": st.Date(dt.date(1950, 1, 1), dt.date(2009, 12, 31), nullable=True, bins=6),
        "seen": st.Datetime(
            dt.datetime(2024, 1, 1), dt.datetime(2024, 12, 31), timezone=ZONE, resolution="second", bins=6
        ),
        "id": st.Identifier(prefix="x", width=6),
    }
)
EVEN = st.Preprocessing(discretizer="uniform")


def values(seed: int = 0) -> dict[str, list[Any]]:
    """Draw a table as lists: each cell of a nullable column is missing in about one of five records."""
    rng = np.random.default_rng(seed)
    job = rng.choice(JOBS, N, p=[0.6, 0.3, 0.1])
    start = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
    columns: dict[str, list[Any]] = {
        "age": [int(v) for v in np.clip(rng.normal(30, 8, N) + 15 * (job == "judge"), 18, 65)],
        "pay": [Decimal(int(v)).scaleb(-2) for v in rng.integers(0, 9_900, N)],
        "job": job.tolist(),
        "member": (rng.random(N) < np.where(job == "cook", 0.9, 0.2)).tolist(),
        "born": [dt.date(1950, 1, 1) + dt.timedelta(int(v)) for v in rng.integers(0, 21_000, N)],
        "seen": [start + dt.timedelta(seconds=int(v)) for v in rng.integers(0, 300 * 86_400, N)],
        "id": [f"person {i}" for i in range(N)],
    }
    for name in ("age", "job", "member", "born"):
        gone = rng.random(N) < 0.2
        columns[name] = [None if lost else v for v, lost in zip(columns[name], gone, strict=True)]
    return columns


def as_pandas(columns: dict[str, list[Any]]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": pd.array(columns["age"], dtype="Int32"),
            "pay": pd.Series(columns["pay"], dtype=pd.ArrowDtype(pa.decimal128(8, 2))),
            "job": pd.Categorical(columns["job"], categories=JOBS),
            "member": pd.array(columns["member"], dtype="boolean"),
            "born": pd.Series(columns["born"], dtype=object),
            "seen": pd.Series(columns["seen"]).dt.tz_convert(ZONE),
            "id": pd.array(columns["id"], dtype="string"),
        }
    )


def as_arrow(columns: dict[str, list[Any]]) -> pa.Table:
    types = {
        "age": pa.int16(),
        "pay": pa.decimal128(8, 2),
        "job": pa.dictionary(pa.int8(), pa.string()),
        "member": pa.bool_(),
        "born": pa.date32(),
        "seen": pa.timestamp("ms", ZONE),
        "id": pa.large_string(),
    }
    return pa.table({name: pa.array(v, types[name]) for name, v in columns.items()})


def as_polars(columns: dict[str, list[Any]]) -> pl.DataFrame:
    types = {
        "age": pl.Int16,
        "pay": pl.Decimal(8, 2),
        "job": pl.Enum(JOBS),
        "member": pl.Boolean,
        "born": pl.Date,
        "seen": pl.Datetime("ms", "UTC"),
        "id": pl.String,
    }
    frame = pl.DataFrame(columns, schema_overrides=types)
    return frame.with_columns(pl.col("seen").dt.convert_time_zone(ZONE))


LIBRARIES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": as_pandas,
    "polars": as_polars,
    "pyarrow": as_arrow,
}


# What the declarations say, which is not how the tables above store it.
TYPES: dict[str, dict[str, Any]] = {
    "pandas": {
        "age": pd.Int64Dtype(),
        "pay": np.dtype("float64"),
        "job": pd.Series(["a"]).dtype,
        "member": pd.BooleanDtype(),
        "born": np.dtype("datetime64[us]"),
        "seen": pd.DatetimeTZDtype("us", ZONE),
        "id": pd.Series(["a"]).dtype,
    },
    "pyarrow": {
        "age": pa.int64(),
        "pay": pa.float64(),
        "job": pa.string(),
        "member": pa.bool_(),
        "born": pa.date32(),
        "seen": pa.timestamp("us", ZONE),
        "id": pa.string(),
    },
    "polars": {
        "age": pl.Int64(),
        "pay": pl.Float64(),
        "job": pl.String(),
        "member": pl.Boolean(),
        "born": pl.Date(),
        "seen": pl.Datetime("us", ZONE),
        "id": pl.String(),
    },
}


def types_of(table: Any) -> dict[str, Any]:
    """Return the exact type of each column, as its own library says it."""
    if isinstance(table, pa.Table):
        return dict(zip(table.column_names, table.schema.types, strict=True))
    if isinstance(table, pl.DataFrame):
        return dict(table.schema)
    return dict(table.dtypes)


def cells(table: Any) -> dict[str, list[Any]]:
    """Return the columns as lists of Python values, None where missing."""
    if isinstance(table, pd.DataFrame):
        return {n: [None if pd.isna(v) else v for v in table[n].tolist()] for n in table}
    return table.to_pydict() if isinstance(table, pa.Table) else table.to_dict(as_series=False)


def fit(method: str, table: Any, schema: st.Schema = SCHEMA, **options: Any) -> st.Release:
    stated = {} if "budget" in options else {"epsilon": 5.0}
    options = {**stated, "seed": 1, "preprocessing": EVEN} | options
    return st.synthesizer(method)(**options).fit(table, schema)


# What comes in and goes out is the same for all methods: one of them meets all libraries, all meet one.
@pytest.mark.parametrize(
    ("method", "library"),
    [*(("independent", library) for library in sorted(LIBRARIES)), ("mst", "pandas"), ("aim", "polars")],
)
class TestFrames:
    def test_the_same_kind_comes_out_with_the_declared_types(self, method: str, library: str) -> None:
        table = LIBRARIES[library](values())

        made = fit(method, table).sample(500, seed=2)

        assert type(made) is type(table)
        assert types_of(made) == TYPES[library]

    def test_values_keep_to_the_schema_and_missing_ones_come_back(self, method: str, library: str) -> None:
        # At epsilon 5 noise is below 15 records and rounding below 1, so that about 200 missing cells of
        # 1,000 become at least 100 and at most 300 but for a probability below 1e-9.
        made = cells(fit(method, LIBRARIES[library](values())).sample(N, seed=2))

        held = {name: [v for v in column if v is not None] for name, column in made.items()}
        for name in ("age", "job", "member", "born"):
            assert 100 < N - len(held[name]) < 300
        for name in ("pay", "seen", "id"):
            assert len(held[name]) == N
        assert all(18 <= v <= 65 and int(v) == v for v in held["age"])
        assert all(0 <= v <= 99 and v == round(v, 2) for v in held["pay"])
        assert set(held["job"]) == set(JOBS)
        assert set(held["member"]) == {True, False}
        born = [v.date() if isinstance(v, dt.datetime) else v for v in held["born"]]
        assert all(dt.date(1950, 1, 1) <= v <= dt.date(2009, 12, 31) for v in born)
        first, last = (dt.datetime(2024, m, d, tzinfo=dt.UTC) for m, d in ((1, 1), (12, 31)))
        hour = dt.timedelta(hours=1)
        assert all(first - hour <= v <= last for v in held["seen"])
        assert all(v.utcoffset() in (hour, 2 * hour) and not v.microsecond for v in held["seen"])
        assert held["id"] == [f"x{i:06d}" for i in range(1, N + 1)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("method", "suffix"),
    [
        *(("independent", suffix) for suffix in (".csv", ".tsv.gz", ".parquet", ".arrow", ".jsonl.zst")),
        ("mst", ".csv"),
        ("aim", ".csv"),
    ],
)
def test_from_file_to_file_columns_types_and_missing_cells_stay(
    method: str, suffix: str, tmp_path: Path
) -> None:
    read = from_frame(as_arrow(values()))
    source, target = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    write_table(read.columns, source, read.origin)
    before = read_table(source)

    rows = fit(method, source).sample_to(target, 700, seed=3)

    after = read_table(target)
    assert rows == after.n_rows == 700
    assert list(after.columns) == list(before.columns)
    for name, column in before.columns.items():
        assert after.columns[name].missing.any() == column.missing.any()
    kinds = {name: column.physical.kind for name, column in after.columns.items()}
    assert kinds == {
        "age": "integer",
        "pay": "float",
        "job": "text",
        "member": "boolean",
        "born": "date",
        "seen": "datetime",
        "id": "text",
    }


@pytest.mark.parametrize("method", METHODS)
class TestRelease:
    def test_different_sample_seeds_give_different_rows(self, method: str) -> None:
        release = fit(method, as_arrow(values()))

        assert not release.sample(200, seed=1).equals(release.sample(200, seed=2))
        assert not release.sample(200).equals(release.sample(200))

    def test_the_number_of_records_is_an_estimate(self, method: str) -> None:
        # Noise of at most 15 on each of the counts that it is averaged from: within 300 but for 1e-9.
        assert abs(fit(method, as_arrow(values())).n_estimated - N) < 300


BUDGETS = {
    "approximate": st.Budget(epsilon=1.0, delta=1e-6),
    "small": st.Budget(epsilon=0.01, delta=1e-9),
    "rho": st.Budget.zcdp(0.3, 1e-6),
    "pure": st.Budget.pure(2.0),
}


@pytest.mark.parametrize("method", METHODS)
class TestBudget:
    @pytest.mark.thorough
    def test_no_budget_is_overspent(self, method: str, tmp_path: Path) -> None:
        columns = ["age", "job", "member"]
        table = as_arrow(values()).select(columns)
        schema = st.Schema({name: SCHEMA[name] for name in columns})

        for seed in range(20):
            rng = np.random.default_rng(seed)
            budget = st.Budget(epsilon=10 ** rng.uniform(-3, 1), delta=10 ** rng.uniform(-12, -4))
            path = tmp_path / f"journal of seed {seed}"
            privacy = fit(method, table, schema, budget=budget, journal=path).privacy

            with Journal(path) as journal:
                spent = Ledger(budget, journal).spent
            assert budget.total * (1 - 1e-12) <= spent <= budget.total, seed
            assert privacy.epsilon_spent <= budget.epsilon, seed

    def test_the_plan_says_what_will_be_spent(self, method: str) -> None:
        for budget in sorted(BUDGETS):
            options = {"budget": BUDGETS[budget], "preprocessing": EVEN, "bins": 8}

            plan = st.synthesizer(method)(**options).plan(SCHEMA, N)
            privacy = fit(method, as_arrow(values()), **options).privacy

            spent = {line.step: line.share for line in privacy.lines}
            planned = {step.name: step.share for step in plan.steps}
            if method == "aim":
                # Where many codes are merged, columns are counted again, up to three tenths of the budget.
                one_way = "measure one-way marginals"
                assert planned.pop(one_way) <= spent.pop(one_way) + 1e-9 <= 3 / 10 + 2e-9
                assert planned.keys() == spent.keys()
            elif method == "mst":
                # What trends leave measures the tree's pairs once more.
                leave = [planned.pop(t) - spent.pop(t, 0.0) for t in ("choose a trend", "measure the trend")]
                assert min(leave) >= -1e-9
                planned["measure the tree's pairs"] += sum(leave)
                assert spent == pytest.approx(planned, abs=1e-9)
            else:
                assert spent == pytest.approx(planned, abs=1e-9)
            total = float(BUDGETS[budget].total)
            assert sum(step.cost for step in plan.steps) == pytest.approx(total, rel=1e-9)

    def test_what_preprocessing_leaves_goes_to_the_measurements(self, method: str) -> None:
        options = {"preprocessing": st.Preprocessing(), "bins": "auto"}

        plan = st.synthesizer(method)(epsilon=5.0, **options).plan(SCHEMA, N)
        privacy = fit(method, as_arrow(values()), **options).privacy

        planned = {step.name: step.share for step in plan.steps}
        spent = {line.step: line.share for line in privacy.lines}
        assert set(spent) <= set(planned)
        assert sum(planned.values()) == pytest.approx(1.0, abs=1e-12)
        assert sum(spent.values()) == pytest.approx(1.0, abs=1e-12)

    def test_rho_is_spent_as_the_same_epsilon_would_be(self, method: str) -> None:
        approximate = st.Budget(epsilon=1.0, delta=1e-6, accounting="zcdp")
        rho = st.Budget.zcdp(approximate.total, approximate.delta)

        one, other = (
            fit(method, as_arrow(values()), budget=b).sample(200, seed=0) for b in (approximate, rho)
        )

        assert one.equals(other)

    def test_a_pure_budget_uses_no_gaussian_noise(self, method: str) -> None:
        privacy = fit(method, as_arrow(values()), budget=BUDGETS["pure"]).privacy

        assert not any("Gaussian" in line.mechanism for line in privacy.lines)
        assert "(pure)" in privacy.text()

    def test_without_privacy_single_columns_are_met_and_nothing_is_promised(self, method: str) -> None:
        columns, names = values(), ["age", "job", "member"]
        schema = st.Schema({name: SCHEMA[name] for name in names})

        release = fit(method, as_arrow(columns).select(names), schema, epsilon=math.inf)
        made = cells(release.sample(N, seed=0))

        assert release.privacy.epsilon_spent is None
        assert "privacy was switched off" in release.privacy.text()
        for name in ("job", "member"):
            for value in {*columns[name]}:
                assert abs(made[name].count(value) - columns[name].count(value)) <= 12

    def test_a_budget_that_drowns_everything_still_gives_a_table(self, method: str) -> None:
        made = fit(method, as_arrow(values()), epsilon=1e-4).sample(100, seed=0)

        assert made.num_rows == 100
        assert types_of(made) == TYPES["pyarrow"]


def test_methods_that_measure_pairs_learn_them() -> None:
    # Nine of ten cooks are members, and one of five others: Independent mixes them (TVD about 0.3).
    table = as_pandas(values())
    exact = pd.crosstab(table["job"], table["member"], normalize=True).to_numpy()

    found = {}
    for method in METHODS:
        made = fit(method, table, epsilon=10.0).sample(20_000, seed=0)
        learned = pd.crosstab(made["job"], made["member"], normalize=True).to_numpy()
        found[method] = np.abs(exact - learned).sum() / 2

    assert found["mst"] < 0.05
    assert found["aim"] < 0.05
    assert found["independent"] > 0.15


def test_a_senseless_number_of_rows_is_refused() -> None:
    for n in [-1, 1.5, True]:
        release = fit("independent", as_arrow(values()))

        with pytest.raises(ArgumentError, match="n must be"):
            release.sample(n)


def test_names_that_are_no_cliques_are_refused() -> None:
    for cliques in ["age", ["age"], [("age",), "age"]]:
        release = fit("independent", as_pandas(values()))

        with pytest.raises(ArgumentError, match="list of tuples of column names"):
            release.marginals(cliques)


def test_progress_that_cannot_be_called_is_refused_at_once() -> None:
    with pytest.raises(ArgumentError, match="progress must be a function"):
        st.MST(progress=True)
