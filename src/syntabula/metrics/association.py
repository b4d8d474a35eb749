"""How strongly two columns depend on each other, with one measure for each kind of pair."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from syntabula.marginals.domain import Codes
from syntabula.metrics.comparison import Comparison, Floats, View
from syntabula.metrics.score import Part, Score


@dataclass(frozen=True, kw_only=True)
class Association:
    """Mean over pairs of columns of |association in real - association in synthetic|.

    The association is Pearson's correlation of two numeric columns (Zhang et al. 2024), the correlation ratio
    of a categorical and a numeric one (Kotelnikov et al. 2023), and Theil's uncertainty coefficient of two
    categorical ones (Zhao et al. 2021), averaged over both directions. Rows with a missing number are left
    out of the pairs of that column; a missing category counts as a category. A constant column has
    association 0. Du and Li (SynMeter) point out that associations may agree where distributions do not.
    """

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "association"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator is not used."""
        del rng
        real, synthetic = (associations(tables, view) for view in (tables.real, tables.synthetic))
        gaps = {pair: float(np.mean(np.abs(np.subtract(real[pair], synthetic[pair])))) for pair in real}
        return Score.mean(self.key, gaps, direction="lower", needed="there is only one column")


def associations(tables: Comparison, view: View) -> dict[Part, tuple[float, ...]]:
    """Return the association of each pair of columns in a table: one number, or two for Theil's U."""
    correlations = correlation_matrix([view.numbers[name] for name in tables.numeric])
    place = {name: i for i, name in enumerate(tables.numeric)}
    found: dict[Part, tuple[float, ...]] = {}
    for first, second in itertools.combinations(tables.columns, 2):
        if first in place and second in place:
            found[first, second] = (float(correlations[place[first], place[second]]),)
        elif first in place or second in place:
            number, category = (first, second) if first in place else (second, first)
            found[first, second] = (
                correlation_ratio(view.codes[category], view.numbers[number], tables.size(category)),
            )
        else:
            sizes = tables.size(first), tables.size(second)
            found[first, second] = theils_u(view.codes[first], view.codes[second], sizes)
    return found


def correlation_matrix(columns: list[Floats]) -> Floats:
    """Return Pearson's correlation of each pair of columns [columns, columns] over their complete rows.

    A column that is constant there has correlation 0 with others; the diagonal is 1.
    """
    if not columns:
        return np.zeros((0, 0))
    x = np.column_stack(columns)
    known = ~np.isnan(x)
    centre = np.array([c[k].mean() if k.any() else 0.0 for c, k in zip(columns, known.T, strict=True)])
    x = np.where(known, x - centre, 0.0)
    # For each pair: the number of complete rows, and sums of one column, of its squares and of the products.
    weight = known.astype(np.float64)
    n, sums, squares, products = weight.T @ weight, x.T @ weight, (x * x).T @ weight, x.T @ x
    with np.errstate(invalid="ignore", divide="ignore"):
        covariance = products - sums * sums.T / n
        variance = squares - sums**2 / n
        # After centring, a constant leaves only rounding errors.
        variance[variance <= 1e-12 * squares] = 0.0
        matrix: Floats = covariance / np.sqrt(variance * variance.T)
    matrix[~np.isfinite(matrix)] = 0.0
    np.fill_diagonal(matrix, 1.0)
    return np.clip(matrix, -1.0, 1.0)


def correlation_ratio(codes: Codes, numbers: Floats, size: int) -> float:
    """Return the square root of the fraction of a number's variance that is between categories (0 to 1).

    Args:
        codes: Categories [rows].
        numbers: Numbers [rows]; rows where they are missing are ignored.
        size: Number of categories.
    """
    known = ~np.isnan(numbers)
    if not known.any():
        return 0.0
    present, groups = numbers[known] - numbers[known].mean(), codes[known]
    total = float(present @ present)
    counts = np.bincount(groups, minlength=size)
    sums = np.bincount(groups, weights=present, minlength=size)
    between = float((sums**2 / np.maximum(counts, 1)).sum())
    return float(np.sqrt(min(between / total, 1.0))) if total > 0 else 0.0


def theils_u(first: Codes, second: Codes, sizes: tuple[int, int]) -> tuple[float, float]:
    """Return the uncertainty coefficients U(first | second) and U(second | first), each 0 to 1.

    U(x | y) is the fraction of the entropy of x that knowing y removes.
    """
    keys = first.astype(np.int64) * sizes[1] + second
    joint = _entropy(np.unique(keys, return_counts=True)[1])
    alone = _entropy(np.bincount(first)), _entropy(np.bincount(second))
    shared = max(alone[0] + alone[1] - joint, 0.0)
    u_first, u_second = (min(shared / entropy, 1.0) if entropy > 1e-12 else 0.0 for entropy in alone)
    return u_first, u_second


def _entropy(counts: np.ndarray[tuple[int], np.dtype[np.intp]]) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares @ np.log(shares)))


@dataclass(frozen=True, kw_only=True)
class CorrelationSimilarity:
    """Mean over all entries of min / max of the two correlation matrices, mapped to 0 .. 1 by (r + 1) / 2.

    Ganev, Annamalai, Mahiou and De Cristofaro, "The Importance of Being Discrete" (2025), Equation 5. The mean
    is over d x d entries, so the diagonal counts as 1. Numeric columns only: the correlation of categories
    depends on their numbering, which the paper does not specify.
    """

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "correlation-similarity"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator is not used."""
        del rng
        if not tables.numeric:
            return Score.mean(self.key, {}, direction="higher", needed="there is no numeric column")
        views = (tables.real, tables.synthetic)
        real, synthetic = (
            (correlation_matrix([view.numbers[name] for name in tables.numeric]) + 1) / 2 for view in views
        )
        larger = np.maximum(real, synthetic)
        ratio = np.divide(np.minimum(real, synthetic), larger, out=np.ones_like(larger), where=larger > 0)
        pairs = itertools.combinations(range(len(tables.numeric)), 2)
        parts: dict[Part, float] = {
            (tables.numeric[i], tables.numeric[j]): float(ratio[i, j]) for i, j in pairs
        }
        return Score(metric=self.key, value=float(ratio.mean()), direction="higher", details=parts)
