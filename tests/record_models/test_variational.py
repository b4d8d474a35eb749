"""The autoencoder: its loss, and that torch and numpy decode alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from syntabula.marginals.domain import Domain
from syntabula.record_models.encoding import Encoder, Encoding, fitted_encoding
from syntabula.record_models.variational import Variational, VariationalNetwork

torch = pytest.importorskip("torch")

DOMAIN = Domain(("a", "b"), (3, 60), frozenset({"b"}))
MODEL = Variational(units=8, hidden=4, modes=3)


def made(model: Variational = MODEL) -> tuple[Encoding, VariationalNetwork]:
    encoding, chances = fitted_encoding(DOMAIN, {"a": np.array([6.0, 3, 1]), "b": np.ones(60)}, 3)
    random = torch.Generator().manual_seed(0)
    network = model._network(Encoder(encoding, chances, "cpu"), random)
    for weight in network.parameters.values():
        weight += 0.3 * torch.randn(weight.shape, generator=random)
    return encoding, network


def test_the_loss_is_emphasised_reconstruction_and_divergence() -> None:
    _, network = made()
    record = torch.tensor([[1, 30]] * 20_000)

    def loss(emphasis: float) -> float:
        network._emphasis = emphasis
        return float(network.losses(record, torch.Generator().manual_seed(0)).mean())

    offsets, places = network._encoder.encoded(record, torch.Generator().manual_seed(0))
    means, logs = network._found(offsets, places)
    normal = torch.distributions.Normal(means, (logs / 2).exp())
    divergence = torch.distributions.kl_divergence(normal, torch.distributions.Normal(0.0, 1.0)).sum(1).mean()
    reconstruction = loss(2.0) - loss(1.0)

    assert loss(1.0) - reconstruction == pytest.approx(float(divergence), rel=1e-3)
    decoded = network._decoded(normal.sample())
    deviation = 0.01 + 0.99 * network.parameters["deviations"].sigmoid()
    scores = torch.distributions.Normal(decoded[:, :1].tanh(), deviation).log_prob(offsets).sum(1)
    scores = scores + np.log(2 * np.pi) / 2
    scores = scores - network._encoder.encoding.blocks.cross_entropies(decoded[:, 1:], places).sum(1)
    # Two samples of 20,000: six standard errors.
    assert reconstruction == pytest.approx(-float(scores.mean()), abs=6 * float(scores.std()) / 100)


def test_numpy_decodes_as_torch_does() -> None:
    encoding, network = made()
    model = replace(
        MODEL,
        _domain=DOMAIN,
        _encoding=encoding,
        _weights=MODEL._kept(
            {n: w.numpy() for n, w in network.parameters.items()}, encoding, 10, np.random.default_rng(0)
        ),
    )
    hidden = np.random.default_rng(3).standard_normal((50, 4), dtype=np.float32)

    found = model._outputs(50, np.random.default_rng(3))

    wanted = network._decoded(torch.tensor(hidden)).numpy()
    np.testing.assert_allclose(found[:, 1:], wanted[:, 1:], atol=1e-5)
    np.testing.assert_allclose(found[:, :1], np.tanh(wanted[:, :1]), atol=1e-5)
    np.testing.assert_allclose(
        model._deviations, 0.01 + 0.99 * network.parameters["deviations"].sigmoid().numpy(), atol=1e-6
    )
    assert not any(name.startswith("encoder/") for name in model._weights)


def test_categories_are_drawn_and_not_the_most_likely_ones_taken() -> None:
    encoding, _ = made()
    outputs = np.zeros((30_000, 1 + encoding.blocks.width), np.float32)
    first = 1 + int(encoding.blocks.starts[0])
    outputs[:, first : first + 3] = np.log([0.6, 0.3, 0.1])

    drawn = encoding.drawn(outputs, np.zeros(1), np.random.default_rng(0))

    # Six standard deviations.
    np.testing.assert_allclose(np.bincount(drawn.column("a")) / 30_000, [0.6, 0.3, 0.1], atol=0.017)


def test_a_value_has_its_most_probable_mode() -> None:
    fitted = np.array([[0.6, 0.4, 0.0], [0.3, 0.3, 0.4], [0.0, 0.0, 1.0]])

    assert MODEL._mode_chances(fitted).tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
