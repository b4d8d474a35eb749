"""Generator and critic: their losses, and that what draws rows is what was trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from syntabula.marginals.domain import Domain
from syntabula.record_models.adversarial import Adversarial, AdversarialNetwork
from syntabula.record_models.conditioned import trained_condition_shares
from syntabula.record_models.encoding import Encoder, Encoding, fitted_encoding

torch = pytest.importorskip("torch")

DOMAIN = Domain(("a", "b"), (3, 60), frozenset({"b"}))
MODEL = Adversarial(units=8, critic_units=8, hidden=4, modes=3, pac=2, dropout=0.0)


COUNTS = {"a": np.array([6.0, 3, 1]), "b": np.ones(60)}


def made(
    model: Adversarial = MODEL, counts: dict[str, np.ndarray] = COUNTS
) -> tuple[Encoding, AdversarialNetwork]:
    encoding, chances = fitted_encoding(DOMAIN, counts, 3)
    random = torch.Generator().manual_seed(0)
    network = model._network(Encoder(encoding, chances, "cpu"), random)
    for weight in network.parameters.values():
        weight += 0.3 * torch.randn(weight.shape, generator=random)
        weight.requires_grad_()
    return encoding, network


def critic_of(network: AdversarialNetwork) -> dict[str, Any]:
    return {name: w for name, w in network.parameters.items() if name.startswith("critic/")}


BATCH = torch.tensor([[0, 5, 0], [1, 30, 1], [2, 59, 2], [0, 7, 0]])


class TestPenalty:
    def test_slopes_and_their_gradients_are_those_of_automatic_differentiation(self) -> None:
        _, network = made()
        critic, random = critic_of(network), torch.Generator().manual_seed(1)
        packs = torch.randn((5, critic["critic/layer/0"].shape[0]), generator=random, requires_grad=True)
        scores = network._judged(packs, critic, random)
        (wanted,) = torch.autograd.grad(scores.sum(), packs, create_graph=True)
        names = [name for name in critic if "bias" not in name]

        found = network._slopes(packs.detach(), critic, random)

        lengths = wanted.norm(dim=1)
        np.testing.assert_allclose(found.detach(), lengths.detach(), rtol=1e-4)
        ours, theirs = (
            torch.autograd.grad(((slopes - 1) ** 2).sum(), [critic[n] for n in names], allow_unused=True)
            for slopes in (found, lengths)
        )
        for one, two in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-5)

    def test_without_a_penalty_the_critics_loss_is_the_difference_of_scores(self) -> None:
        model = Adversarial(units=8, critic_units=8, hidden=4, modes=3, pac=2, dropout=0.0, penalty=0.0)
        with_penalty, without = (
            made(m)[1].losses(BATCH, torch.Generator().manual_seed(2))[:, 0] for m in (MODEL, model)
        )

        assert (with_penalty > without).all()


class TestLosses:
    def test_neither_has_a_gradient_for_the_others_weights(self) -> None:
        _, network = made()
        names = list(network.parameters)

        losses = network.losses(BATCH, torch.Generator().manual_seed(2)).sum(0)

        for place, own in ((0, True), (1, False)):
            gradients = torch.autograd.grad(
                losses[place], [network.parameters[n] for n in names], retain_graph=True, allow_unused=True
            )
            for name, gradient in zip(names, gradients, strict=True):
                moved = gradient is not None and bool(gradient.abs().max() > 0)
                if name != "critic/bias/1":
                    assert moved == (name.startswith("critic/") == own), name

    def test_rows_of_a_pack_are_judged_together(self) -> None:
        _, network = made()

        critics = network.losses(BATCH, torch.Generator().manual_seed(2))[:, 0].tolist()

        assert critics[0] == critics[1] != critics[2] == critics[3]

    def test_the_generator_learns_its_condition(self) -> None:
        encoding, network = made()
        logits = network.parameters["bias/outputs"]
        block = 1 + int(encoding.blocks.starts[0])

        loss = network.losses(BATCH[:2], torch.Generator().manual_seed(2))[:, 1].sum()
        with torch.no_grad():
            logits[block : block + 3] += torch.tensor([50.0, 0.0, 0.0])
        sure = network.losses(BATCH[:2], torch.Generator().manual_seed(2))[:, 1].sum()

        # The second row's condition is the second category, which now has a log-probability near to -50.
        assert 30 < float((sure - loss).detach()) < 60


def test_what_draws_rows_is_the_generator_as_the_conditions_of_training_normalise_it() -> None:
    """By the conditions of the rows that it draws, frequent categories would move all means."""
    counts = {"a": np.array([8996.0, 2, 2]), "b": np.ones(60)}
    encoding, network = made(counts=counts)
    trained = {name: weight.detach().numpy() for name, weight in network.parameters.items()}
    kept = MODEL._kept(trained, encoding, 9000, np.random.default_rng(0))
    inputs = MODEL._inputs(8192, trained_condition_shares(encoding, 9000), np.random.default_rng(0))

    wanted = network._generated(torch.tensor(inputs)).detach().numpy()

    value = inputs
    for layer in range(2):
        value = np.concatenate(
            [np.maximum(value @ kept[f"layer/{layer}"] + kept[f"bias/{layer}"], 0), value], 1
        )
    found = value @ kept["outputs"] + kept["bias/outputs"]
    np.testing.assert_allclose(found, wanted, atol=2e-3)
    assert not any(name.startswith(("critic/", "scale/")) for name in kept)
