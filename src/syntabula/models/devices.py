"""Where soft rows are fitted, and with how many threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from syntabula._extras import require
from syntabula.errors import ArgumentError


@contextmanager
def training_threads(n: int) -> Iterator[None]:
    """Let torch use so many threads of the processor, and as many as before afterwards.

    Sums are split between threads, so another number of them gives another rounding, and another model.
    """
    torch = require("torch", "neural")
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def pick_device(name: str) -> Any:
    """Return the device of a name; "auto" is the first CUDA device, or else the processor.

    Raises:
        ArgumentError: If there is no such device.
        MissingExtraError: If torch is not installed.
    """
    torch = require("torch", "neural")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        raise ArgumentError(f"torch has no device {name!r} on this machine") from None
    return device


def multiplies_bfloat16(device: Any) -> bool:
    """Return whether the device multiplies bfloat16 numbers faster than float32 ones."""
    torch = require("torch", "neural")
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
