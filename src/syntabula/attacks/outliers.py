"""Which records are vulnerable: those far from all others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count
from syntabula.attacks.knowledge import Knowledge
from syntabula.errors import ArgumentError
from syntabula.metrics.neighbours import nearest
from syntabula.metrics.privacy.coordinates import Coordinates

Floats = NDArray[np.float64]


def outlier_scores(knowledge: Knowledge, *, n_neighbours: int = 5) -> Floats:
    """Return how far each record is from the others, in units where columns run from 0 to 1.

    The score of Meeus, Guepin, Cretu and de Montjoye ("Achilles' Heels", 2023): the mean distance to the
    nearest records; they use a cosine distance, here it is the Euclidean one of `Coordinates`.

    Args:
        knowledge: The table.
        n_neighbours: Number of nearest other records.

    Returns:
        Scores [rows], larger for more vulnerable records.

    Raises:
        ArgumentError: If the table has no more records than neighbours are asked for.
        MissingExtraError: If scikit-learn is not installed.
    """
    if count()("n_neighbours", n_neighbours) >= knowledge.table.n_rows:
        raise ArgumentError(f"n_neighbours is {n_neighbours}; the table must have more records than that")
    points = Coordinates(knowledge.bounds, knowledge.sizes).of(knowledge.table)
    distances, _ = nearest(points, points, n_neighbours + 1)
    # Of itself a record is the first neighbour, at distance 0.
    means: Floats = distances[:, 1:].mean(axis=1)
    return means
