"""Which cases stand for all in the quick tests; the others are marked `thorough`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

# One of each way to learn: chosen, a tree, rounds, a network of columns, cells, networks on records, votes, counts.
QUICK_METHODS = ("auto", "mst", "aim", "privbayes", "gem", "dp-merf", "tab-pe", "circuit")

# Their selector and their model are those of other methods, with other options.
VARIANTS = ("margnet-q", "rap", "tablediffusion")
# Their rows come from a model that another method has too.
MODEL_OF_ANOTHER = (
    *(
        "independent",
        "privmrf",
        "mwem",
        "margnet",
        "margnet-q",
        "margnet-s",
        "rap",
        "tablediffusion",
        "pategan",
    ),
)


def thorough_but(kept: Callable[[Any], bool] | Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """Return parameters of which those that are not kept are `thorough`: `make test-all` has them all."""
    chosen = kept if callable(kept) else set(kept).__contains__
    return [v if chosen(v) else pytest.param(v, marks=pytest.mark.thorough) for v in values]
