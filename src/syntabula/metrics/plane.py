"""Projects rows onto a plane by principal components or t-SNE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from syntabula._arguments import one_of
from syntabula._extras import require
from syntabula.metrics.comparison import Comparison, Floats
from syntabula.metrics.features import points

Method = Literal["pca", "tsne"]

MOST_ROWS = 1000
"""Rows of each table that are shown."""


@dataclass(frozen=True, eq=False)
class Plane:
    """Rows of both tables as points of one plane.

    Attributes:
        real: Points [rows, 2].
        synthetic: Points [rows, 2].
        explained: Fraction of the variance that the plane keeps; None for t-SNE, which preserves neighbours.
    """

    real: Floats
    synthetic: Floats
    explained: float | None

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """Least and largest coordinates [2 each]."""
        both = np.concatenate([self.real, self.synthetic])
        low, high = both.min(axis=0), both.max(axis=0)
        return low, np.where(high > low, high, low + 1)


def check_method(method: str) -> None:
    """Refuse a projection that cannot be computed here; raises ArgumentError or MissingExtraError."""
    one_of(*get_args(Method))("plane", method)
    if method == "tsne":
        require("sklearn.manifold", "evaluate")


def lay_out(tables: Comparison, method: Method, seed: int) -> Plane:
    """Project random rows of both tables onto one plane, where similar rows are neighbours.

    PCA is that of Pearson (1901), t-SNE that of van der Maaten and Hinton (2008) as scikit-learn computes it.
    The distances of rows are those of `metrics.features.points`.

    Args:
        tables: Both tables.
        method: "pca" or "tsne".
        seed: Chooses the rows.

    Raises:
        MissingExtraError: If scikit-learn is not installed, for t-SNE.
    """
    few = tables.sampled(MOST_ROWS, np.random.default_rng(seed))
    rows = np.concatenate([points(few, few.real), points(few, few.synthetic)]).astype(np.float64)
    if method == "pca":
        placed, explained = _components(rows)
    else:
        placed, explained = _neighbours(rows, seed), None
    return Plane(placed[: few.real.n_rows], placed[few.real.n_rows :], explained)


def _components(rows: Floats) -> tuple[Floats, float]:
    centred = rows - rows.mean(axis=0)
    left, lengths, _ = np.linalg.svd(centred, full_matrices=False)
    placed = np.zeros((len(rows), 2))
    kept = min(2, lengths.size)
    placed[:, :kept] = left[:, :kept] * lengths[:kept]
    variance = float((lengths**2).sum())
    return placed, float((lengths[:2] ** 2).sum() / variance) if variance else 1.0


def _neighbours(rows: Floats, seed: int) -> Floats:
    manifold = require("sklearn.manifold", "evaluate")
    if len(rows) < 4:
        return _components(rows)[0]
    perplexity = min(30.0, (len(rows) - 1) / 3)
    placed: Floats = manifold.TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(rows)
    return placed.astype(np.float64)
