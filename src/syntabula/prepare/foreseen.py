"""What a search for bounds needs, known before any data is read."""

from __future__ import annotations

import math

import numpy as np

from syntabula.prepare.bounds import WINDOWS, power_edges
from syntabula.prepare.preparation import Preparation
from syntabula.privacy.budget import Budget
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.pricing import NoisyVector, counting_event


def least_for_bounds(prepared: Preparation, budget: Budget, n_rows: int) -> float:
    """Return how many values of a column must lie between two powers of two, so that its bounds are found.

    It is the last threshold of `extract_bounds`, for both answers together and the column with the smallest share.

    Args:
        prepared: The shares of the columns.
        budget: As `Preparation.budget` returns it.
        n_rows: Public or guessed number of records.

    Returns:
        The number; 0 if no domain has to be found, or without privacy.
    """
    if not prepared.domains or budget.currency == "none":
        return 0.0
    ledger, rows = Ledger(budget), np.array([n_rows], dtype=np.float64)

    def with_noise(share: float) -> NoisyVector:
        return NoisyVector(rows, counting_event(ledger, share, sensitivity=1, cells=1))

    counted = with_noise(float(prepared.count)) if prepared.count else None
    share = min(prepared.grown(prepared.domains, counted).values())
    cells = len(power_edges(integer=False)) - 1
    height = with_noise(float(share) / 2).above_noise(1 / (2 * cells * cells * len(WINDOWS)))
    return height / math.sqrt(2)
