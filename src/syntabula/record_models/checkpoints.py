"""What a training without a budget keeps in its journal, so that a run that was killed goes on from there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula.errors import ReleaseFileError
from syntabula.privacy.journal import Checkpoint

if TYPE_CHECKING:
    from torch import Tensor

PARTS = 5
"""Parts of the steps, after each of which the state of a training is kept."""


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
        like: Tensors of the same shapes, types and devices.

    Raises:
        ReleaseFileError: If the bytes are not those of such tensors.
    """
    torch = require("torch", "neural")
    sizes = [t.numel() * t.element_size() for t in like]
    if values.dtype != np.uint8 or values.shape != (sum(sizes),):
        raise ReleaseFileError(
            "the journal is damaged: its checkpoint does not fit the network; put back the file as the run left it"
        )
    pieces = torch.from_numpy(values.copy()).split(sizes)
    # A copy begins where numbers of any size may begin.
    return [p.clone().view(t.dtype).reshape(t.shape).to(t.device) for p, t in zip(pieces, like, strict=True)]
