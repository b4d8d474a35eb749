"""Rounds of choosing and measuring where privacy is switched off: few, and none beyond the error of a sample."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from syntabula._planning import Progress
from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray, Measurement, consistent_total
from syntabula.models.base import MarginalModel
from syntabula.privacy.doors.tables import Candidates, Curator
from syntabula.select.model_size import SizeLimit

MOST_ROUNDS = 16
"""Most fits. A model of pairs of 17 to 61 columns stops at the error of a sample, or at its limit, in fewer."""


def sampling_error(expected: FloatArray) -> float:
    """Return about the mean L1 distance between a marginal's expected counts and those of a sample.

    A cell of m expected records has a mean absolute deviation of sqrt(2 m / pi), and of 2 m exp(-m) below one record
    (a Poisson count).
    """
    counts = np.maximum(expected, 0.0)
    return float(np.minimum(np.sqrt(2 / math.pi * counts), 2 * counts).sum())


def learn_exactly(
    curator: Curator,
    model: MarginalModel,
    weights: Mapping[Clique, float],
    measured: Sequence[Measurement],
    *,
    share: Fraction,
    measure_share: Fraction | float,
    steps: tuple[str, str],
    fitting: SizeLimit | None = None,
    progress: Progress,
) -> tuple[MarginalModel, list[Measurement]]:
    """Measure what a model gets more wrong than a sample of as many records would, and fit again, in a few rounds.

    Without noise nothing tells when an adaptive method has learned enough: each measurement is exact, and every round
    brings something new. Here a marginal is worth measuring if its distance from the model exceeds what the counts of
    a sample from the model would show; with none left the model and the table cannot be told apart by them.
    A round takes the worst of them, as many as half of the columns, so that there are at most `MOST_ROUNDS` fits.

    Args:
        curator: Measures the table exactly.
        model: The model, fitted to what is measured.
        weights: The candidates, each with the weight of its error.
        measured: What the model is fitted to.
        share: Fraction of the whole budget for all rounds; an infinite budget has shares too.
        measure_share: Fraction of a round for the measurements; the rest is for the choices.
        steps: Names of the choices and of the measurements in the ledger.
        fitting: Says which candidates keep the model small enough; None for all.
        progress: Called with the step and the part done.

    Returns:
        The model, and what it is fitted to.
    """
    measured = list(measured)
    total = max(consistent_total(measured), 1.0)
    per_round = -(-len(curator.domain) // 2)
    known = {m.clique for m in measured}
    round_share, part = share / MOST_ROUNDS, Fraction(measure_share)
    for number in range(1, MOST_ROUNDS + 1):
        done = number / MOST_ROUNDS
        progress(steps[0], done - 1 / MOST_ROUNDS)
        candidates = [c for c in weights if c not in known]
        if fitting is not None and candidates:
            candidates = fitting(model, candidates, [m.clique for m in measured], done)
        if not candidates:
            break

        # Choose the worst candidates, one by one, as long as they fit the model together.
        believed = [np.maximum(e, 0.0) * (total / model.total) for e in model.marginals(candidates)]
        tolerated = [sampling_error(e) for e in believed]
        asked = Candidates(
            curator, candidates, believed, weights=[weights[c] for c in candidates], penalties=tolerated
        )
        left = np.ones(len(candidates), dtype=np.bool_)
        chosen, held = list[int](), [m.clique for m in measured]
        while left.any() and len(chosen) < per_round:
            each = round_share * (1 - part) / per_round
            position = asked.choose(share=each, step=steps[0], among=left)
            left[position] = False
            if fitting is not None and not fitting.confirms(model, candidates[position], held):
                continue
            chosen.append(position)
            held.append(candidates[position])
            if fitting is not None:
                there = np.flatnonzero(left).tolist()
                kept = set(fitting(model, [candidates[i] for i in there], held, done)) if there else set()
                left[there] = [candidates[i] in kept for i in there]

        if not chosen:
            # All were too large after all, which later rounds know.
            continue

        # Measure them, and keep those that differ by more than a sample would.
        answers = curator.measure([candidates[i] for i in chosen], share=round_share * part, step=steps[1])
        known.update(a.clique for a in answers)
        worth = [
            float(np.abs(a.values - believed[i]).sum()) > tolerated[i]
            for a, i in zip(answers, chosen, strict=True)
        ]
        if not any(worth):
            break
        measured += [a for a, is_worth in zip(answers, worth, strict=True) if is_worth]
        model = model.fit(measured)
    progress(steps[1], 1.0)
    return model, measured
