"""What is said where memory runs out in a training, or is too small for its trial: how to go on, and what is not lost."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from syntabula._memory import available_bytes, memory_for, table_mb
from syntabula.errors import ResourceError

SMALLER = "lower the options that make the model or its batch large, such as units, states, features or batch"

_USUAL = {"units": 512, "layers": 4, "embedding": 64, "states": 256, "draws": 256}
"""The largest values of options that a model is usually given."""


def to_lower(model: object, batch: int = 1) -> str:
    """Return what the user can lower for a training to take less memory, each with its value; empty if nothing.

    Args:
        model: Of its options those are named that are larger than usual.
        batch: Records in a batch; 1 if it cannot be lowered.
    """
    large = {
        name: value
        for name, usual in _USUAL.items()
        if isinstance(value := getattr(model, name, None), int) and value > usual
    }
    each = large | ({"batch": batch} if batch > 1 else {})
    return (
        "lower " + ", or ".join(f"{name}, which is {value:,}" for name, value in each.items()) if each else ""
    )


def require_room(numbers: int, device: Any) -> None:
    """Refuse to try a step of a training that the memory of this machine cannot hold, before any of it is taken.

    A system may end a process that takes all memory, and say nothing.

    Args:
        numbers: Least count of float32 numbers that the step holds.
        device: Of torch; the memory of a GPU is its own.

    Raises:
        ResourceError: If they do not fit.
    """
    free = available_bytes()
    if device.type == "cpu" and free is not None and 4 * numbers > free:
        raise ResourceError(
            f"there is not enough memory to try a step of training, which takes {table_mb(numbers, 4):,.0f} MB or more, "
            f"where {free / 2**20:,.0f} MB are free; {SMALLER}"
        )


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
