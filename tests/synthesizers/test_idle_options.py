"""Options that do nothing with a budget, or without one, are told of before anything is read."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import pytest

import syntabula as st
from syntabula.errors import SyntabulaWarning, TrainingWarning
from syntabula.record_models.loop import Training
from syntabula.record_models.noisy_loop import NoisyTraining
from syntabula.synthesizers.idle_options import tell_of_idle

IN_VAIN: list[tuple[Any, str]] = [
    (st.ARGN(epsilon=1.0).with_options(batch=64), "^batch does nothing with a finite budget.* rate,.* argn learns"),
    (st.ARGN(epsilon=1.0).with_options(batch=64, held_out=0.2, patience=9), "^batch, held_out and patience do nothing"),
    (st.ARGN(epsilon=math.inf).with_options(rate=0.1, clip=2.0), "^rate and clip do nothing without a budget.* batch"),
    (st.ARGN(epsilon=1.0, training=Training(steps=20)), "^steps does nothing with a finite budget"),
    (st.ARGN(epsilon=math.inf, noisy=NoisyTraining(steps=20)), "^steps does nothing without a budget"),
    (st.CTGAN(epsilon=1.0).with_options(units=32), "^units does nothing .* other options of the model say"),
    (st.CTGAN(epsilon=math.inf).with_options(levels=9), "^levels does nothing without a budget"),
    (st.TVAE(epsilon=1.0).with_options(modes=3), "^modes does nothing with a finite budget"),
    (st.TabDDPM(epsilon=1.0).with_options(follow_marginals=False), "^follow_marginals does nothing"),
    (st.Synthpop(epsilon=1.0).with_options(least_leaf=5), "^least_leaf does nothing .* levels and crowd say"),
    (st.Synthpop(epsilon=math.inf).with_options(crowd=2.0), "^crowd does nothing without a budget"),
    (st.GReaT(epsilon=math.inf).with_options(rank=4), "^rank does nothing without model_path, where units, layers"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "told"), IN_VAIN)
def test_an_option_that_does_nothing_is_told_of(method: Any, told: str) -> None:
    with pytest.warns(TrainingWarning, match=told) as warned:
        tell_of_idle(method)

    assert len(warned) == 1


def test_a_fit_and_a_plan_tell_of_it_before_anything_is_read(tmp_path: Any) -> None:
    schema = st.Schema({"kind": st.Categorical(("a", "b"))})
    method = st.Synthpop(epsilon=1.0).with_options(least_leaf=5)

    with pytest.warns(TrainingWarning, match="least_leaf"):
        method.plan(schema)
    with pytest.warns(TrainingWarning, match="least_leaf"), pytest.raises(st.errors.DataError):
        method.fit(tmp_path / "not there.csv", schema)


def test_options_that_hold_are_not_told_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", SyntabulaWarning)
        for info in st.list_synthesizers():
            kind = st.synthesizer(info.key)
            for epsilon in (1.0, math.inf)[bool(kind.why_not_private) :]:
                tell_of_idle(kind(epsilon=epsilon))
        for epsilon in (1.0, math.inf):
            method = st.TabDDPM(epsilon=epsilon)
            # Options of either training, of which one holds, and where training takes place.
            tell_of_idle(
                method.with_options(steps=20, learning_rate=0.01, average=0.9, seconds=9.0, threads=2)
            )
            tell_of_idle(replace(method, training=Training(seconds=9.0)))
            both = {"training": Training(steps=20), "noisy": NoisyTraining(steps=30)}
            tell_of_idle(replace(method, **both))
            # Options of a study with several budgets, of which some hold with one and others without.
            tell_of_idle(method.with_options(batch=64, rate=0.1))
            tell_of_idle(st.CTGAN(epsilon=epsilon).with_options(units=8, batch=64, rate=0.1))
            tell_of_idle(st.Synthpop(epsilon=epsilon).with_options(least_leaf=5, levels=3))
            # A model of another method has other options.
            tell_of_idle(st.TVAE(epsilon=epsilon, model=st.ARGN().model))
