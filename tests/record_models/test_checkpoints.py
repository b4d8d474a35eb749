"""The state of a training as bytes."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.errors import ReleaseFileError
from syntabula.record_models.checkpoints import moments_of, packed, set_moments, unpacked

torch = pytest.importorskip("torch")


def test_what_is_unpacked_is_what_was_packed_whatever_its_type() -> None:
    tensors = [
        torch.tensor([True, False, True]),
        torch.tensor([[1.5, float("inf")], [-0.0, 1e-40]]),
        torch.zeros(0),
        torch.tensor(3, dtype=torch.int64),
        torch.tensor([2.5, -1.0], dtype=torch.bfloat16),
        torch.tensor([0.1], dtype=torch.float64),
    ]

    found = unpacked(packed(tensors), [torch.zeros_like(t) for t in tensors])

    assert all(torch.equal(a, b) and a.dtype == b.dtype for a, b in zip(found, tensors, strict=True))


@pytest.mark.parametrize("values", [np.zeros(7, np.uint8), np.zeros(8), np.zeros((2, 4), np.uint8)])
def test_bytes_of_other_tensors_are_refused(values: np.ndarray) -> None:
    with pytest.raises(ReleaseFileError, match="checkpoint does not fit the network"):
        unpacked(values, [torch.zeros(2)])


def test_an_optimiser_with_the_same_moments_takes_the_same_step() -> None:
    def begun() -> tuple[list[torch.Tensor], torch.optim.AdamW]:
        weights = [torch.ones(2).requires_grad_(), torch.ones(1).requires_grad_()]
        return weights, torch.optim.AdamW(weights, lr=0.1, fused=True)

    def stepped(weights: list[torch.Tensor], optimiser: torch.optim.AdamW, gradient: float) -> None:
        # The second weight is never moved.
        weights[0].grad = torch.full((2,), gradient)
        optimiser.step()

    (weights, optimiser), (others, resumed) = begun(), begun()
    stepped(weights, optimiser, 3.0)
    for weight, other in zip(weights, others, strict=True):
        set_moments(resumed, other, [m.clone() for m in moments_of(optimiser, weight)])
    with torch.no_grad():
        others[0].copy_(weights[0])

    stepped(weights, optimiser, -1.0)
    stepped(others, resumed, -1.0)

    assert torch.equal(weights[0], others[0])
    assert [float(moments_of(o, w)[0]) for o, w in ((resumed, others[0]), (resumed, others[1]))] == [2, 0]
