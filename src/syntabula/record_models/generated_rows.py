"""Rows of a generator, drawn again by weights: by how real they look, or to have the marginals that were paid for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.models.base import Model, model_array_bytes, model_from_state, model_state, whole_model
from syntabula.models.restricted import Restricted, Weights, by_trying
from syntabula.record_models.base import counted_marginals
from syntabula.record_models.following import FollowingRows
from syntabula.record_models.levels import level_groups
from syntabula.record_models.representation import ColumnLookup, Places

_RAKINGS = 10
_LEAST_LIKELY = 0.05


def code_shares(domain: Domain, lookups: Mapping[str, ColumnLookup]) -> dict[str, FloatArray]:
    """Return the probability of each code of each column, by the lookups of its one-way marginal."""
    found = {}
    for column, lookup in lookups.items():
        shares = np.zeros(domain.size(column))
        shares[lookup.codes] = np.exp(lookup.log_shares.astype(np.float64))
        found[column] = shares / shares.sum()
    return found


def independent_rows(shares: Mapping[str, FloatArray], domain: Domain, n: int, seed: int) -> EncodedTable:
    """Draw n rows whose columns tell nothing of each other."""
    rng = np.random.default_rng([seed, n])
    drawn = {c: rng.choice(domain.size(c), n, p=shares[c]).astype(np.uint64) for c in domain}
    return EncodedTable.from_mapping(domain, drawn)


def odds(likely: FloatArray, strength: float) -> FloatArray:
    """Return the odds of rows to be real, to the power of `strength` [rows].

    A generator that is moved to rows by these odds seeks the boundary of its student (Hjelm et al. 2018,
    "Boundary-Seeking Generative Adversarial Networks").

    Args:
        likely: What the student thinks [rows]; clipped to 0.05 .. 0.95.
        strength: Above 0.
    """
    held = np.clip(likely, _LEAST_LIKELY, 1 - _LEAST_LIKELY)
    found: FloatArray = (held / (1 - held)) ** strength
    return found


def raked(weights: FloatArray, rows: EncodedTable, shares: Mapping[str, FloatArray]) -> FloatArray:
    """Return weights with which the columns of rows have some shares, and change little else [rows].

    Iterative proportional fitting (Deming, Stephan 1940), column by column, ten times. A code that no row has is left
    out of its column's shares.

    Args:
        weights: Of each row, above 0.
        rows: At least one.
        shares: Probability of each code of each column.
    """
    columns = [(codes, shares[c]) for c, codes in zip(rows.domain, rows.codes, strict=True)]
    return raked_to(weights, columns, times=_RAKINGS)


def raked_to(
    weights: FloatArray, divisions: Sequence[tuple[NDArray[Any], FloatArray]], *, times: int
) -> FloatArray:
    """Return weights with which the groups of some divisions of rows have some shares: see `raked` [rows].

    Args:
        weights: Of each row, above 0.
        divisions: The group of each row [rows], and the share of each group; the last one holds exactly.
        times: How often all of them are gone through.
    """
    found: FloatArray = weights / weights.sum()
    for _ in range(times):
        for groups, shares in divisions:
            held = np.bincount(groups, found, minlength=shares.size)
            wanted = np.where(held > 0, shares, 0.0)
            if not wanted.any():
                continue  # All rows are in groups without a share, which tells nothing of single ones.
            found = found * (wanted / np.maximum(held, 1e-300))[groups]
            found /= found.sum()
    return found


def drawn_again(rows: EncodedTable, weights: FloatArray, n: int, seed: int) -> EncodedTable:
    """Return n rows by their weights, each as often as whole numbers allow, in random order."""
    return rows_at(rows, places_again(weights, n, np.random.default_rng([seed, n])))


def places_again(weights: FloatArray, n: int, rng: np.random.Generator) -> Places:
    """Return n places by their weights, each as often as whole numbers allow, in random order."""
    heights = np.cumsum(weights)
    steps = (np.arange(n) + rng.random()) / n * heights[-1]
    return rng.permutation(np.minimum(np.searchsorted(heights, steps, side="right"), weights.size - 1))


def rows_at(rows: EncodedTable, places: Places) -> EncodedTable:
    """Return the rows at some places."""
    return EncodedTable(rows.domain, tuple(codes[places] for codes in rows.codes))


def _repeated(weights: FloatArray, n: int) -> float:
    """Return the share of n rows, drawn by weights, that have come out before."""
    return float(np.maximum(weights * (n / weights.sum()) - 1, 0).sum()) / n


def _joined(rows: EncodedTable, others: EncodedTable) -> EncodedTable:
    """Return rows and others below them."""
    pairs = zip(rows.codes, others.codes, strict=True)
    return EncodedTable(rows.domain, tuple(np.concatenate(pair) for pair in pairs))


_ROWS_PER_CODE = 10
_MORE, _MOST_MORE, _REPEATED = 0.25, 25_000, 0.05
_TRIED, _MANY = 20_000, 0.1


@dataclass(frozen=True, eq=False)
class RakedRows(Model):
    """Draws rows of another model, and draws them again by weights with which columns have their one-way marginals.

    The share of a code among n rows that are drawn one by one has a variance of p (1 - p) / n by chance, and in a network
    the square of what its biases lack is added. Neither tells anything of the records, while the noise of the paid
    marginal is in the model as well, as it started from this marginal. So rows follow the marginal wholly, by iterative
    proportional fitting, which keeps the odds ratios of columns.

    The variance of the weights is about the number of codes over that of rows: rows tell of all else as if they were
    fewer by one for each code. So fewer rows than ten per code are left as they were drawn. Given columns are left to
    the model, and so are conditions that fewer than a tenth of its rows satisfy, or that it draws first without noise.

    Without noise there may be as many codes as values, and any number of rows is drawn again. Codes are put in so many
    groups that ten rows are drawn for each. A row that comes out twice may have the same values twice. So a quarter more
    rows are drawn than come out, at most 25,000, and twice as many as come out where more than a twentieth would be
    repeated otherwise. Shares of groups then have none of the network's bias, and where this is small, a tenth to a half
    of the variance of rows that are drawn one by one.

    Attributes:
        inner: The model.
        counts: One-way marginal of each column, none of them below 0 and all with a sum above it.
        exact: Whether they are without noise.
    """

    kind: ClassVar[str] = "raked_rows"

    inner: Model
    counts: Mapping[str, FloatArray]
    exact: bool = False

    @property
    def domain(self) -> Domain:
        """The domain of the model."""
        return self.inner.domain

    @property
    def total(self) -> float:
        """Estimated number of records."""
        return self.inner.total

    @property
    def drawn_apart(self) -> Mapping[str, NDArray[np.intp]]:
        """As the model draws them."""
        return self.inner.drawn_apart

    @property
    def draws_slowly(self) -> bool:
        """As the model does."""
        return self.inner.draws_slowly

    def one_way(self, column: str) -> FloatArray:
        """Return the one-way marginal that a column of drawn rows has [codes]."""
        return self.counts[column]

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Draw n rows by weights that follow the one-way marginals; with `given`, draw as the model does."""
        if given is not None or self._levels(n) < 2:
            return self.inner.sample(n, rng, given)
        more = min(int(_MORE * n), _MOST_MORE) if self.exact else 0
        rows = self.inner.sample(n + more, rng)
        weights = self._weights(rows)
        if self.exact and _repeated(weights, n) > _REPEATED:
            rows = _joined(rows, self.inner.sample(n - more, rng))
            weights = self._weights(rows)
        return rows_at(rows, places_again(weights, n, rng))

    def _weights(self, rows: EncodedTable) -> FloatArray:
        """Return weights of drawn rows with which columns have their marginals [rows]."""
        levels = self._levels(rows.n_rows)
        divisions: list[tuple[NDArray[Any], FloatArray]] = []
        for column, codes in zip(rows.domain, rows.codes, strict=True):
            counts = self.counts[column]
            shares = counts / counts.sum()
            if shares.size > levels:
                groups = level_groups(counts, levels, ordered=column in rows.domain.ordered)
                codes, shares = groups.astype(np.min_scalar_type(levels))[codes], np.bincount(groups, shares)
            divisions.append((codes, shares))
        return raked_to(np.ones(rows.n_rows), divisions, times=_RAKINGS)

    def _levels(self, n: int) -> int:
        """Return how many groups of codes of a column n rows can follow; 0 for none."""
        sizes = self.domain.sizes
        if self.exact:
            return min(n // (_ROWS_PER_CODE * len(sizes)), max(sizes))
        return max(sizes) if n >= _ROWS_PER_CODE * sum(sizes) else 0

    def restricted(self, weights: Weights) -> Restricted:
        """Return the raked rows that satisfy conditions; the model's own if few do, or it draws conditions first."""
        found = self.inner.restricted(weights)
        # Networks that draw columns with conditions first err by what noise did to the order in which they draw columns.
        left = self.exact and isinstance(self.inner, FollowingRows) and self.inner.draws_conditions_first
        if left and len(weights) == 1 and found.probability > 0:
            ((column, chances),) = weights.items()
            counts = self.counts[column]
            # Rows without conditions have about this share, whatever the network says of it.
            share = float(counts @ chances / counts.sum())
            return replace(found, probability=share, error=0.0) if share > 0 else found
        return by_trying(self, weights, tried=_TRIED) if found.probability >= _MANY and not left else found

    def marginals(self, cliques: Sequence[Clique]) -> list[FloatArray]:
        """Return expected counts of each clique, one axis per column in its order, as counted on drawn rows."""
        return counted_marginals(self, cliques)

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return the state of the model, and the one-way marginals one after the other."""
        facts, arrays = model_state(self.inner)
        of_inner = {f"inner/{name}": array for name, array in arrays.items()}
        one_way = np.concatenate([self.counts[c] for c in self.domain])
        own = {"inner": facts, "sizes": list(self.domain.sizes), "exact": self.exact}
        return own, of_inner | {"one_way": one_way}

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int] | None:
        """Return the bytes of each array that belongs to stored facts; raises ReleaseFileError if malformed."""
        with whole_model():
            inner, bytes_of_counts = model_array_bytes(facts["inner"]), 8 * sum(map(int, facts["sizes"]))
        if inner is None:
            return None
        return {f"inner/{name}": n for name, n in inner.items()} | {"one_way": bytes_of_counts}

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild from `state`; raises ReleaseFileError if the parts do not fit together."""
        with whole_model():
            of_inner = {k.removeprefix("inner/"): v for k, v in arrays.items() if k.startswith("inner/")}
            inner, one_way = model_from_state(facts["inner"], of_inner), np.asarray(arrays["one_way"])
            domain: Domain = inner.domain
            if one_way.shape != (sum(domain.sizes),) or one_way.dtype != np.float64:
                raise ValueError("one-way marginals of another domain")
            if not (np.isfinite(one_way) & (one_way >= 0)).all():
                raise ValueError("marginals that are no counts")
            counts = dict(zip(domain, np.split(one_way, np.cumsum(domain.sizes)[:-1]), strict=True))
            if any(values.sum() <= 0 for values in counts.values()):
                raise ValueError("a column without records")
            return cls(inner, counts, exact=bool(facts.get("exact", False)))
