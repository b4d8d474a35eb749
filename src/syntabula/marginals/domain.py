"""Domains, tables encoded in them, and workloads: the marginals that a synthetic table should preserve."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, positive, refusal
from syntabula.errors import ArgumentError, DataError, SchemaError

_SIZE = count()

Clique = tuple[str, ...]
"""A set of columns, written as a tuple of names; arrays of a clique have one axis per name, in its order."""


@dataclass(frozen=True)
class Domain:
    """Column names and their number of codes, in order.

    Attributes:
        columns: Distinct column names.
        sizes: Number of codes of each column, at least 1; codes run from 0 to size - 1.
        ordered: Columns whose codes have an order, such as bins of a number; ignored when domains are compared.
        apart: How many codes at the end of a column are not values like the others, such as those of missing and
            other values; 0 for a column that is not given. Ignored when domains are compared.
        edges: Ends of the codes of ordered columns whose codes are bins, in ascending order; of bins alone, not of codes
            apart. Columns need not be given. Ignored when domains are compared.

    Raises:
        SchemaError: If a name is repeated, a size is not a positive integer, or an ordered column is unknown.

    Examples:
        >>> domain = Domain(("age", "sex"), (10, 2))
        >>> domain.cells(("sex", "age"))
        20
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    ordered: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    apart: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)
    edges: Mapping[str, Sequence[float]] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "ordered", frozenset(self.ordered))
        sizes = tuple(self.sizes)
        if len(self.columns) != len(sizes):
            raise SchemaError(f"{len(self.columns)} columns but {len(sizes)} sizes were given")
        if len(set(self.columns)) != len(self.columns):
            repeated = sorted({c for c in self.columns if self.columns.count(c) > 1})
            raise SchemaError(f"columns {repeated} are named more than once; give each column its own name")
        try:
            # Thousands of domains are made; a plain positive int skips the rule.
            checked = [
                n if type(n) is int and n > 0 else _SIZE(f"the size of column {c!r}", n)
                for c, n in zip(self.columns, sizes, strict=True)
            ]
        except ArgumentError as error:
            raise SchemaError(str(error)) from None
        object.__setattr__(self, "sizes", tuple(checked))
        if unknown := self.ordered - set(self.columns):
            raise SchemaError(f"ordered columns {sorted(unknown)} are not in the domain")
        object.__setattr__(self, "_position", {c: i for i, c in enumerate(self.columns)})
        object.__setattr__(self, "_size", dict(zip(self.columns, self.sizes, strict=True)))

    @classmethod
    def from_sizes(
        cls,
        sizes: Mapping[str, int],
        ordered: Iterable[str] = (),
        apart: Mapping[str, int] | None = None,
        edges: Mapping[str, Sequence[float]] | None = None,
    ) -> Domain:
        """Make a domain from a mapping of column names to sizes."""
        return cls(tuple(sizes), tuple(sizes.values()), frozenset(ordered), apart or {}, edges or {})

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, column: object) -> bool:
        return column in self._position  # type: ignore[attr-defined]

    def index(self, column: str) -> int:
        """Return the position of a column; raises SchemaError if there is none of that name."""
        try:
            return self._position[column]  # type: ignore[attr-defined, no-any-return]
        except KeyError:
            raise SchemaError(f"there is no column {column!r}; columns are {list(self.columns)}") from None

    def size(self, column: str) -> int:
        """Return the number of codes of one column."""
        return self.sizes[self.index(column)]

    def shape(self, clique: Iterable[str]) -> tuple[int, ...]:
        """Return the shape of a clique's marginal: one axis per column, in the clique's order."""
        sizes: dict[str, int] = self._size  # type: ignore[attr-defined]
        members = tuple(clique)
        try:
            return tuple([sizes[c] for c in members])
        except KeyError:
            return tuple(self.size(c) for c in members)  # raises an error that names the unknown column

    def cells(self, clique: Iterable[str]) -> int:
        """Return the number of cells of a clique's marginal (exact, any magnitude)."""
        return math.prod(self.shape(clique))

    def canonical(self, clique: Iterable[str]) -> Clique:
        """Return the clique with its columns in the order of the domain; raises SchemaError on repeats."""
        members = tuple(clique)
        if len(members) == 2:  # wide tables have thousands of pairs in each round
            place: dict[str, int] = self._position  # type: ignore[attr-defined]
            first, second = place.get(members[0], -1), place.get(members[1], -1)
            if 0 <= first != second >= 0:
                return members if first < second else members[::-1]
        if len(set(members)) != len(members):
            raise SchemaError(f"clique {members} names a column twice")
        return tuple(sorted(members, key=self.index))

    def project(self, clique: Iterable[str]) -> Domain:
        """Return the domain of some columns, in the order given."""
        members = tuple(clique)
        apart = {c: n for c, n in self.apart.items() if c in members}
        edges = {c: e for c, e in self.edges.items() if c in members}
        return Domain(members, self.shape(members), self.ordered & set(members), apart, edges)


def contains(outer: Clique, inner: Clique) -> bool:
    """Return whether every column of `inner` is one of `outer`."""
    return set(inner) <= set(outer)


def all_cliques(columns: Sequence[str], k: int) -> list[Clique]:
    """Return all sets of k of the columns, in lexicographic order of their positions.

    Args:
        columns: Distinct column names.
        k: Columns per clique, 0 .. number of columns; there is one clique of no columns.

    Raises:
        ArgumentError: If k is not such an integer, or a column is named twice.
    """
    k = count(0, len(columns))("k", k)
    if len(set(columns)) != len(columns):
        raise ArgumentError("a column is named twice")
    return list(combinations(columns, k))


def distinct(cliques: Iterable[Clique]) -> list[Clique]:
    """Return each set of columns once, with its columns in the order first given."""
    first: dict[frozenset[str], Clique] = {}
    for clique in cliques:
        first.setdefault(frozenset(clique), tuple(clique))
    return list(first.values())


def downward_closure(cliques: Iterable[Clique]) -> list[Clique]:
    """Return all non-empty subsets of the cliques, each once, small ones first.

    A subset keeps the order of columns of the first clique that it comes from.
    """
    given = distinct(cliques)
    widest = max((len(c) for c in given), default=0)
    subsets = (s for k in range(1, widest + 1) for c in given for s in combinations(c, k))
    return distinct(subsets)


def maximal(cliques: Iterable[Clique]) -> list[Clique]:
    """Return the cliques that are not contained in another one, each once, in their order."""
    given = distinct(cliques)
    wide_first = sorted((frozenset(c) for c in given), key=len, reverse=True)
    kept: list[frozenset[str]] = []
    for clique in wide_first:
        if not any(clique < other for other in kept):
            kept.append(clique)
    top = set(kept)
    return [c for c in given if frozenset(c) in top]


Codes = NDArray[np.unsignedinteger]


def code_dtype(size: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest unsigned type that holds the codes 0 .. size - 1."""
    return np.min_scalar_type(max(size - 1, 0))


@dataclass(frozen=True, eq=False, repr=False)
class EncodedTable:
    """Rows of codes over a domain.

    Attributes:
        domain: Columns and their sizes.
        codes: One array [rows] per column, in the domain's order, in the smallest unsigned type.

    Raises:
        DataError: If lengths differ, or a code lies outside its column's size.
    """

    domain: Domain
    codes: tuple[Codes, ...]

    def __post_init__(self) -> None:
        if len(self.codes) != len(self.domain):
            raise DataError(f"{len(self.codes)} code columns were given for {len(self.domain)} columns")
        small: list[Codes] = []
        for column, size, codes in zip(self.domain.columns, self.domain.sizes, self.codes, strict=True):
            array = np.asarray(codes)
            if array.ndim != 1 or array.dtype.kind not in "ui":
                raise DataError(f"codes of column {column!r} must be a one-dimensional integer array")
            if array.size and (int(array.min()) < 0 or int(array.max()) >= size):
                raise DataError(f"column {column!r} has a code outside 0 .. {size - 1}")
            small.append(np.ascontiguousarray(array, dtype=code_dtype(size)))
        if len({column.size for column in small}) > 1:
            raise DataError("the columns of an encoded table differ in length")
        object.__setattr__(self, "codes", tuple(small))

    @classmethod
    def from_mapping(cls, domain: Domain, codes: Mapping[str, NDArray[Any]]) -> EncodedTable:
        """Make a table from a mapping of column names to codes; it must hold every column of the domain."""
        return cls(domain, tuple(codes[c] for c in domain.columns))

    @property
    def n_rows(self) -> int:
        """Number of rows (exact, so it is sensitive if the table is)."""
        return int(self.codes[0].size) if self.codes else 0

    def column(self, name: str) -> Codes:
        """Return the codes [rows] of one column."""
        return self.codes[self.domain.index(name)]

    def project(self, columns: Sequence[str]) -> EncodedTable:
        """Return the table of some columns, in the order given."""
        return EncodedTable(self.domain.project(columns), tuple(self.column(c) for c in columns))

    def __repr__(self) -> str:
        return f"EncodedTable({len(self.domain)} columns)"


@dataclass(frozen=True)
class Workload:
    """Cliques and their weights.

    Attributes:
        cliques: At least one; no two with the same columns.
        weights: One positive finite number per clique; 1 for each by default.

    Raises:
        ArgumentError: If there is no clique, one is named twice, or the weights do not fit.

    Examples:
        >>> Workload((("age", "sex"), ("age", "pay"))).weights
        (1.0, 1.0)
    """

    cliques: tuple[Clique, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if any(isinstance(c, str) for c in self.cliques):
            raise ArgumentError("a clique is a tuple of column names, not one string")
        cliques = tuple(tuple(c) for c in self.cliques)
        if not cliques:
            raise ArgumentError("a workload needs at least one clique")
        for clique in cliques:
            if len(set(clique)) != len(clique):
                raise ArgumentError(f"clique {clique} names a column twice")
        if len(distinct(cliques)) != len(cliques):
            raise ArgumentError(
                "two cliques of the workload have the same columns; keep one, with the sum of their weights"
            )
        weights = tuple(self.weights) or (1.0,) * len(cliques)
        if len(weights) != len(cliques):
            raise ArgumentError(f"{len(weights)} weights were given for {len(cliques)} cliques")
        pairs = zip(cliques, weights, strict=True)
        object.__setattr__(self, "weights", tuple(positive(f"the weight of clique {c}", w) for c, w in pairs))
        object.__setattr__(self, "cliques", cliques)

    @classmethod
    def all_kway(cls, domain: Domain, k: int) -> Workload:
        """Return all sets of k columns of a domain, each with weight 1.

        Raises:
            ArgumentError: If k is not an integer from 0 to the number of columns.
        """
        return cls(tuple(all_cliques(domain.columns, k)))

    @classmethod
    def of(cls, entries: Sequence[Sequence[str] | Mapping[str, Any]]) -> Workload:
        """Return a workload written as a list, as in a YAML file.

        Args:
            entries: Each a list of columns, or a mapping with `columns` and `weight`.

        Raises:
            ArgumentError: If an entry is neither.

        Examples:
            >>> Workload.of([["age", "sex"], {"columns": ["age", "pay"], "weight": 2}]).weights
            (1.0, 2.0)
        """
        cliques: list[Clique] = []
        weights: list[Any] = []
        for entry in entries:
            mapping = entry if isinstance(entry, Mapping) else {"columns": entry, "weight": 1.0}
            columns, weight = mapping.get("columns"), mapping.get("weight", 1.0)
            if set(mapping) - {"columns", "weight"} or not isinstance(columns, list | tuple):
                raise ArgumentError(
                    "each marginal of a workload must be a list of columns, or a mapping with `columns` and `weight`"
                )
            if not all(isinstance(c, str) for c in columns):
                raise ArgumentError("the columns of a workload must be given by their names")
            cliques.append(tuple(columns))
            weights.append(weight)
        return cls(tuple(cliques), tuple(weights))

    def __len__(self) -> int:
        return len(self.cliques)


WorkloadOption = Workload | Sequence[Any] | int
"""A workload as an option: a `Workload`, a list for `Workload.of`, or the number of columns of its marginals."""


def checked_workload(option: WorkloadOption) -> Workload | int:
    """Return a workload, or a number of columns of at least 1; raises ArgumentError for anything else."""
    if isinstance(option, Workload):
        return option
    if isinstance(option, Sequence) and not isinstance(option, str):
        return Workload.of(option)
    try:
        n_columns: int = count()("workload", option)
    except ArgumentError:
        raise refusal(
            "workload", "a Workload, a list of marginals, or their number of columns", option
        ) from None
    return n_columns


def workload_over(option: WorkloadOption, domain: Domain) -> Workload:
    """Return a workload over a domain, columns in its order; a number above that of the columns means all of them.

    Raises:
        ArgumentError: If the option is not a workload.
        SchemaError: If it names an unknown column.
    """
    checked = checked_workload(option)
    if isinstance(checked, int):
        return Workload.all_kway(domain, min(checked, len(domain)))
    return Workload(tuple(domain.canonical(c) for c in checked.cliques), checked.weights)
