"""The layers of a network as rows are drawn: in float32, and rounded where the processor is faster by that."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from syntabula.record_models import layer_products
from syntabula.record_models.layer_products import ExactLayers, RoundedLayers, layers_of
from syntabula.record_models.representation import FloatTable

torch = pytest.importorskip("torch")

SIZES = (5, 64, 64, 64, 7)
"""Inputs, units of the first and of two hidden layers, and outputs."""


def weights() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    names = ["in", "layer/0", "layer/1", "out"]
    shapes = pairwise(SIZES)
    found = {n: rng.normal(size=s) / np.sqrt(s[0]) for n, s in zip(names, shapes, strict=True)}
    found |= {"bias/0": rng.normal(size=64), "bias/1": rng.normal(size=64), "bias/out": rng.normal(size=7)}
    return {name: array.astype(np.float32) for name, array in found.items()}


def case(rows: int, told: int) -> tuple[FloatTable, FloatTable]:
    rng = np.random.default_rng(1)
    return rng.normal(size=(5, rows)).astype(np.float32), rng.normal(size=(64, told)).astype(np.float32)


def by_hand(inputs: FloatTable, told: FloatTable) -> FloatTable:
    w = weights()
    hidden = w["in"].T @ inputs + told
    for i in range(2):
        hidden = np.maximum(w[f"layer/{i}"].T @ hidden + w[f"bias/{i}"][:, None], 0)
    said: FloatTable = w["out"].T @ hidden + w["bias/out"][:, None]
    return said


def test_says_what_the_layers_say_one_by_one() -> None:
    """A number in bfloat16 is off by 2^-9 of itself, and numbers here are some 1: four layers add up to .06 at most."""
    for told in [1, 40]:
        for kind, allowed in [(ExactLayers, 1e-5), (RoundedLayers, 0.06)]:
            inputs, from_level = case(40, told)

            said = kind(weights())(inputs, from_level)

            assert said.dtype == np.float32
            np.testing.assert_allclose(said, by_hand(inputs, from_level), rtol=0, atol=allowed)


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("fast", [True, False])
def test_rounds_only_where_that_is_faster(
    installed: bool, fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layer_products, "is_installed", lambda name: installed)
    monkeypatch.setattr(layer_products, "multiplies_bfloat16", lambda device: fast)

    kind = RoundedLayers if installed and fast else ExactLayers
    assert type(layers_of(weights())) is kind
