"""Which cases stand for all in the quick tests; the others are marked `thorough`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

# One of each way to learn: chosen, a tree, rounds, a network of columns, cells, networks on records, votes, counts.
QUICK_METHODS = ("auto", "mst", "aim", "privbayes", "gem", "dp-merf", "tab-pe", "circuit")


def thorough_but(kept: Callable[[Any], bool] | Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """Return parameters of which those that are not kept are `thorough`: `make test-all` has them all."""
    chosen = kept if callable(kept) else set(kept).__contains__
    return [v if chosen(v) else pytest.param(v, marks=pytest.mark.thorough) for v in values]
