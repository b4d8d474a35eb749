"""What a training without a budget keeps in its journal, so that a run that was killed goes on from there."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula.errors import ReleaseFileError
from syntabula.privacy.journal import Checkpoint

if TYPE_CHECKING:
    from torch import Generator, Tensor

PARTS = 5
"""Parts of the steps, after each of which the state of a training is kept."""

_STATES = (16, 5056)
"""Bytes of the state of a generator of torch, on a GPU and on a processor."""


class Checkpoints(Protocol):
    """Where a training without a budget is kept, such as `privacy.training.exact.OpenRecords`."""

    @property
    def resumed(self) -> Checkpoint | None:
        """What was kept last, from which training goes on; None if it begins."""
        ...

    def checkpoint(self, steps: int, values: NDArray[Any]) -> None:
        """Keep all that the next step needs after so many steps, in the place of what was kept before."""
        ...


def packed(tensors: Sequence[Tensor]) -> NDArray[np.uint8]:
    """Return the bytes of all numbers of some tensors [bytes]."""
    torch = require("torch", "neural")
    parts = [t.detach().cpu().reshape(-1).contiguous().view(torch.uint8) for t in tensors]
    found: NDArray[np.uint8] = torch.cat(parts).numpy()
    return found


def unpacked(values: NDArray[Any], like: Sequence[Tensor]) -> list[Tensor]:
    """Return the tensors that were packed.

    Args:
        values: From `packed`.
        like: Tensors of the same shapes, types and devices; where the last is the state of a generator, that which was
            packed may be of a generator on another kind of device (`go_on`).

    Raises:
        ReleaseFileError: If the bytes are not those of such tensors.
    """
    torch = require("torch", "neural")
    sizes = [t.numel() * t.element_size() for t in like]
    *before, last = sizes
    if last in _STATES and values.size - sum(before) in _STATES:
        sizes = [*before, values.size - sum(before)]
        like = [*like[:-1], like[-1].new_empty(sizes[-1])]
    if values.dtype != np.uint8 or values.shape != (sum(sizes),):
        raise ReleaseFileError(
            "the journal is damaged: its checkpoint does not fit the network; put back the file as the run left it"
        )
    pieces = torch.from_numpy(values.copy()).split(sizes)
    # A copy begins where numbers of any size may begin.
    return [p.clone().view(t.dtype).reshape(t.shape).to(t.device) for p, t in zip(pieces, like, strict=True)]


def go_on(random: Generator, state: Tensor) -> None:
    """Let a generator go on from a state that was kept; one on another kind of device begins anew, seeded by it."""
    if len(state) == len(random.get_state()):
        random.set_state(state)
    else:
        random.manual_seed(int.from_bytes(sha256(state.numpy().tobytes()).digest()[:7]))
