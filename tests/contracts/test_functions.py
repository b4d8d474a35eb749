"""Every public function, argument by argument: what means nothing is refused by one of our errors, whatever it is."""

from __future__ import annotations

import contextlib
import inspect
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from corners import thorough_but

import syntabula as st
from syntabula.errors import SyntabulaError

CANARY = "zebra-canary-7731"
FRAME = pd.DataFrame({"age": np.arange(40) % 20, "job": ["cook", CANARY] * 20})
SCHEMA = st.Schema({"age": st.Numeric(0, 99, integer=True), "job": st.Categorical(("cook", CANARY))})
RELEASE = st.Independent(seed=1).fit(FRAME, SCHEMA)

ODD: dict[str, Any] = {
    "a number": 5,
    "a fraction": 2.5,
    "NaN": math.nan,
    "true": True,
    "nothing": None,
    "an empty text": "",
    "a text with a zero byte": "x\0y",
    "bytes": b"x",
    "a list": [5],
    "an empty list": [],
    "a mapping": {"odd": 1},
    "an array": np.array([1, 2]),
    "an array of two axes": np.array([[1.5, 2.5]]),
    "a complex number": 3j,
    "an object": object(),
    "a table": FRAME,
}

Call = Callable[[Any, Path], object]


def scored(**given: Any) -> object:
    return st.evaluate(**({"real": FRAME, "synthetic": FRAME, "metrics": "tvd-1", "workers": 1} | given))


def searched(**given: Any) -> object:
    quick = st.Objective(weights={"tvd-1": 1.0}, metrics={})
    usual = {
        "method": st.Independent(epsilon=1.0, seed=1),
        "table": FRAME,
        "schema": SCHEMA,
        "objective": quick,
    }
    return st.tune(
        **usual | {"space": {"bins": [2]}, "trials": 1, "seconds": 1e-9, "is_public": True} | given
    )


# By "function.argument", a call that gives it a value; each is cheap where the value is taken.
CALLS: dict[str, Call] = {
    **{
        f"evaluate.{name}": lambda value, folder, name=name: scored(**{name: value})
        for name in (
            "real",
            "synthetic",
            "holdout",
            "target",
            "schema",
            "baselines",
            "seed",
            "workers",
            "progress",
        )
    },
    "evaluate.metrics": lambda value, folder: scored(metrics=["tvd-1"] if value is None else value),
    "make_report.plane": lambda value, folder: st.make_report(FRAME, FRAME, plane=value),
    "make_report.seed": lambda value, folder: st.make_report(FRAME, FRAME, seed=[value]),
    "make_report.title": lambda value, folder: st.make_report(FRAME, FRAME, title=value),
    "make_report.evaluation": lambda value, folder: st.make_report(
        FRAME, FRAME, evaluation=0 if value is None else value
    ),
    "attack.synthesizer": lambda value, folder: st.attack(FRAME, value, SCHEMA, n_shadows=8),
    "attack.attacks": lambda value, folder: st.attack(
        FRAME, st.Independent(), SCHEMA, attacks=value, n_shadows=8
    ),
    "attack.target": lambda value, folder: st.attack(
        FRAME, st.Independent(), SCHEMA, target=[value], n_shadows=8
    ),
    "attack.n_shadows": lambda value, folder: st.attack(FRAME, st.Independent(), SCHEMA, n_shadows=value),
    "membership_disclosure.synthesizer": lambda value, folder: st.membership_disclosure(
        FRAME, value, n_shadows=2
    ),
    "membership_disclosure.n_shadows": lambda value, folder: st.membership_disclosure(
        FRAME, st.Independent(), n_shadows=value
    ),
    **{
        f"tune.{name}": lambda value, folder, name=name: searched(**{name: value})
        for name in (
            "method",
            "table",
            "validation",
            "schema",
            "target",
            "space",
            "objective",
            "trials",
            "repeats",
            "seconds",
            "workers",
            "storage",
            "seed",
            "is_public",
            "progress",
        )
    },
    "load.path": lambda value, folder: st.load(value),
    "draft_schema.source": lambda value, folder: st.draft_schema(value),
    "register.kind": lambda value, folder: st.register(value, "x"),
    "synthesizer.key": lambda value, folder: st.synthesizer(value),
    "datasets.load": lambda value, folder: st.datasets.load(value),
    "datasets.describe": lambda value, folder: st.datasets.describe(value),
    "datasets.census": lambda value, folder: st.datasets.census(value),
    "datasets.gauss": lambda value, folder: st.datasets.gauss(value),
    "datasets.controlled": lambda value, folder: st.datasets.controlled(value),
    "datasets.points": lambda value, folder: st.datasets.points(value),
    "Schema.columns": lambda value, folder: st.Schema(value),
    "Schema.label": lambda value, folder: st.Schema(SCHEMA.columns, label=value),
    "Schema.others": lambda value, folder: st.Schema(SCHEMA.columns, others=value),
    "Schema.from_yaml": lambda value, folder: st.Schema.from_yaml(value),
    "Schema.from_json": lambda value, folder: st.Schema.from_json(value),
    "Schema.to_yaml": lambda value, folder: SCHEMA.to_yaml(value),
    "Schema.with_column.name": lambda value, folder: SCHEMA.with_column(value, st.Boolean()),
    "Schema.with_column.column": lambda value, folder: SCHEMA.with_column("x", value),
    "Schema.getitem": lambda value, folder: SCHEMA[value],
    "Budget.epsilon": lambda value, folder: st.Budget(value, 1e-5),
    "Budget.delta": lambda value, folder: st.Budget(1.0, value),
    "Budget.accounting": lambda value, folder: st.Budget(1.0, 1e-5, accounting=value),
    "Budget.zcdp": lambda value, folder: st.Budget.zcdp(value, 1e-5),
    "Budget.pure": lambda value, folder: st.Budget.pure(value),
    "Budget.from_json": lambda value, folder: st.Budget.from_json(value),
    "fit.source": lambda value, folder: st.Independent().fit(value, SCHEMA),
    "fit.schema": lambda value, folder: st.Independent(allow_observed=True).fit(FRAME, value),
    "fit.strict": lambda value, folder: st.Independent().fit(FRAME, SCHEMA, strict=value),
    "plan.schema": lambda value, folder: st.Independent().plan(value),
    "plan.n_rows": lambda value, folder: st.Independent().plan(SCHEMA, value),
    "plan.physical": lambda value, folder: st.Independent().plan(None, physical=value),
    "sample.n": lambda value, folder: RELEASE.sample(value),
    "sample.seed": lambda value, folder: RELEASE.sample(3, seed=value),
    "sample.where": lambda value, folder: RELEASE.sample(3, where=value),
    "sample.where.age": lambda value, folder: RELEASE.sample(3, where={"age": value}),
    "sample.where.job": lambda value, folder: RELEASE.sample(3, where={"job": value}),
    "sample.given": lambda value, folder: RELEASE.sample(given=value),
    "sample_to.path": lambda value, folder: RELEASE.sample_to(value, 3),
    "probability.where": lambda value, folder: RELEASE.probability(value),
    "marginals.cliques": lambda value, folder: RELEASE.marginals(value),
    "save.path": lambda value, folder: RELEASE.save(value),
}


@pytest.mark.parametrize(
    "function",
    # A search fits before it refuses some of them, and scores are computed.
    thorough_but(
        lambda one: one not in ("tune", "evaluate"), sorted({name.partition(".")[0] for name in CALLS})
    ),
)
def test_an_argument_works_or_is_refused_by_our_own_error(
    function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    faults = {}

    for name in [name for name in CALLS if name.partition(".")[0] == function]:
        for odd, value in ODD.items():
            try:
                with warnings.catch_warnings(), contextlib.suppress(SyntabulaError):
                    warnings.simplefilter("ignore", st.errors.SyntabulaWarning)
                    CALLS[name](value, tmp_path)
            except Exception as error:
                faults[name, odd] = repr(error)

    assert not faults


@pytest.mark.thorough
def test_a_table_by_mistake_is_refused_without_its_cells(tmp_path: Path) -> None:
    said = {}
    for name, call in CALLS.items():
        if name.startswith(("fit.source", "sample.where", "sample.given")):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", st.errors.SyntabulaWarning)
                call(FRAME, tmp_path)
        except SyntabulaError as error:
            said[name] = str(error)

    assert len(said) > 40
    assert [name for name, text in said.items() if CANARY in text] == []


def test_all_public_functions_are_here():
    functions = {name for name in st.__all__ if inspect.isfunction(getattr(st, name))}
    without = {name for name in functions if not inspect.signature(getattr(st, name)).parameters}
    # These take a class or the parts of one, and describe it.
    describing = {"method_options", "option_notes"}

    assert functions - without - describing <= {name.partition(".")[0] for name in CALLS}
