"""What torch makes of products of float32 matrices, whatever the program around has chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import RLock
from typing import Any

from syntabula._extras import require

_KINDS = ("cpu", "cuda")

_SETTING = RLock()
"""What is chosen holds for all threads of a program, so that one fit could change it while another clips gradients."""


@contextmanager
def exact_products() -> Iterator[None]:
    """Let torch multiply float32 matrices in float32, and restore what was chosen before afterwards.

    A program may have let torch round such products to bfloat16 (`torch.set_float32_matmul_precision`,
    `torch.autocast`), which processors and GPUs with such instructions then do. Within, other threads wait that want to
    enter this or `training_products`.
    """
    with _SETTING, _chosen("highest"):
        yield


@contextmanager
def training_products(*, rounded_by_gpus: bool) -> Iterator[None]:
    """Let torch multiply float32 matrices as a training without privacy asks, and restore what was chosen afterwards.

    Args:
        rounded_by_gpus: A GPU rounds what it multiplies to TF32, by 2^-11 of itself; sums are float32.
    """
    with ExitStack() as held:
        with _SETTING:
            held.enter_context(_chosen("high" if rounded_by_gpus else "highest"))
        try:
            yield
        finally:
            with _SETTING:
                held.close()


@contextmanager
def _chosen(precision: str) -> Iterator[None]:
    torch = require("torch", "neural")
    restore = _restoring(torch)
    torch.set_float32_matmul_precision(precision)
    try:
        with ExitStack() as stack:
            for kind in _KINDS:
                if torch.is_autocast_enabled(kind):
                    stack.enter_context(torch.autocast(kind, enabled=False))
            yield
    finally:
        restore()


def _restoring(torch: Any) -> Callable[[], None]:
    """Return what sets the precision of products as it is now."""
    # Newer versions of torch know one for each kind of device, and the older name has no word for some of these.
    places: list[Any] = [
        getattr(torch.backends.cuda, "matmul", None),
        getattr(torch.backends.mkldnn, "matmul", None),
    ]
    chosen = [(place, place.fp32_precision) for place in places if hasattr(place, "fp32_precision")]
    try:
        before = torch.get_float32_matmul_precision()
    except RuntimeError:
        before = None

    def restore() -> None:
        if before is not None:
            torch.set_float32_matmul_precision(before)
        for place, precision in chosen:
            place.fp32_precision = precision

    return restore
