"""Bins are cut by one question to the model, or by what it was made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.marginals.domain import Clique
from syntabula.record_models.codes_network import CodesNetwork
from syntabula.synthesizers import fitting
from syntabula.synthesizers.joining import with_joined_bins


def test_a_model_is_asked_once_for_all_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    # A model of records draws rows to answer: asked column by column, TabDDPM took as long again as its training.
    asked: list[Sequence[Clique]] = []

    class Counting:
        def __init__(self, model: Any) -> None:
            self.inner, self.domain, self.total = model, model.domain, model.total

        def marginals(self, cliques: Sequence[Clique]) -> Any:
            asked.append(cliques)
            return self.inner.marginals(cliques)

    monkeypatch.setattr(fitting, "with_joined_bins", lambda c, m: with_joined_bins(c, Counting(m)))  # type: ignore[arg-type]
    frame = pd.DataFrame(np.random.default_rng(0).normal(50, 9, (500, 3)).clip(0, 99), columns=list("abc"))
    schema = st.Schema({name: st.Numeric(0, 99, bins=6) for name in frame})

    release = st.MST(epsilon=1.0, seed=1).fit(frame, schema)

    assert asked == [[("a",), ("b",), ("c",)]]
    assert release.codec.domain.size("a") > 6


def test_a_model_of_records_draws_no_rows_to_join_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    # It knows the one-way marginals that it was made of.
    drawn: list[int] = []
    sample = CodesNetwork.sample

    def counted(self: Any, n: int, *rest: Any) -> Any:
        drawn.append(n)
        return sample(self, n, *rest)

    monkeypatch.setattr(CodesNetwork, "sample", counted)
    frame = pd.DataFrame(np.random.default_rng(0).normal(50, 9, (300, 2)).clip(0, 99), columns=list("ab"))
    schema = st.Schema({name: st.Numeric(0, 99, bins=6) for name in frame})

    release = st.ARGN(epsilon=5.0, seed=1).with_options(steps=3).fit(frame, schema)

    assert drawn == [4096]  # whether its training went astray
    assert release.codec.domain.size("a") > 6
