"""The state of a training as bytes."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.errors import ReleaseFileError
from syntabula.record_models.checkpoints import packed, unpacked

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
