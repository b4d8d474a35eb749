"""Whether a model that was trained without privacy learned anything of what columns tell of each other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import TrainingWarning, warn_caller
from syntabula.marginals.domain import EncodedTable
from syntabula.marginals.fourier import FourierFeatures
from syntabula.marginals.measurement import FloatArray
from syntabula.models.base import Model
from syntabula.record_models.astray import drawn_rows
from syntabula.record_models.levels import level_groups

_RECORDS, _ROWS, _GROUPS, _COLUMNS, _STRONGEST = 8192, 2048, 8, 64, 20
_SHOWN, _LEAST = 0.3, 0.1
"""Sum of phi squared of the strongest pairs below which a table shows no dependence, and the part of it that rows are to
hold at least. By chance the sum over 20 pairs of 2,048 independent rows is off by .02."""
_SHOWN_BY_WAVES = 1e-3
"""Mean square by which waves over several columns are off those of independent ones, beyond twice what chance makes of
it, below which a table shows none. It was .004 to .023 for three tables, and below .0002 where columns were shuffled."""
_CHANCE = 3.0
"""Deviations by chance beyond which pairs of few records are strong; the strongest of many pairs are some two beyond."""
_FEWEST_STEPS, _FEWEST_OF_MEANS = 500, 100
"""Who asks for fewer wants a trial; trainings towards mean features take 400."""


def dependence_kept(model: Model, table: EncodedTable, counts: Mapping[str, FloatArray]) -> float:
    """Return which part of the dependence of the table's strongest pairs of columns a model's rows have.

    Dependence is phi squared, the mean squared contingency, beyond what independent columns have by chance. Columns of
    more than eight codes have eight groups of codes, and of very many columns some are looked at.

    Args:
        model: A trained one.
        table: The records that it was trained on.
        counts: Records of each code of each column.

    Returns:
        About 0 for independent columns and 1 for rows like the table's; 1 where the table shows no dependence.
    """
    columns = [c for c in table.domain if table.domain.size(c) > 1]
    rng = np.random.default_rng(0)
    if len(columns) > _COLUMNS:
        columns = [columns[i] for i in np.sort(rng.choice(len(columns), _COLUMNS, replace=False))]
    n = table.codes[0].size if table.codes else 0
    if len(columns) < 2 or n < 2:
        return 1.0
    groups = {
        c: level_groups(counts[c], _GROUPS, ordered=c in table.domain.ordered).astype(np.uint8)
        for c in columns
    }
    some = rng.choice(n, min(n, _RECORDS), replace=False)
    real, chance = _phi_squared([groups[c][table.column(c)[some]] for c in columns])
    strongest = np.argsort(-real)[:_STRONGEST]
    if (shown := real[strongest].sum()) < _SHOWN + _CHANCE * chance[strongest].sum():
        return 1.0
    if (rows := drawn_rows(model, _ROWS)) is None:
        return 0.0
    kept, _ = _phi_squared([groups[c][rows.column(c)] for c in columns])
    return float(kept[strongest].sum() / shown)


def warn_if_nothing_learned(
    model: Model,
    table: EncodedTable,
    counts: Mapping[str, FloatArray],
    learning_rate: float,
    steps: int | None,
    longer: str = "steps",
    *,
    remedy: str = "",
) -> None:
    """Warn of a model whose columns are next to independent where the table's are not.

    Args:
        model: A trained one.
        table: The records that it was trained on.
        counts: Records of each code of each column.
        learning_rate: That it was trained at, for the warning.
        steps: Most steps, if these were given.
        longer: Options that would make the training longer.
        remedy: What makes the model learn more if it has no training with a rate and steps; else empty.
    """
    if steps is not None and steps < _FEWEST_STEPS:
        return
    _warn_if_lost(dependence_kept(model, table, counts), remedy or _of_training(learning_rate, longer))


def features_kept(
    model: Model, features: FourierFeatures, sums: FloatArray, counts: Mapping[str, FloatArray]
) -> float:
    """Return which part of the dependence that the records' mean features show a model's rows have.

    Dependence is how far mean features are from those of independent columns with the same one-way marginals, beyond what
    independent records have by chance.

    Args:
        model: A trained one.
        features: The waves.
        sums: Their exact sums over the records, as `FeatureCurator.sum` returns them.
        counts: Records of each code of each column.

    Returns:
        About 0 for independent columns and 1 for rows like the table's; 1 where the table shows no dependence.
    """
    n = max(float(counts[features.domain.columns[0]].sum()), 1.0)
    shares = {c: counts[c] / n for c in features.domain}
    apart = np.stack(
        [
            np.prod([shares[c] @ np.exp(1j * a) for c, a in zip(clique, angles, strict=True)], axis=0)
            for clique, angles in features.blocks()
        ]
    )
    pairs = sums.reshape(*apart.shape, 2) / n
    shown = pairs[..., 0] + 1j * pairs[..., 1] - apart
    size = float((np.abs(shown) ** 2).sum())
    if size / shown.size < _SHOWN_BY_WAVES + 2 / n:
        return 1.0
    if (rows := drawn_rows(model, _ROWS)) is None:
        return 0.0
    drawn = np.stack(
        [
            np.exp(1j * sum(a[rows.column(c)] for c, a in zip(clique, angles, strict=True))).mean(0)
            for clique, angles in features.blocks()
        ]
    )
    return float((shown.conj() * (drawn - apart)).real.sum() / size)


def warn_if_no_features_kept(
    model: Model,
    features: FourierFeatures,
    sums: FloatArray,
    counts: Mapping[str, FloatArray],
    learning_rate: float,
    steps: int,
    longer: str = "steps",
) -> None:
    """Warn as `warn_if_nothing_learned` does, of a model that was trained towards mean features of the records."""
    if steps >= _FEWEST_OF_MEANS:
        _warn_if_lost(features_kept(model, features, sums, counts), _of_training(learning_rate, longer))


def _of_training(learning_rate: float, longer: str) -> str:
    return f"lower learning_rate, which is {learning_rate:g}, raise {longer}"


def _warn_if_lost(kept: float, remedy: str) -> None:
    if kept < _LEAST:
        warn_caller(
            TrainingWarning(
                f"the trained model holds next to nothing of what columns tell of each other ({max(kept, 0.0):.0%} of "
                f"the strongest dependence): {remedy}, or take another method"
            )
        )


def _phi_squared(columns: list[NDArray[np.uint8]]) -> tuple[FloatArray, FloatArray]:
    """Return phi squared of all pairs of columns beyond chance, and its deviation by chance [pairs], as combinations."""
    n, d = columns[0].size, len(columns)
    ones = np.zeros((n, d * _GROUPS), np.float32)
    ones[np.arange(n)[:, None], np.stack(columns, 1) + _GROUPS * np.arange(d)] = 1
    pairs = (ones.T @ ones).astype(np.float64).reshape(d, _GROUPS, d, _GROUPS) / n
    single = ones.mean(0, dtype=np.float64).reshape(d, _GROUPS)
    expected = single[:, :, None, None] * single
    squares = np.divide(pairs**2, expected, out=np.zeros_like(pairs), where=expected > 0).sum((1, 3)) - 1
    free = (single > 0).sum(1) - 1
    first, second = np.triu_indices(d, 1)
    degrees = free[first] * free[second]
    # Of independent columns n times phi squared is about chi squared.
    return squares[first, second] - degrees / n, np.sqrt(2.0 * degrees) / n
