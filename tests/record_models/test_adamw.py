"""AdamW beside torch's own."""

from __future__ import annotations

import pytest

from syntabula.record_models.adamw import WEIGHT_DECAY, AdamW

torch = pytest.importorskip("torch")


def test_weights_move_as_by_the_optimiser_of_torch_and_those_without_a_gradient_stay() -> None:
    betas = (0.5, 0.9)
    ours, theirs = (
        [torch.arange(6.0).reshape(2, 3).requires_grad_(), torch.ones(2), torch.ones(())] for _ in range(2)
    )
    mine = AdamW(ours, betas)
    reference = torch.optim.AdamW(theirs, betas=betas, weight_decay=WEIGHT_DECAY, fused=True)
    random = torch.Generator().manual_seed(0)

    for rate in (0.1, 0.01, 0.3):
        for own, other in list(zip(ours, theirs, strict=True))[:2]:
            own.grad = torch.randn(own.shape, generator=random)
            other.grad = own.grad.clone()
        mine.step(rate)
        reference.param_groups[0]["lr"] = rate
        reference.step()

    assert all(torch.equal(own, other) for own, other in zip(ours, theirs, strict=True))
    assert [float(taken) for taken in mine.taken] == [3, 3, 0]
    assert torch.equal(mine.second[1], reference.state[theirs[1]]["exp_avg_sq"])


def test_gradients_are_let_go() -> None:
    weight = torch.ones(2)
    weight.grad = torch.ones(2)

    AdamW([weight]).forget_gradients()

    assert weight.grad is None


@pytest.mark.parametrize("longest", [0.5, 100.0])
def test_gradients_are_shortened_together_as_by_torch(longest: float) -> None:
    ours, theirs = ([torch.zeros(2, 3), torch.zeros(4), torch.zeros(())] for _ in range(2))
    random = torch.Generator().manual_seed(0)
    for own, other in list(zip(ours, theirs, strict=True))[:2]:
        own.grad = torch.randn(own.shape, generator=random)
        other.grad = own.grad.clone()

    AdamW(ours).shorten_gradients(longest)
    torch.nn.utils.clip_grad_norm_(theirs, longest)

    for own, other in list(zip(ours, theirs, strict=True))[:2]:
        torch.testing.assert_close(own.grad, other.grad)
    assert ours[2].grad is None
