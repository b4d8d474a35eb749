"""Whether a training went astray, and what of all that was paid for stands then.

A learning rate that is too high leaves weights that are no numbers, or a network that draws a few codes alone. All that
is looked at here was released: weights that follow from noisy gradients, rows that are drawn by public chance, and noisy
one-way marginals. So it costs no privacy, and a run that is resumed comes to the same.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from syntabula._memory import ran_out
from syntabula.errors import TrainingError, TrainingWarning, warn_caller
from syntabula.marginals.domain import EncodedTable
from syntabula.marginals.measurement import FloatArray, consistent_total, project_simplex
from syntabula.models.base import Model
from syntabula.models.bayesian_network import BayesianNetwork
from syntabula.record_models.one_way import OneWayStart
from syntabula.record_models.representation import one_way_counts

_ROWS = 4096
_FREQUENT = 0.01
_FEWEST_RECORDS = 50
_FARTHEST = 0.3
"""Of five methods on a made-up table, those at the default rate were within .02, and most at rates from .3 beyond."""
_COLLAPSED = 0.8
"""Adversarial networks leave the marginals before they learn them: after 80 steps at the default rate they were .65 off,
at rates from .05 beyond .8; on another table .3 after 300 steps and .1 after 800."""


def is_astray(
    model: Model, shares: Mapping[str, FloatArray], *, weighed: bool = False, farthest: float | None = None
) -> bool:
    """Return whether a model holds what is no number, or draws rows far from the one-way marginals it started from.

    Args:
        model: A trained one.
        shares: The released part of each code of each column.
        weighed: Whether rows are to be weighed to have the marginals, as those of a network must be that does not start
            at these; then only codes that it does not draw count.
        farthest: How far rows may be from a marginal, as a total variation distance; None for the usual one.
    """
    if not all(np.isfinite(array).all() for array in model.state()[1].values()):
        return True
    if (rows := drawn_rows(model, _ROWS)) is None:
        return True
    most = _FARTHEST if farthest is None else farthest
    return any(_gap(rows.column(c), shares[c], weighed=weighed) > most for c in shares)


def drawn_rows(model: Model, n: int) -> EncodedTable | None:
    """Return rows of a model, the same at each call; None if it holds numbers of which no distribution can be made."""
    with np.errstate(all="ignore"):
        try:
            return model.sample(n, np.random.default_rng(0))
        except (ArithmeticError, RuntimeError, ValueError) as error:
            if ran_out(error):
                raise
            return None


def unless_astray(
    model: Model | None, start: OneWayStart, learning_rate: float, *, weighed: bool = False
) -> Model:
    """Return a model trained with noise, or one of independent columns in place of one that went astray.

    Args:
        model: What training came to; None if it came to no numbers.
        start: Holds the noisy one-way marginals.
        learning_rate: That it was trained at, for a warning.
        weighed: As for `is_astray`.
    """
    if model is not None and not is_astray(model, _expected_shares(start), weighed=weighed):
        return model
    warn_astray(learning_rate, "each column is drawn on its own, by its one-way marginal that was paid for")
    return BayesianNetwork().over(start.doors.domain).fit(start.measured)


def check_not_astray(model: Model, start: OneWayStart, learning_rate: float) -> None:
    """Raise a TrainingError if a model went astray that was trained without noise, so that nothing paid for is lost.

    Args:
        model: What training came to; rows that it draws are to have the one-way marginals.
        start: Holds the one-way marginals.
        learning_rate: That it was trained at.
    """
    if is_astray(model, _expected_shares(start)):
        raise TrainingError(
            "the training diverged: rows of the trained model are far from the table's one-way marginals; lower "
            f"learning_rate, which is {learning_rate:g}"
        )


def warn_if_collapsed(model: Model, start: OneWayStart, learning_rate: float, longer: str = "steps") -> bool:
    """Warn of a model, trained without noise and by losses that say nothing of it, that draws next to nothing known; say
    whether there was a warning.

    Args:
        model: A trained one.
        start: Holds the one-way marginals.
        learning_rate: That it was trained at, for the warning.
        longer: Options that would make the training longer.
    """
    collapsed = is_astray(model, _expected_shares(start), farthest=_COLLAPSED)
    if collapsed:
        warn_caller(
            TrainingWarning(
                "rows of the trained model have little in common with the table's one-way marginals; lower "
                f"learning_rate, which is {learning_rate:g}, or raise {longer}"
            )
        )
    return collapsed


def released_shares(start: OneWayStart) -> dict[str, FloatArray]:
    """Return the part of each code of each column, by the released one-way marginals."""
    total = max(consistent_total(start.measured), 1.0)
    counts = one_way_counts(start.measured)
    return {c: project_simplex(values, total) / total for c, values in counts.items()}


def warn_astray(learning_rate: float, instead: str, *, is_paid: bool = True) -> None:
    """Warn that a training went astray, and say what the release has instead.

    Args:
        learning_rate: That it was trained at.
        instead: What the release has.
        is_paid: Whether another run would need a budget.
    """
    again = "another run, which needs a budget of its own" if is_paid else "another run"
    warn_caller(
        TrainingWarning(
            f"the training diverged, and what it learned is left out of the release: {instead}. Lower learning_rate, "
            f"which is {learning_rate:g}, in {again}"
        )
    )


def _expected_shares(start: OneWayStart) -> dict[str, FloatArray]:
    """Return the part of each code that rows are to have; none for a few records.

    Of these, noise is most of what there is, and rows may lie anywhere.
    """
    few = consistent_total(start.measured) < _FEWEST_RECORDS
    return {} if few else released_shares(start)


def _gap(codes: np.ndarray, shares: FloatArray, *, weighed: bool) -> float:
    """Return by how much drawn codes miss a marginal, as its total variation distance over frequent codes alone.

    A column of very many codes is far from its marginal in few rows by chance. Where rows can be weighed, they miss
    only the codes that none of them has.
    """
    drawn = np.bincount(codes.astype(np.intp), minlength=shares.size) / codes.size
    frequent = shares >= _FREQUENT
    if weighed:
        return float(shares[frequent & (drawn == 0)].sum())
    missing = np.maximum(shares - drawn, 0)[frequent].sum()
    beyond = np.maximum(drawn - shares, 0)[drawn >= _FREQUENT].sum()
    return float(max(missing, beyond))
