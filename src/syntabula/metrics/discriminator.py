"""Whether a classifier can tell synthetic rows from real ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, normalise, one_of
from syntabula._extras import require
from syntabula.metrics.comparison import Comparison, View
from syntabula.metrics.features import main_effects, ordinal
from syntabula.metrics.score import Score
from syntabula.metrics.sharing import shares_out
from syntabula.table.unit_rows import parted

_MOST_EFFECTS = 2000
"""With more effects than this, a solver whose cost is not quadratic in them fits the model."""

_RIDGE = 1e8
"""Inverse strength of a negligible penalty; without one, separable tables have no solution."""


@dataclass(frozen=True, kw_only=True)
class PropensityError:
    """Mean of (p - c)^2, with p the fitted probability that a row is synthetic and c the fraction of synthetic rows.

    Snoke, Raab, Nowok, Dibben and Slavkovic, "General and specific utility measures for synthetic data"
    (2018), with the logistic regression on main effects that they call the simplest model. It is 0 if the
    model cannot tell the rows apart, and c (1 - c) if it always can: 0.25 for tables of equal length. The
    facts include its ratio to their expectation for a correct synthesis, (k - 1) (1 - c)^2 c / n with k
    parameters and n rows. They treat the real table as fixed; if it is a random sample like the synthetic
    one, as in HALF, the ratio is 1 / (1 - c), which is 2 for tables of equal length.

    Attributes:
        max_rows: Rows of each table that are used.

    Raises:
        ArgumentError: If `max_rows` is below 1.
    """

    max_rows: int = 20_000

    def __post_init__(self) -> None:
        normalise(self, max_rows=count())

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "pmse"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator draws the sample."""
        sample = tables.sampled(self.max_rows, rng)
        views = (sample.real, sample.synthetic)
        sparse, linear = require("scipy.sparse", "evaluate"), require("sklearn.linear_model", "evaluate")
        effects = sparse.vstack([main_effects(tables, view) for view in views], format="csr")
        synthetic = np.repeat([0, 1], [view.n_rows for view in views])
        # An effect that is constant over all rows is not a parameter.
        varies = effects.max(axis=0).toarray() > effects.min(axis=0).toarray()
        effects = effects[:, np.flatnonzero(varies)]
        share = float(synthetic.mean())
        if effects.shape[1]:
            # Newton's method is quadratic in the number of effects.
            solver = "newton-cholesky" if effects.shape[1] <= _MOST_EFFECTS else "lbfgs"
            model = linear.LogisticRegression(C=_RIDGE, solver=solver, max_iter=1000).fit(effects, synthetic)
            p = model.predict_proba(effects)[:, 1]
        else:
            p = np.full(synthetic.size, share)
        value = float(((p - share) ** 2).mean())
        expected = effects.shape[1] * (1 - share) ** 2 * share / synthetic.size
        facts: dict[str, int | float | str] = {"rows": synthetic.size}
        if expected:
            facts["ratio to its expectation"] = value / expected
        return Score(metric=self.key, value=value, direction="lower", facts=facts)


_TREES = 100
_LEAF = 20
_SHARED_OUT = (
    "the synthetic rows share out the records' values, so that the half that is tested complements the one that is "
    "learned: the area under the curve ({area:.2f}) is too low, and rows of a second draw would be told apart better"
)


@dataclass(frozen=True, kw_only=True)
class DiscriminatorSimilarity:
    """1 minus twice the mean of |p - 1/2|, where p is a classifier's probability that a row is synthetic.

    Ganev, Annamalai, Mahiou and De Cristofaro, "The Importance of Being Discrete" (2025), Equation 3, read
    with the 1 outside the mean, so that it lies between 0 and 1. The paper does not name its classifier: here
    a random forest of 100 trees with at least 20 rows in a leaf is trained on one half of the rows and
    tested on the other. Even for tables that cannot be told apart its probabilities vary by chance, so the
    value stays below 1: compare it with HALF. The facts include the area under the curve of the same forest
    (0.5: it cannot tell).

    Both halves are of the same table, so that the area is too low where rows share out what is drawn, as Synthpop's
    do: a half with more of a value leaves fewer of it to the other (.51 on bean, where rows of a second draw give
    .56). No split of one table avoids this; train on the rows of one draw and test on those of another. The note says so
    where the counts of a column show it (`sharing.shares_out`).

    Attributes:
        max_rows: Rows of each table that are used.
        trees: "forest", or "boosted" for 200 trees of XGBoost of depth 5, which tell more tables apart.

    Raises:
        ArgumentError: If `max_rows` is below 4, or `trees` is no other word.
        MissingExtraError: When called, if scikit-learn or xgboost is not installed.
    """

    max_rows: int = 10_000
    trees: Literal["forest", "boosted"] = "forest"

    def __post_init__(self) -> None:
        normalise(self, max_rows=count(4), trees=one_of("forest", "boosted"))

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "discriminator-similarity"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator draws the sample, the halves and the trees."""
        sample = tables.sampled(self.max_rows, rng)
        views = (sample.real, sample.synthetic)
        if min(view.n_rows for view in views) < 4:
            return Score.mean(self.key, {}, direction="higher", needed="there are fewer than 4 rows")
        if any(view.units is not None and np.unique(view.units).size < 2 for view in views):
            return Score.mean(self.key, {}, direction="higher", needed="all rows are of one unit")
        rows = np.concatenate([ordinal(tables, view) for view in views])
        synthetic = np.repeat([0, 1], [view.n_rows for view in views])
        # Both halves have equally many rows of each table, or nearly so if units are kept together.
        learns = np.concatenate([_half(view, rng) for view in views])

        measures = require("sklearn.metrics", "evaluate")
        trees = _CLASSIFIERS[self.trees](int(rng.integers(2**31)))
        trees.fit(rows[learns], synthetic[learns])
        p = trees.predict_proba(rows[~learns])[:, 1]
        area = float(measures.roc_auc_score(synthetic[~learns], p))
        return Score(
            metric=self.key,
            value=float(1 - 2 * np.abs(0.5 - p).mean()),
            direction="higher",
            facts={"area under the curve": area, "rows": rows.shape[0]},
            note=_SHARED_OUT.format(area=area) if shares_out(tables) else "",
        )


def _forest(seed: int) -> Any:
    ensemble = require("sklearn.ensemble", "evaluate")
    return ensemble.RandomForestClassifier(
        n_estimators=_TREES, min_samples_leaf=_LEAF, class_weight="balanced", random_state=seed
    )


def _boosted(seed: int) -> Any:
    xgboost = require("xgboost", "evaluate")
    return xgboost.XGBClassifier(
        n_estimators=2 * _TREES, max_depth=5, learning_rate=0.1, n_jobs=1, random_state=seed
    )


_CLASSIFIERS: Mapping[str, Callable[[int], Any]] = {"forest": _forest, "boosted": _boosted}


def _half(view: View, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which rows of a table are in a random half [rows]; all rows of a unit are, or none."""
    if view.units is None:
        half: NDArray[np.bool_] = rng.permutation(view.n_rows) % 2 == 0
        return half
    half = np.zeros(view.n_rows, dtype=np.bool_)
    half[parted(view.n_rows // 2, view.n_rows, view.units, rng)[0]] = True
    return half
