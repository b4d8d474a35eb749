"""The learner of models that are trained on records."""

from __future__ import annotations

import math

import pytest

import syntabula
from syntabula.errors import ResourceError
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

    with pytest.raises(ResourceError, match=r"try a step of training; lower .* units, states or batch"):
        method.plan(SCHEMA, 100)
