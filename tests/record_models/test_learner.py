"""The learner of models that are trained on records."""

from __future__ import annotations

import math

import pytest

import syntabula
from syntabula.errors import ResourceError
from syntabula.record_models import circuit, language, training_memory
from syntabula.record_models.autoregressive import Autoregressive
from syntabula.record_models.circuit import Circuit

SCHEMA = syntabula.Schema({"a": syntabula.Categorical(["x", "y"]), "b": syntabula.Numeric(0, 9)})


@pytest.mark.parametrize(
    ("model", "cost", "method"),
    [
        (Circuit, "training_cost", syntabula.Circuit(epsilon=math.inf)),
        (Autoregressive, "noisy_training_cost", syntabula.ARGN(epsilon=1.0)),
    ],
)
def test_a_plan_whose_trial_takes_all_memory_says_what_to_lower(model, cost, method, monkeypatch):
    def too_large(*_: object) -> None:
        # As torch says it.
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")

    monkeypatch.setattr(model, cost, too_large)

    with pytest.raises(
        ResourceError, match=r"try a step of training; lower .* units, states, features or batch"
    ):
        method.plan(SCHEMA, 100)


@pytest.mark.parametrize(
    ("key", "epsilon"),
    [
        ("argn", math.inf), ("circuit", math.inf), ("ctgan", math.inf), ("great", math.inf), ("tabddpm", math.inf),
        ("tvae", math.inf), ("argn", 1.0), ("ctgan", 1.0), ("dp-merf", 1.0), ("pategan", 1.0), ("tabddpm", 1.0),
        ("tvae", 1.0),
    ],
)  # fmt: skip
def test_a_trial_that_memory_does_not_hold_is_refused_before_it_takes_any(key, epsilon, monkeypatch):
    # Plans that were made before say what they said.
    for module in (circuit, language):
        module._timed_step.cache_clear()
    monkeypatch.setattr(training_memory, "available_bytes", lambda: 1000)

    with pytest.raises(ResourceError, match=r"try a step of training, which takes .* MB or more, .* lower"):
        syntabula.synthesizer(key)(epsilon=epsilon).plan(SCHEMA, 100)
