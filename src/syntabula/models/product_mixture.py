"""A mixture of products: soft rows, with one distribution per column in each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syntabula._memory import above_limit, table_mb
from syntabula.errors import ArgumentError, ConditionWarning, ResourceError, warn_caller
from syntabula.marginals.domain import Clique, Domain, EncodedTable, code_dtype
from syntabula.marginals.measurement import FloatArray
from syntabula.models.base import check_sample
from syntabula.models.restricted import Restricted, Weights
from syntabula.models.tables import round_rows

_NUMBERS_AT_ONCE = 8_000_000
"""Work space for a product of columns (32 MB of float32)."""


@dataclass(frozen=True, eq=False, repr=False)
class ProductMixture:
    """Equally likely rows, each a product of one distribution per column.

    All two-way marginals together are one Gram matrix of `probabilities`; a wider marginal sums row-wise
    products of the columns' blocks.

    Attributes:
        domain: Columns and sizes.
        probabilities: float32 [rows, sum of sizes]; the block of each column sums to 1 in each row.

    Raises:
        ArgumentError: If the array has the wrong shape, or a block does not sum to 1.
    """

    domain: Domain
    probabilities: NDArray[np.float32]

    def __post_init__(self) -> None:
        array = np.ascontiguousarray(self.probabilities, dtype=np.float32)
        object.__setattr__(self, "probabilities", array)
        if array.ndim != 2 or not len(array) or array.shape[1] != sum(self.domain.sizes):
            raise ArgumentError("soft rows must have one number per row and code, in at least one row")
        sums = np.add.reduceat(array, self._starts[:-1], axis=1, dtype=np.float64)
        if not (array >= 0).all() or not np.allclose(sums, 1.0, rtol=0, atol=1e-4):
            raise ArgumentError("the distribution of a column in a soft row must be positive and sum to 1")

    @property
    def memory_mb(self) -> float:
        """Size of the rows."""
        return self.probabilities.nbytes / 2**20

    @cached_property
    def _starts(self) -> list[int]:
        """Start of each column's block, and the end of the last."""
        return [0, *np.cumsum(self.domain.sizes).tolist()]

    def block(self, column: str) -> NDArray[np.float32]:
        """Return the distributions [rows, codes] of one column."""
        position = self.domain.index(column)
        return self.probabilities[:, self._starts[position] : self._starts[position + 1]]

    def marginals(self, cliques: Sequence[Clique], *, limit_mb: float = math.inf) -> list[FloatArray]:
        """Return the probabilities of each clique's cells, one axis per column in the clique's order.

        Raises:
            SchemaError: If a clique names an unknown column, or one twice.
            ResourceError: If the tables would be larger than the limit; nothing was allocated.
        """
        wanted = [self.domain.canonical(c) for c in cliques]
        needed = table_mb(sum(self.domain.cells(c) for c in wanted))
        if needed > limit_mb:
            raise ResourceError(
                f"{len(wanted)} marginals need {above_limit(needed, limit_mb)}; request fewer or narrower marginals, or "
                "raise max_memory_mb"
            )
        pairs = self._pairs({c for c in wanted if len(c) == 2})
        found = []
        for given, clique in zip(cliques, wanted, strict=True):
            table = pairs[clique] if clique in pairs else self._table(clique)
            table = table.astype(np.float64) / table.sum(dtype=np.float64)
            found.append(table.transpose([clique.index(c) for c in given]))
        return found

    def _pairs(self, wanted: set[Clique]) -> dict[Clique, NDArray[np.float32]]:
        """Return two-way tables, with one matrix product for all partners of a column."""
        partners: dict[str, list[str]] = {}
        for first, second in wanted:
            partners.setdefault(first, []).append(second)
        found: dict[Clique, NDArray[np.float32]] = {}
        for first, others in partners.items():
            positions = [self.domain.index(c) for c in others]
            start, stop = self._starts[min(positions)], self._starts[max(positions) + 1]
            product = self.block(first).T @ self.probabilities[:, start:stop]
            for other, position in zip(others, positions, strict=True):
                part = slice(self._starts[position] - start, self._starts[position + 1] - start)
                found[first, other] = product[:, part]
        return found

    def _table(self, clique: Clique) -> NDArray[np.float32]:
        """Return the table of any number of columns, up to a constant factor."""
        if len(clique) < 2:
            return self.block(clique[0]).sum(axis=0) if clique else np.ones((), dtype=np.float32)
        *heads, last = clique
        chunk = max(1, _NUMBERS_AT_ONCE // self.domain.cells(heads))
        table = np.zeros((self.domain.cells(heads), self.domain.size(last)), dtype=np.float32)
        for start in range(0, len(self.probabilities), chunk):
            part = slice(start, start + chunk)
            product = self.block(heads[0])[part]
            for column in heads[1:]:
                product = (product[:, :, None] * self.block(column)[part, None, :]).reshape(len(product), -1)
            table += product.T @ self.block(last)[part]
        return table.reshape(self.domain.shape(clique))

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Draw n hard rows; with `given` (n rows over some columns), the other columns conditionally.

        Every soft row is drawn floor(n / rows) times or once more, and the codes of its copies are drawn by
        rounding, column by column: the same expected counts as independent draws, with less variance.

        Raises:
            ArgumentError: If n is not an integer of at least 0, or differs from the number of given rows.
            SchemaError: If a given column is unknown or of another size.
            ResourceError: If so many rows would not fit the memory of any machine.
        """
        check_sample(self.domain, n, given)
        if given is not None:
            return self._sample_given(int(n), rng, given)
        copies = np.full(len(self.probabilities), n // len(self.probabilities))
        copies[rng.permutation(len(copies))[: n % len(copies)]] += 1
        return self._sample_copies(copies, rng)

    def _sample_copies(self, copies: NDArray[np.integer], rng: np.random.Generator) -> EncodedTable:
        """Draw the given number of hard rows from each soft row."""
        n = int(copies.sum())
        group = np.repeat(np.arange(len(copies)), copies)
        order = rng.permutation(n)
        columns = []
        for column, size in zip(self.domain.columns, self.domain.sizes, strict=True):
            shares = self.block(column).astype(np.float64)
            shares *= copies[:, None] / shares.sum(axis=1, keepdims=True)
            counts = round_rows(shares, copies, rng)
            codes = np.repeat(np.tile(np.arange(size, dtype=code_dtype(size)), len(copies)), counts.ravel())
            # The codes of a group in random order: sorting by group + uniform shuffles only within groups.
            columns.append(codes[np.argsort(group + rng.random(n))][order])
        return EncodedTable(self.domain, tuple(columns))

    def restricted(self, weights: Weights) -> Restricted:
        """Return the mixture times one weight per code of some columns, which is a mixture with unequal weights."""
        likelihood = np.ones(len(self.probabilities))
        probabilities = self.probabilities.copy()
        for column, weight in weights.items():
            position = self.domain.index(column)
            part = slice(self._starts[position], self._starts[position + 1])
            weighed = self.block(column) * weight
            sums = weighed.sum(axis=1, keepdims=True)
            probabilities[:, part] = np.divide(weighed, sums, out=np.zeros_like(weighed), where=sums > 0)
            likelihood *= sums[:, 0] / self.block(column).sum(axis=1, dtype=np.float64)
        kept = np.flatnonzero(likelihood)
        if not kept.size:
            return Restricted(0.0, self.sample)
        rows, shares = ProductMixture(self.domain, probabilities[kept]), likelihood[kept] / likelihood.sum()

        def draw(n: int, rng: np.random.Generator) -> EncodedTable:
            copies = round_rows(shares[None, :] * n, np.array([n]), rng)[0]
            return rows._sample_copies(copies, rng)

        return Restricted(float(likelihood.mean()), draw)

    def _sample_given(self, n: int, rng: np.random.Generator, given: EncodedTable) -> EncodedTable:
        chosen = self._rows_given(n, rng, given)
        columns = []
        for column in self.domain.columns:
            if column in given.domain:
                columns.append(given.column(column))
                continue
            codes = _drawn(self.block(column), chosen, rng.random(n))
            columns.append(codes.astype(code_dtype(self.domain.size(column))))
        return EncodedTable(self.domain, tuple(columns))

    def _rows_given(self, n: int, rng: np.random.Generator, given: EncodedTable) -> NDArray[np.intp]:
        """Draw the soft row of each given row, by its likelihood."""
        chosen, heights = np.zeros(n, dtype=np.intp), rng.random(n)
        logs = [np.log(np.maximum(self.block(c), 1e-30)).T for c in given.domain.columns]
        # Rows that are tried again and again, as under conditions, have the same likelihoods.
        kinds, kind = np.unique(np.stack(given.codes, axis=1).astype(np.intp), axis=0, return_inverse=True)
        kind = kind.ravel()
        chunk = max(1, _NUMBERS_AT_ONCE // len(self.probabilities))
        for start in range(0, len(kinds), chunk):
            some = kinds[start : start + chunk]
            likelihood = np.zeros((len(some), len(self.probabilities)), dtype=np.float32)
            for log, codes in zip(logs, some.T, strict=True):
                likelihood += log[codes]
            likelihood -= likelihood.max(axis=1, keepdims=True)
            rows = np.flatnonzero((kind >= start) & (kind < start + chunk))
            chosen[rows] = _drawn(np.exp(likelihood), kind[rows] - start, heights[rows])
        impossible = np.zeros(n, dtype=np.bool_)
        for column, codes in zip(given.domain.columns, given.codes, strict=True):
            impossible |= self.block(column)[chosen, codes] == 0
        if impossible.any():
            warn_caller(
                ConditionWarning(
                    f"the values of {int(impossible.sum()):,} of {n:,} given rows are impossible together in this model; "
                    "their other columns were drawn with some of the given values ignored"
                )
            )
        return chosen


def _drawn(
    chances: NDArray[np.float32], rows: NDArray[np.intp], heights: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Return a place in each of some rows of a table, by the chances there [n].

    Args:
        chances: [rows, places], in proportion.
        rows: The row of each draw [n].
        heights: From 0 to below 1, even at random [n].
    """
    cumulative = np.cumsum(chances, axis=1, dtype=np.float64)
    cumulative /= cumulative[:, -1:]
    # The cumulative sums of row r are in (r, r + 1], so that one search serves all rows.
    cumulative += np.arange(len(cumulative))[:, None]
    places = np.searchsorted(cumulative.ravel(), rows + heights, side="right") - rows * chances.shape[1]
    found: NDArray[np.intp] = np.clip(places, 0, chances.shape[1] - 1)
    return found


def even_rows(domain: Domain) -> ProductMixture:
    """Return one soft row in which all codes of a column are equally likely."""
    shares = [np.full(size, 1.0 / size, dtype=np.float32) for size in domain.sizes]
    return ProductMixture(domain, np.concatenate(shares)[None, :])
