"""What is said where memory runs out in the middle of a training: how it can go on, and what is not lost."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from syntabula._memory import memory_for


def training_memory(device: Any, *, batch: int | None = None) -> AbstractContextManager[None]:
    """Return within what ResourceError is raised if memory runs out on a device.

    Args:
        device: Of torch.
        batch: Records in a batch; None if it is paid for, so that no other can go on.
    """
    on_processor = device.type == "cpu"
    ways = [] if batch is None else [f"lower batch, which is {batch:,}"]
    ways += [] if on_processor else ['use device="cpu"']
    other = "" if on_processor else ' or with device="cpu",'
    kept = "goes on from what it kept last" if batch is not None else "goes on, and pays for nothing twice,"
    return memory_for(
        f"train on device {str(device)!r}",
        f"{', or '.join(ways) or 'end other programs'}. Once memory is free,{other} a run with a journal {kept} with "
        "resume",
    )
