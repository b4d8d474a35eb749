"""Models over codes that are trained on records, and their methods: a small one of each, and what it learns from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from corners import thorough_but

import syntabula as st
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.record_models.adversarial import Adversarial
from syntabula.record_models.autoregressive import Autoregressive
from syntabula.record_models.circuit import Circuit
from syntabula.record_models.column_trees import ColumnTrees
from syntabula.record_models.language import LanguageModel
from syntabula.record_models.loop import Training
from syntabula.record_models.noisy_loop import NoisyTraining
from syntabula.record_models.tabular_diffusion import TabularDiffusion
from syntabula.record_models.variational import Variational

DOMAIN = Domain(("a", "b", "c"), (4, 30, 2), frozenset({"b"}))


def records(n: int = 4_000) -> EncodedTable:
    """Rows in which b is near 7 a, and c is whether a and b are both odd; no a is 3."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, n)
    b = np.clip(7 * a + rng.integers(0, 7, n), 0, 29)
    return EncodedTable(DOMAIN, tuple(x.astype(np.uint8) for x in (a, b, (a % 2) * (b % 2))))


def share_near(table: EncodedTable) -> float:
    """Return how often b is near 7 a."""
    return float(np.mean(table.column("b").astype(int) // 7 == table.column("a")))


def cell_shares(table: EncodedTable) -> np.ndarray:
    """Return the shares of all cells of the three columns."""
    keys = (table.column("a").astype(int) * 30 + table.column("b")) * 2 + table.column("c")
    return np.bincount(keys, minlength=240) / table.n_rows


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model of records over codes, and the method that trains it.

    Attributes:
        model: With few units.
        training: Enough for the records above.
        method: Key of the method.
        taught: Settings of the method that are enough for the table below; its model is the one above if none is named.
        noisy: Settings of the method with a budget, for a few steps; None if it takes none.
        library: What training needs.
        extra: The extra that installs it.
        refused: What is said of a finite budget; empty if it is taken.
        follows: Least share of rows near 7 a, given some columns.
        exact: Whether conditions and given columns need no trial.
        spoils: Changes of facts and arrays that no file of this model has, beside those of all.
    """

    model: Any
    training: Training
    method: str
    taught: Mapping[str, Any]
    noisy: Mapping[str, Any] | None = None
    library: str = "torch"
    extra: str = "neural"
    refused: str = ""
    follows: float = 0.9
    exact: bool = True
    spoils: tuple[Mapping[str, Any], ...] = ()


def _nan(name: str, *shape: int) -> dict[str, Any]:
    return {"arrays": {name: np.full(shape, np.nan, np.float32)}}


_OTHER = {"arrays": {"weights/other": np.zeros(3, np.float32)}}

CASES = {
    "autoregressive": Case(
        model=Autoregressive(units=32, embedding=4, waves=4),
        training=Training(steps=250, batch=256, learning_rate=1e-2),
        method="argn",
        taught={"training": Training(steps=150, batch=256, learning_rate=1e-2)},
        noisy={"noisy": NoisyTraining(steps=40, rate=0.2)},
        spoils=({"facts": {"units": 33}}, _nan("weights/bias/0", 32), _OTHER),
    ),
    "tabular_diffusion": Case(
        model=TabularDiffusion(units=64, levels=100, steps_back=20),
        training=Training(steps=250, batch=256, learning_rate=5e-3),
        method="tabddpm",
        taught={
            "model": TabularDiffusion(units=64, levels=100, steps_back=10),
            "training": Training(steps=400, batch=256, learning_rate=5e-3),
        },
        noisy={
            "model": TabularDiffusion(units=16, levels=50, steps_back=5, draws=2),
            "noisy": NoisyTraining(steps=20, rate=0.2),
        },
        follows=0.65,
        exact=False,
        spoils=(
            {"facts": {"units": 33}},
            {"facts": {"levels": 0}},
            _nan("weights/bias/0", 64),
            _OTHER,
        ),
    ),
    "language": Case(
        model=LanguageModel(units=16, layers=1, heads=2),
        training=Training(steps=250, batch=128, learning_rate=1e-2),
        method="great",
        taught={"training": Training(steps=150, batch=128, learning_rate=1e-2)},
        refused=r"cannot keep a privacy budget: .* use aim, or argn .* an infinite epsilon",
        spoils=(
            {"facts": {"used": [3, 21]}},
            {"facts": {"places": [1, 10**6, 1]}},
            {"facts": {"letters": [0, 1, 1]}},
            {"facts": {"heads": 3}},
        ),
    ),
    "circuit": Case(
        model=Circuit(states=24, smoothing=5),
        training=Training(steps=200, batch=500, learning_rate=0.2),
        method="circuit",
        taught={
            "model": Circuit(states=60),
            "training": Training(steps=60, batch=500, learning_rate=0.2),
        },
        refused=r"counts of each batch .* no private form; use an infinite",
        spoils=(
            {"facts": {"used": [3, 22, 1]}},
            {"facts": {"parents": [-1, -1, 0]}},
            {"facts": {"parents": [-1, 2, 1]}},
            {"facts": {"hidden": 23}},
            {"facts": {"states": 0}},
            {"arrays": {"transitions": np.zeros((3, 24, 24), np.float32)}},
            _nan("emissions", 26, 24),
        ),
    ),
    "column_trees": Case(
        model=ColumnTrees(),
        training=Training(),
        method="synthpop",
        taught={},
        library="sklearn.tree",
        extra="evaluate",
        exact=False,
        spoils=(
            {"facts": {"first": ["z"]}},
            {"facts": {"first": ["b"]}},
            {"facts": {"nodes": [1, 2]}},
            {"facts": {"donors": [1, 2, 0]}},
            {"facts": {"again": ["z"]}},
            {"facts": {"again": []}},
            {"facts": {"again": ["a", "a"]}},
            {"arrays": {"2/nodes": np.zeros((1, 4), np.int64)}},
            {"arrays": {"2/nodes": np.zeros((1, 4), np.int32)}},
            {"arrays": {"1/donors": np.full(3, 200, np.uint8)}},
        ),
    ),
}
"""By the stored kind of their models."""
QUICK_CASES = thorough_but(("autoregressive", "circuit", "column_trees"), CASES)

PRIVATE_CASES = {kind: case for kind, case in CASES.items() if case.noisy} | {
    "variational": Case(
        model=Variational(units=16, hidden=4),
        training=Training(),
        method="tvae",
        taught={},
        noisy={"noisy": NoisyTraining(steps=20, rate=0.2)},
    ),
    "adversarial": Case(
        model=Adversarial(critic_units=8),
        training=Training(),
        method="ctgan",
        taught={},
        noisy={"noisy": NoisyTraining(steps=20, rate=0.2)},
    ),
}
"""Those that take a budget, and others whose tests without one are their own."""


def require_library(kind: str) -> None:
    """Skip a test where what a model needs is not installed."""
    pytest.importorskip((CASES | PRIVATE_CASES)[kind].library)


def fitted(kind: str, table: EncodedTable, model: Any = None, **options: Any) -> Any:
    """Return a model that has learned a table."""
    require_library(kind)
    case = CASES[kind]
    one_way = {
        c: np.bincount(table.column(c), minlength=table.domain.size(c)).astype(float) for c in table.domain
    }
    return (model or case.model).trained(
        table.domain, one_way, table, replace(case.training, **options), lambda step, done: None, seed=0
    )


@cache
def learned(kind: str) -> Any:
    """Return the model that has learned the records; nobody may change it."""
    return fitted(kind, records())


def table(n: int = 3_000) -> pd.DataFrame:
    """Rows in which double is near twice the size, and the kind says whether the size is large."""
    rng = np.random.default_rng(0)
    size = rng.normal(10, 3, n)
    kind = np.where(size + rng.normal(0, 1, n) > 10, "large", "small")
    return pd.DataFrame({"size": size.round(3), "double": 2 * size + rng.normal(0, 0.5, n), "kind": kind})


def method(kind: str, **options: Any) -> Any:
    """Return a method without a budget."""
    case = CASES[kind]
    own = {} if case.method == "synthpop" else {"model": case.model}
    return st.synthesizer(case.method)(**({"epsilon": math.inf} | own | case.taught | options))


@cache
def release(kind: str) -> st.Release:
    """Return a release of the table."""
    require_library(kind)
    return method(kind, allow_observed=True).fit(table())


SCHEMA = st.Schema(
    {
        "size": st.Numeric(-10.0, 40.0),
        "double": st.Numeric(-20.0, 80.0),
        "kind": st.Categorical(("large", "small", "none")),
    }
)
"""Of the table, stated by somebody who does not know it."""


def private(kind: str, **options: Any) -> Any:
    """Return a method with a budget, whose noise is seeded; bins cost nothing."""
    case = PRIVATE_CASES[kind]
    stated = {} if "budget" in options else {"epsilon": 5.0}
    usual = {**stated, "seed": 3, "bins": 12, "model": case.model, **(case.noisy or {})}
    usual["preprocessing"] = st.Preprocessing(discretizer="uniform")
    return st.synthesizer(case.method)(**(usual | options))
