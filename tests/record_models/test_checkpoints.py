"""The state of a training as bytes."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.errors import ReleaseFileError
from syntabula.record_models.checkpoints import go_on, packed, unpacked

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


def test_bytes_of_other_tensors_are_refused() -> None:
    for values in [np.zeros(7, np.uint8), np.zeros(8), np.zeros((2, 4), np.uint8)]:
        with pytest.raises(ReleaseFileError, match="checkpoint does not fit the network"):
            unpacked(values, [torch.zeros(2)])


def test_a_generator_on_another_kind_of_device_goes_on_from_a_seed_of_the_state() -> None:
    of_a_gpu = torch.arange(16, dtype=torch.uint8)
    ours = torch.Generator()

    weights, state = unpacked(packed([torch.ones(3), of_a_gpu]), [torch.zeros(3), ours.get_state()])

    assert weights.tolist() == [1.0] * 3
    assert torch.equal(state, of_a_gpu)
    go_on(ours, state)
    first = torch.rand(4, generator=ours)
    go_on(ours, state)
    assert torch.equal(first, torch.rand(4, generator=ours))
    go_on(ours, kept := torch.Generator().manual_seed(7).get_state())
    assert torch.equal(ours.get_state(), kept)
