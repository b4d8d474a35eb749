"""The strongest privacy test: run on a table, replay the answers on its neighbours, compare everything.

Exact, no statistics. Each noise call must be given inputs at most its declared sensitivity apart; number,
kind, order and scale of calls, all events, and every released byte must be identical.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from corners import QUICK_METHODS, VARIANTS
from recording import RecordingNoise, ReplayingNoise
from small_settings import small_parts, takes
from small_tables import neighbours, retyped, table

import syntabula as st
from syntabula.errors import CoercionWarning, SyntabulaError
from syntabula.privacy.events import ExponentialEvent, GaussianEvent, LaplaceEvent, TrainingEvent
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.privacy.training.grid import noise_scale

METHODS = [
    "auto",
    "independent",
    "mst",
    "aim",
    "privsyn",
    "private-gsd",
    "privbayes",
    "mwem",
    "privmrf",
    "margnet",
    "margnet-q",
    "margnet-s",
    "gem",
    "rap",
    "rap++",
    "argn",
    "tabddpm",
    "tablediffusion",
    "tvae",
    "ctgan",
    "pategan",
    "tab-pe",
    "synthpop",
    "dp-merf",
]
# What the others add to these is training, which sees noisy answers alone: two or three runs try them enough.
MANY_TABLES = ["independent", "mst", "aim", "privbayes"]
BUDGETS = {"approximate": st.Budget(epsilon=1.0, delta=1e-5), "pure": st.Budget.pure(2.0)}
# Table 0 has a few rows, table 1 many.
RUNS = [
    *((method, "approximate", 0) for method in QUICK_METHODS if method in METHODS),
    *((method, "approximate", 1) for method in METHODS if method not in MANY_TABLES),
    *((m, "pure", 1) for m in METHODS if m not in VARIANTS and takes(m, BUDGETS["pure"])),
]


class Run:
    """One fit with everything that it drew, spent and released."""

    def __init__(self, synthesizer: Any, frame, schema, folder: Path) -> None:
        self.noise = synthesizer.noise
        self.events: list[tuple[str, object, str]] = []
        original = Ledger.spend

        def spend(ledger, event, *, step, query):
            self.events.append((step, event, query))
            return original(ledger, event, step=step, query=query)

        patch = pytest.MonkeyPatch()
        patch.setattr(Ledger, "spend", spend)
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                release = synthesizer.fit(frame, schema)
        finally:
            patch.undo()
        path = folder / "release.syn"
        release.save(path)
        made = release.sample(37, seed=5)
        # What is told of coercions is for the operator alone.
        warned = [str(w.message) for w in told if not issubclass(w.category, CoercionWarning)]
        self.released: dict[str, Any] = {
            "file": path.read_bytes(),
            "statement": release.privacy.text(),
            "statement as JSON": json.dumps(release.privacy.to_json()),
            "warnings": warned,
            "library": type(made),
            "types": str(made.schema if hasattr(made, "schema") else made.dtypes),
            "index": [*made.index] if hasattr(made, "index") else None,
        }
        self.release, self.samples = release, made


def check(first: Run, second: Run) -> None:
    """Assert that nothing tells the two runs apart but the inputs of the noise, within its sensitivity."""
    assert first.events == second.events
    assert len(first.noise.calls) == len(second.noise.calls)
    drawn = [e for _, e, _ in first.events for _ in range(getattr(e, "steps", 1))]
    for event, one, other in zip(drawn, first.noise.calls, second.noise.calls, strict=True):
        assert one.scale == other.scale
        difference = np.abs(np.asarray(one.exact, dtype=float) - np.asarray(other.exact, dtype=float))
        if isinstance(event, GaussianEvent):
            assert np.square(difference).sum() <= event.l2_sensitivity_squared
            assert one.scale == event.sigma
        elif isinstance(event, LaplaceEvent):
            assert difference.sum() <= event.l1_sensitivity
            assert one.scale == event.scale
        elif isinstance(event, TrainingEvent):
            # Neighbours have other random sets of columns too; tests of the door move one record alone.
            assert one.scale == noise_scale(event)
        else:
            assert isinstance(event, ExponentialEvent)
            sensitivity = event.rows * one.scale * event.epsilon / 2
            assert difference.max(initial=0) <= sensitivity * (1 + 1e-9) + 1e-9
    assert first.released == second.released
    assert first.samples.equals(second.samples)


def maker(method: str, budget: str) -> Callable[..., Any]:
    """Return what makes a small synthesizer from a source of noise."""
    # Even bins, so that each of them is learned even from few records; test_preprocessing_replay has the
    # private ones.
    even = st.Preprocessing(discretizer="uniform")
    options = {"budget": BUDGETS[budget], "bins": 10, "preprocessing": even}
    return partial(st.synthesizer(method), **options, **small_parts(method))


def compare(method: str, budget: str, seed: int, tmp_path: Path) -> int:
    """Run on one table and all its neighbours; return how many pairs were compared."""
    frame, schema = table(seed)
    return compare_with(method, budget, seed, tmp_path, frame, schema, (*neighbours(frame), *retyped(frame)))


def compare_with(
    method: str,
    budget: str,
    seed: int,
    tmp_path: Path,
    frame: pd.DataFrame,
    schema: st.Schema,
    others: Iterable[tuple[str, pd.DataFrame]],
) -> int:
    """Run on one table and on these neighbours; return how many pairs were compared."""
    make = maker(method, budget)
    first = Run(make(noise=RecordingNoise(SeededNoise(seed))), frame, schema, tmp_path)
    pairs = 0
    for name, neighbour in others:
        replay = ReplayingNoise(SeededNoise(seed), script=first.noise.calls)
        try:
            second = Run(make(noise=replay), neighbour, schema, tmp_path)
        except SyntabulaError as error:  # a run that fails on one neighbour only is a leak
            pytest.fail(f"neighbour without or with {name}: {type(error).__name__}: {error}")
        check(first, second)
        pairs += 1
    return pairs


class TestRecordAndReplay:
    @pytest.mark.parametrize(
        ("method", "budget", "seed"),
        [
            pytest.param(*run, marks=() if run[0] in QUICK_METHODS and run[2] == 0 else pytest.mark.thorough)
            for run in RUNS
        ],
    )
    def test_neighbours_differ_only_within_the_declared_sensitivity(self, method, budget, seed, tmp_path):
        assert compare(method, budget, seed, tmp_path) >= 5

    @pytest.mark.thorough
    @pytest.mark.parametrize("method", MANY_TABLES)
    def test_two_more_tables_with_all_neighbours(self, method, tmp_path):
        assert sum(compare(method, "approximate", seed, tmp_path) for seed in range(6, 8)) >= 10
