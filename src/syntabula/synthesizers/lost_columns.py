"""Which found columns came out without information, or nearly, and which declared categories never come out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from syntabula.models.recoded import RecodedModel, one_way_of
from syntabula.table.schema.columns import Categorical, Identifier, Ordered

if TYPE_CHECKING:
    from syntabula.models.base import Model
    from syntabula.table.coding.codec import Codec
    from syntabula.table.raw import RawColumn
    from syntabula.table.schema.columns import Column

DRAWN = 1_000
"""Rows by which columns are judged."""

_NEARLY_ALL = 0.9
"""Part of the rows that hold "other", from which on a column says nothing of what it held."""

_MUCH_OTHER = 0.2
"""Part of the rows that hold "other", from which on a user is told of it."""

_HARDLY_ANY = 0.01
"""Part of the rows with a value, below which a user is told that a column is empty or nearly so."""

_NEVER = 1e-9
"""Part of the rows that a category has at most which never comes out."""

FEWEST_PARTS = 5
"""Parts of its range that a column of numbers, days or times tells apart at least, unless one is a single value."""


@dataclass(frozen=True, eq=False)
class FoundColumns:
    """Judges what came of columns, found or declared, by the release alone, so that it costs no privacy.

    Attributes:
        columns: Domains of those that were found.
        codec: How the columns of the release are coded.
        model: The distribution over their codes.
        hidden: Those of them of whose values noise hides all, as the statement says.
        noisy: Whether there is a budget; without privacy nothing is merged by noise.
        draw: Returns so many rows of the release.
    """

    columns: Mapping[str, Column]
    codec: Codec
    model: Model
    hidden: tuple[str, ...]
    noisy: bool
    draw: Callable[[int], Mapping[str, RawColumn]]

    @cached_property
    def lost(self) -> list[str]:
        """The columns that carry no information; see `is_lost`.

        Of those whose values noise hides, missing cells are all that may be left. Of declared ones these are numbers,
        days and times that come out as one value, though others are declared.
        """
        found = [n for n, c in self.columns.items() if n in self.hidden or is_lost(c, self._drawn[n])]
        return found + [name for name in self._declared if n_values(self._drawn[name]) <= 1]

    @property
    def blank(self) -> list[str]:
        """The found columns in which hardly any row holds a value; of an empty one, noise may leave a few."""
        return [name for name in self.columns if self._drawn[name].missing.mean() > 1 - _HARDLY_ANY]

    @property
    def _declared(self) -> list[str]:
        """The declared columns of numbers, days and times that may come out coarser by noise than was asked for."""
        return [
            name
            for name in self.codec.bins
            if self.noisy
            and name not in self.columns
            and isinstance(column := self.codec.schema[name], Ordered)
            and (column.bins is None or column.bins >= FEWEST_PARTS)
            and column.span()[0] < column.span()[1]
        ]

    @property
    def others(self) -> dict[str, float]:
        """The share of "other" in the columns that are not lost, where a user is told of it."""
        kept = {name: column for name, column in self.columns.items() if name not in self.lost}
        shares = {name: share_of_other(column, self._drawn[name]) for name, column in kept.items()}
        return {name: share for name, share in shares.items() if share >= _MUCH_OTHER}

    @property
    def coarse(self) -> list[str]:
        """The columns that are not lost and of which little more than bounds came out; see `is_coarse`."""
        ordered = [name for name in self.columns if self.noisy and name in self.codec.bins] + self._declared
        found = [name for name in ordered if is_coarse(name, self.codec, self.model)]
        return [name for name in found if name not in self.lost]

    @property
    def empty(self) -> dict[str, int]:
        """How many of the declared categories of each column never come out, where any does not.

        These are codes of which the model expects no record. It is part of the release, so this costs no privacy, and
        categories that no record has are among them. Without a budget nothing is hidden.
        """
        columns = {
            name: column
            for name, column in self.codec.schema.columns.items()
            if self.noisy and isinstance(column, Categorical) and column.provenance != "private"
        }
        counts = one_way_of(self.model, [*columns]) if columns else None
        found = {
            name: int(np.count_nonzero(held[: len(column.categories)] <= _NEVER * held.sum()))
            for (name, column), held in zip(columns.items(), counts or (), strict=bool(counts))
        }
        return {name: count for name, count in found.items() if count}

    @cached_property
    def _drawn(self) -> Mapping[str, RawColumn]:
        """Rows by which columns are judged; they bring no warnings, as rows that are drawn for use do."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.draw(DRAWN)


def is_coarse(name: str, codec: Codec, model: Model) -> bool:
    """Return whether a column has fewer than five codes for more points, none of which is a value of its own.

    The codes of a release and their merging are released, so this costs no privacy.

    Args:
        name: An ordered column.
        codec: How it is coded.
        model: The distribution over its codes, some of which may be merged, or empty.
    """
    column, bins, roundness = codec.schema[name], codec.bins[name], codec.roundness.get(name)
    assert isinstance(column, Ordered)
    lower, upper, integer = column.span()
    parts, held = _parts(name, column.n_codes(bins), model)
    parts, held = parts[: bins.size], held[: bins.size]
    distinct, codes, counts = np.unique(parts[held], return_inverse=True, return_counts=True)
    if distinct.size >= FEWEST_PARTS or (integer and upper - lower < distinct.size):
        return False
    if roundness is not None and not roundness.steps:
        # Each bin is a single value.
        return False
    ends = np.array([float(edge - bins.edges[0]) for edge in bins.edges])
    step = 1.0 if integer else math.ulp(max(abs(lower), abs(upper)))
    if roundness is not None and roundness.unit is not None:
        step = max(step, float(roundness.unit))
    alone = (counts == 1)[codes] & (np.diff(ends)[held] <= step * (1 + 1e-9))
    return not alone.any()


def _parts(name: str, size: int, model: Model) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return which of the codes that a model tells apart each code is part of, and which codes hold any rows [size]."""
    parts, held = np.arange(size), np.ones(size, dtype=np.bool_)
    while isinstance(model, RecodedModel):
        if name in model.recoding.maps:
            held &= model.recoding.shares[name][parts] > 0
            parts = model.recoding.maps[name][parts]
        model = model.inner
    return parts, held


def is_lost(column: Column, drawn: RawColumn) -> bool:
    """Return whether a column carries no information: it is made anew, holds one value, or "other" in nine of ten rows.

    Args:
        column: Its domain, which was found privately.
        drawn: Its values in `DRAWN` rows of the release, so that this costs no privacy.
    """
    if isinstance(column, Identifier):
        # Without privacy keys come out in the form that they have, which is all that there is.
        return column.pattern is None
    if share_of_other(column, drawn) >= _NEARLY_ALL:
        return True
    return n_values(drawn) + bool(drawn.missing.any()) <= 1


def n_values(drawn: RawColumn) -> int:
    """Return how many different values some cells hold, missing ones left out."""
    return len(set(drawn.values[~drawn.missing].tolist()))


def share_of_other(column: Column, drawn: RawColumn) -> float:
    """Return the part of some rows that holds "other"; 0 of a column that has no such category."""
    if not (isinstance(column, Categorical) and column.open):
        return 0.0
    held = drawn.values[~drawn.missing] == column.other_label
    return float(np.count_nonzero(held)) / max(drawn.missing.size, 1)
