"""Total variation distance over marginals of a few columns."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, names, normalise, several
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Codes
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.score import Score

DENSE_CELLS = 2**22
"""For marginals with more cells than this only occurring cells are counted: a histogram would take 32 MB."""

DENSE_CELLS_PER_ROW = 16
"""The same for more cells per row than this, most of which would be empty in a histogram."""


@dataclass(frozen=True, kw_only=True)
class TotalVariation:
    """Half the sum over cells of |p_real - p_synthetic|, averaged over all marginals with a number of columns.

    For pairs this is the fidelity error of Chen, Li, Gong, McKenna and Wang (tab_bench): numbers are rounded
    to 100 levels, as `Comparison.levels` describes. The paper's formula also includes each column paired
    with itself; its published figures are the mean over distinct pairs. A missing cell is a value
    of its own. Between 0 and 1.

    Attributes:
        way: Number of columns of a marginal; all columns if a table has fewer.
        levels: Number of levels of a numeric column.
        cliques: Columns of the marginals to compare, in place of all with so many columns.

    Raises:
        ArgumentError: If `way` is below 1 or `levels` below 2, or, when called, if a table lacks one of the columns.
    """

    way: int = 2
    levels: int = 100
    cliques: Sequence[Sequence[str]] = ()

    def __post_init__(self) -> None:
        normalise(self, way=count(), levels=count(2), cliques=several("a list of lists of columns"))
        object.__setattr__(self, "cliques", tuple(names("a clique", clique) for clique in self.cliques))

    @property
    def key(self) -> str:
        """Name of the metric."""
        return f"tvd-{self.way}"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator is not used."""
        del rng
        for name in itertools.chain(*self.cliques):
            if name not in tables.columns:
                raise ArgumentError(f"cliques name the column {name!r}, which the tables do not have")
        cliques = self.cliques or itertools.combinations(tables.columns, min(self.way, len(tables.columns)))
        coded = {name: tables.levels(name, self.levels) for name in tables.columns}
        sizes = {name: tables.n_levels(name, self.levels) for name in tables.columns}
        parts = {}
        for clique in map(tuple, cliques):
            parts[clique] = total_variation([coded[n] for n in clique], [sizes[n] for n in clique])
        return Score.mean(self.key, parts, direction="lower")


def total_variation(columns: Sequence[tuple[Codes, Codes]], sizes: Sequence[int]) -> float:
    """Return the total variation distance of the joint distributions of some columns of codes.

    Args:
        columns: For each column, the codes [rows each] in both tables.
        sizes: Number of codes of each column.
    """
    n_first = columns[0][0].size
    keys, cells = _cells([np.concatenate(pair) for pair in columns], sizes)
    if cells > min(DENSE_CELLS, DENSE_CELLS_PER_ROW * keys.size):
        keys, cells = _renumbered(keys)
    p, q = (np.bincount(key, minlength=cells) / key.size for key in (keys[:n_first], keys[n_first:]))
    return float(np.abs(p - q).sum() / 2)


def _cells(columns: Sequence[Codes], sizes: Sequence[int]) -> tuple[NDArray[np.int64], int]:
    """Return the index of each row's cell [rows] and the number of possible cells."""
    keys, cells = columns[0].astype(np.int64), sizes[0]
    for codes, size in zip(columns[1:], sizes[1:], strict=True):
        if cells > np.iinfo(np.int64).max // size:
            keys, cells = _renumbered(keys)
        keys = keys * size + codes
        cells *= size
    return keys, cells


def _renumbered(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Renumber the cells that occur, of which there are at most as many as rows."""
    occurring, places = np.unique(keys, return_inverse=True)
    return places.astype(np.int64), occurring.size
