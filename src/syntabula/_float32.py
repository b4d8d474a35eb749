"""What torch makes of products of float32 matrices, whatever the program around has chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from syntabula._extras import require

_KINDS = ("cpu", "cuda")


@contextmanager
def float32_products(*, rounded_by_gpus: bool = False) -> Iterator[None]:
    """Let torch multiply float32 matrices in float32, and restore what was chosen before afterwards.

    A program may have let torch round such products to bfloat16 (`torch.set_float32_matmul_precision`,
    `torch.autocast`), which processors and GPUs with such instructions then do.

    Args:
        rounded_by_gpus: A GPU rounds what it multiplies to TF32, by 2^-11 of itself; sums are float32.
    """
    torch = require("torch", "neural")
    restore = _restoring(torch)
    torch.set_float32_matmul_precision("high" if rounded_by_gpus else "highest")
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
