"""Merge codes of some columns, count the records in merged codes, and split them again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError, DataError, ReleaseFileError
from syntabula.marginals.counting import CountingEngine
from syntabula.marginals.domain import Clique, Domain, EncodedTable, code_dtype
from syntabula.marginals.measurement import FloatArray, Measurement, evidence

Number = TypeVar("Number", np.int64, np.float64)
_ROUNDING = 1e-12
_MANY_CELLS = 2**20
"""Marginals of more cells (8 MB) before their codes are merged are counted in merged codes."""


@dataclass(frozen=True, eq=False, repr=False)
class Recoding:
    """A map from old codes to new ones; several old codes may share a new code.

    Merging acts on each record separately, so neighbouring tables stay neighbours.

    Attributes:
        domain: The old domain.
        maps: For each column whose codes are merged: the new code of each old code [old size]. Each new code
            0 .. new size - 1 has at least one old code.
        shares: Non-negative weights [old size] by which a new code is split among its old codes; equal if a
            column is not given or has only zeros.
        evenly: Whether rows of a new code get each old one as often as its share says, but for rounding; else each row
            gets one by chance, as releases drew before they said which.
        target: The new domain.

    Raises:
        ArgumentError: If a map or a share does not fit its column.
    """

    domain: Domain
    maps: Mapping[str, NDArray[np.intp]]
    shares: Mapping[str, FloatArray] = field(default_factory=dict)
    evenly: bool = True
    target: Domain = field(init=False)

    def __post_init__(self) -> None:
        maps, shares, sizes = {}, {}, dict(zip(self.domain.columns, self.domain.sizes, strict=True))
        for column, given in self.maps.items():
            array = np.asarray(given)
            if array.shape != (self.domain.size(column),) or array.dtype.kind not in "ui":
                raise ArgumentError(f"the map of column {column!r} must give one integer for each old code")
            used = np.unique(array)
            if not np.array_equal(used, np.arange(used.size)):
                raise ArgumentError(f"the new codes of column {column!r} must be 0, 1, 2, ... without gaps")
            maps[column] = array.astype(np.intp)
            sizes[column] = int(used.size)
            shares[column] = self._normalised(column, maps[column])
        if set(self.shares) - set(maps):
            raise ArgumentError(
                "shares are given for a column that has no map; give shares only for columns in maps"
            )
        object.__setattr__(self, "maps", maps)
        object.__setattr__(self, "shares", shares)
        apart = {c: self._apart(c, n) for c, n in self.domain.apart.items()}
        edges = {c: e for c, e in self.domain.edges.items() if c not in maps}
        object.__setattr__(self, "target", Domain.from_sizes(sizes, self.domain.ordered, apart, edges))

    @cached_property
    def _runs(self) -> dict[str, tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Old codes of each merged column, sorted by new code, and the start of each new code's run."""
        orders = {column: np.argsort(codes, kind="stable") for column, codes in self.maps.items()}
        return {
            column: (order, np.searchsorted(self.maps[column][order], np.arange(self.target.size(column))))
            for column, order in orders.items()
        }

    def _normalised(self, column: str, codes: NDArray[np.intp]) -> FloatArray:
        """Return the shares of a column, summing to one over the old codes of each new code."""
        weights = np.asarray(self.shares.get(column, np.ones(codes.size)), dtype=np.float64)
        if weights.shape != codes.shape or not np.isfinite(weights).all() or (weights < 0).any():
            raise ArgumentError(
                f"shares of column {column!r} must be one non-negative number for each old code"
            )
        sums = np.bincount(codes, weights)
        weights = np.where(sums[codes] > 0, weights, 1.0)
        sums = np.bincount(codes, weights)[codes]
        # Shares that add up to one but for rounding stay as they are, as in a file that is read.
        normalised: FloatArray = np.where(np.abs(sums - 1) < _ROUNDING, weights, weights / sums)
        return normalised

    def _apart(self, column: str, count: int) -> int:
        """Return how many new codes at the end of a column come from nothing but old codes that stand apart."""
        if column not in self.maps:
            return count
        codes = self.maps[column]
        joined = codes[: codes.size - count][self.shares[column][: codes.size - count] > 0]
        return int(codes.max() - joined.max(initial=-1))

    @classmethod
    def identity(cls, domain: Domain) -> Recoding:
        """Return the recoding that changes nothing."""
        return cls(domain, {})

    def project(self, columns: Sequence[str]) -> Recoding:
        """Return the recoding of some columns."""
        kept = [c for c in columns if c in self.maps]
        maps, shares = {c: self.maps[c] for c in kept}, {c: self.shares[c] for c in kept}
        return Recoding(self.domain.project(columns), maps, shares, self.evenly)

    def then(self, other: Recoding) -> Recoding:
        """Return the composition of this recoding with another one over its target."""
        if other.domain != self.target:
            raise ArgumentError("the domain of the second recoding must be the target of the first")
        maps, shares = dict(self.maps), dict(self.shares)
        for column, second in other.maps.items():
            first = maps.get(column, np.arange(self.domain.size(column)))
            maps[column] = second[first]
            shares[column] = other.shares[column][first] * shares.get(column, np.ones(first.size))
        return Recoding(self.domain, maps, shares, self.evenly and other.evenly)

    def encode(self, table: EncodedTable) -> EncodedTable:
        """Map every row of a table to the new codes."""
        if table.domain != self.domain:
            raise DataError("the table's domain differs from the recoding's domain")
        columns = [
            self.maps[c].astype(code_dtype(self.target.size(c)))[codes] if c in self.maps else codes
            for c, codes in zip(table.domain.columns, table.codes, strict=True)
        ]
        return EncodedTable(self.target, tuple(columns))

    def decode(self, table: EncodedTable, rng: np.random.Generator) -> EncodedTable:
        """Draw an old code for every new one, in proportion to the shares.

        Where this is done evenly, it is in random order: chance would leave out or double the few records far out that
        hold most of a column's variance.
        """
        if table.domain != self.target:
            raise DataError("the table's domain differs from the recoding's target")
        columns = [
            self._divide(c, codes, rng) if c in self.maps else codes
            for c, codes in zip(table.domain.columns, table.codes, strict=True)
        ]
        return EncodedTable(self.domain, tuple(columns))

    def _divide(self, column: str, codes: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        # Old codes are sorted by new code; cumulative shares then rise from k to k + 1 within new code k, so
        # that k + u, with u uniform, falls on an old code of k with the probability of its share.
        order = np.argsort(self.maps[column], kind="stable")
        # Otherwise rounding could draw a code of share 0 at the border of two others.
        order = order[self.shares[column][order] > 0]
        groups = self.maps[column][order]
        cumulative = np.cumsum(self.shares[column][order])
        new = np.arange(self.target.size(column))
        starts = np.searchsorted(groups, new, side="left")
        ends = np.searchsorted(groups, new, side="right") - 1
        drawn = starts[codes]
        # Only codes that were several are searched for: rows are many, and a search takes longer than all else.
        several = np.flatnonzero((starts != ends)[codes])
        places = (
            _even_places(codes[several], new.size, rng) if self.evenly else _any_places(codes, rng)[several]
        )
        found = np.searchsorted(cumulative, places, side="right")
        drawn[several] = np.clip(found, starts[codes[several]], ends[codes[several]])
        old: NDArray[Any] = order.astype(code_dtype(self.domain.size(column)))[drawn]
        return old

    def merge_counts(self, clique: Clique, counts: NDArray[Number]) -> NDArray[Number]:
        """Sum counts [old sizes of the clique] over merged codes; returns [new sizes]."""
        self._check_shape(clique, counts, self.domain)
        merged = counts
        for axis, column in enumerate(clique):
            if column in self.maps:
                order, starts = self._runs[column]
                merged = np.add.reduceat(merged.take(order, axis=axis), starts, axis=axis)
        return merged

    def merge_possible(self, clique: Clique, cells: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which cells [new sizes] hold a possible one [old sizes] of codes that have a share."""
        counts = cells.astype(np.int64)
        for axis, column in enumerate(clique):
            if column in self.maps:
                shape = [1] * cells.ndim
                shape[axis] = -1
                counts *= (self.shares[column] > 0).reshape(shape)
        found: NDArray[np.bool_] = self.merge_counts(clique, counts) > 0
        return found

    def merge_measurement(self, measurement: Measurement) -> Measurement:
        """Return the measurement over new codes; the variances of summed cells are summed."""
        if not any(c in self.maps for c in measurement.clique):
            return measurement
        values = self.merge_counts(measurement.clique, measurement.values)
        if not np.any(measurement.sigma):
            return Measurement(measurement.clique, values, 0.0)
        old = np.broadcast_to(np.square(measurement.sigma), measurement.values.shape).astype(np.float64)
        return Measurement(measurement.clique, values, np.sqrt(self.merge_counts(measurement.clique, old)))

    def expand_counts(self, clique: Clique, counts: FloatArray) -> FloatArray:
        """Split counts [new sizes of the clique] among old codes by the shares; returns [old sizes]."""
        self._check_shape(clique, counts, self.target)
        expanded = counts
        for axis, column in enumerate(clique):
            if column in self.maps:
                shape = [1] * expanded.ndim
                shape[axis] = -1
                shares = self.shares[column].reshape(shape)
                expanded = np.take(expanded, self.maps[column], axis=axis) * shares
        return expanded

    def _check_shape(self, clique: Clique, counts: NDArray[Any], domain: Domain) -> None:
        # numpy would silently use only part of the codes.
        if counts.shape != domain.shape(clique):
            raise ArgumentError(f"counts of {clique} have shape {counts.shape}, not {domain.shape(clique)}")

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return JSON-able facts and named arrays; `from_state` reads them back."""
        columns = list(self.maps)
        facts = {"columns": list(self.domain.columns), "sizes": list(self.domain.sizes), "merged": columns}
        facts["evenly"] = self.evenly
        arrays: dict[str, NDArray[Any]] = {}
        for position, column in enumerate(columns):
            arrays[f"map/{position}"] = self.maps[column].astype(np.int64)
            arrays[f"share/{position}"] = self.shares[column]
        return facts, arrays

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int]:
        """Return the bytes of each array of `state`, by its facts; raises KeyError, TypeError or ValueError."""
        domain = Domain(tuple(facts["columns"]), tuple(facts["sizes"]))
        sizes = [8 * domain.size(c) for c in facts["merged"]]
        return {f"{kind}/{i}": n for i, n in enumerate(sizes) for kind in ("map", "share")}

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Recoding:
        """Rebuild from `state`; raises ReleaseFileError if the parts do not fit together."""
        try:
            domain = Domain(tuple(facts["columns"]), tuple(facts["sizes"]))
            merged = list(facts["merged"])
            maps = {c: arrays[f"map/{i}"] for i, c in enumerate(merged)}
            shares = {c: arrays[f"share/{i}"] for i, c in enumerate(merged)}
            return cls(domain, maps, shares, bool(facts.get("evenly", False)))
        except (KeyError, TypeError, ValueError):
            raise ReleaseFileError("the merged codes in this file are incomplete or inconsistent") from None

    def __repr__(self) -> str:
        return f"Recoding({len(self.maps)} of {len(self.domain)} columns)"


@dataclass(frozen=True, eq=False, repr=False)
class MergedCounts:
    """Counts the records of an engine in the present coding. Only the Curator calls it.

    Small marginals are counted in the engine's coding and merged afterwards, as it may hold these counts already. Three
    columns of a thousand categories each have a billion cells, however few of their codes are left: such marginals
    are counted from records in merged codes.

    Attributes:
        engine: Counts the encoded table exactly.
        recoding: How its codes are merged; None if they are not.
    """

    engine: CountingEngine
    recoding: Recoding | None = None

    def cells(self, clique: Clique) -> int:
        """Return how many cells are held while a clique is counted; depends only on the domains."""
        domain = self.recoding.target if self.recoding and self._is_wide(clique) else self.engine.domain
        return domain.cells(clique)

    def check_memory(self, cliques: Sequence[Clique]) -> None:
        """Raise ResourceError if counting these could need more memory than allowed; reads no row."""
        wide = [c for c in cliques if self._is_wide(c)]
        self.engine.check_memory([c for c in cliques if not self._is_wide(c)])
        if wide:
            self._merged.check_memory(wide)

    def counts(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Return the exact marginal of each clique in the present coding."""
        found: dict[int, NDArray[np.int64]] = {}
        small = [i for i, c in enumerate(cliques) if not self._is_wide(c)]
        if small:
            for i, counts in zip(small, self.engine.counts([cliques[i] for i in small]), strict=True):
                found[i] = self.recoding.merge_counts(cliques[i], counts) if self.recoding else counts
        wide = [i for i, c in enumerate(cliques) if self._is_wide(c)]
        if wide:
            found |= zip(wide, self._merged.counts([cliques[i] for i in wide]), strict=True)
        return [found[i] for i in range(len(cliques))]

    def _is_wide(self, clique: Clique) -> bool:
        if self.recoding is None:
            return False
        cells = self.engine.domain.cells(clique)
        return cells > _MANY_CELLS and cells > self.recoding.target.cells(clique)

    @cached_property
    def _merged(self) -> CountingEngine:
        assert self.recoding is not None
        return self.engine.mapped(self.recoding.target, self.recoding.encode)


def compress(one_way: Sequence[Measurement], *, domain: Domain, threshold_sigmas: float = 3.0) -> Recoding:
    """Merge the codes of every column whose counts are lost in the noise.

    A code is kept if its noisy count is at least `threshold_sigmas` standard deviations of its noise. The others
    become one last code, which is split equally again. A column with no code to keep, or at most one to merge, stays
    as it is (McKenna, Miklau, Sheldon 2021, "Winning the NIST Contest", domain compression). This is post-processing
    of measurements.

    Args:
        one_way: Measurements of single columns over the domain.
        domain: The domain they were measured over.
        threshold_sigmas: Number of standard deviations; 0 keeps all codes.

    Returns:
        The recoding of the columns that are merged.

    Raises:
        ArgumentError: If a measurement is not of one column, or the threshold is negative or not finite.
    """
    if isinstance(threshold_sigmas, bool | str) or not 0 <= threshold_sigmas < math.inf:
        raise ArgumentError(f"threshold_sigmas must be finite and at least 0; got {threshold_sigmas!r}")
    maps = {}
    for measurement in one_way:
        column = _column(measurement)
        kept = measurement.values >= threshold_sigmas * np.asarray(measurement.sigma)
        if threshold_sigmas > 0 and kept.any() and (~kept).sum() >= 2:
            maps[column] = _merged(kept)
    return Recoding(domain, maps)


def merge_rare(one_way: Sequence[Measurement], *, domain: Domain, theta: float = 0.002) -> Recoding:
    """Merge the rare codes of measured columns (Chen et al., tab_bench, Algorithm 1).

    A code is rare if its noisy count is below max(theta * sum of the noisy counts, 3 standard deviations of
    the noise). Rare codes become one last code, which is split again in proportion to max(noisy count, 0) + 1. This
    is more accurate than the paper's equal split and costs nothing. If some of them have evidence
    (`marginals.measurement`), the others get no share.

    Args:
        one_way: Measurements of the large columns over the domain.
        domain: The domain they were measured over.
        theta: Smallest fraction of the records that a kept code holds, 0 .. 1.

    Returns:
        The recoding of the columns that are merged.

    Raises:
        ArgumentError: If a measurement is not of one column, or theta is not within 0 .. 1.
    """
    if isinstance(theta, bool | str) or not 0 <= theta <= 1:
        raise ArgumentError(f"theta must be a fraction of the records from 0 to 1; got {theta!r}")
    maps, shares = {}, {}
    for measurement in one_way:
        column = _column(measurement)
        least = np.maximum(theta * measurement.values.sum(), 3 * np.asarray(measurement.sigma))
        rare = measurement.values < least
        if rare.sum() >= 2:
            maps[column] = _merged(~rare)
            sigmas = np.broadcast_to(np.asarray(measurement.sigma), measurement.values.shape)
            apart = domain.apart.get(column, 0)
            kept = evidence(measurement.values, sigmas, ordered=False, apart=apart).kept
            possible = kept if (kept & rare).any() else np.ones_like(kept)
            shares[column] = np.where(possible, np.maximum(measurement.values, 0) + 1, 0)
    return Recoding(domain, maps, shares)


def _column(measurement: Measurement) -> str:
    if len(measurement.clique) != 1:
        raise ArgumentError(
            f"merging codes needs measurements of single columns; got one of {measurement.clique}"
        )
    return measurement.clique[0]


def _merged(kept: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return new codes: kept codes in order, all others as one last code."""
    return np.where(kept, np.cumsum(kept) - 1, kept.sum()).astype(np.intp)


def _even_places(codes: NDArray[Any], size: int, rng: np.random.Generator) -> FloatArray:
    """Return a number from k to k + 1 for each code k [n]: those of each code lie at even distances, in random order."""
    numbers = np.bincount(codes, minlength=size)
    shuffled = rng.permutation(codes.size)
    rows = shuffled[np.argsort(codes[shuffled], kind="stable")]
    ranks = np.arange(codes.size) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    begun = np.repeat(rng.random(size), numbers)
    places = np.empty(codes.size)
    places[rows] = np.repeat(np.arange(size), numbers) + (ranks + begun) / np.repeat(numbers, numbers)
    return places


def _any_places(codes: NDArray[Any], rng: np.random.Generator) -> FloatArray:
    """Return a number from k to k + 1 for each code k, by chance [n]."""
    places: FloatArray = codes + rng.random(codes.size)
    return places
