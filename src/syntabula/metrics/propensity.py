"""pMSE: the mean squared error of propensities to be synthetic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syntabula._arguments import count, normalise
from syntabula._extras import require
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.features import main_effects
from syntabula.metrics.score import Score

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
