"""Bins around cluster centres, under differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from syntabula.bins.uniform import Bins, UniformBins
from syntabula.prepare.preprocessing import FittedDiscretizer, bins_through
from syntabula.privacy.doors.columns import ColumnCurator

SPREAD = 0.225
LEAST_ROUNDS, MOST_ROUNDS = 2, 7
_LARGEST = 1e307


@dataclass(frozen=True)
class KMeansBins(FittedDiscretizer):
    """Voronoi cells from Lloyd's algorithm with noisy counts and sums (Su et al., 2016, DPLloyd).

    Used by Ganev et al., "The Importance of Being Discrete", section 4, through diffprivlib. The number of
    rounds T, from 2 to 7, follows from the smallest budget that a round should have, sqrt(500 k^3 (1 + c)^3) /
    n with c = cbrt(4 rho^2), rho = 0.225; a round divides epsilon between the sums and the counts in the ratio 1 : c.
    Each centre is lower + width * noisy sum / noisy count of its cell, counts floored at 1.

    Departures: starting centres are evenly spaced instead of drawn at random with a minimum distance, of which even
    spacing is the limit; sums are of distances from the lower bound, whose sensitivity is the width; empty cells get
    noise too. diffprivlib swaps the two shares; this code does not.

    Cost: 2 T noisy vectors, each a histogram or its sums. A cell without a centre is merged.
    """

    key: str = "kmeans"
    needs_count: bool = True

    def fit(
        self,
        column: ColumnCurator,
        lower: float,
        upper: float,
        *,
        count: int,
        n_estimated: float,
        share: Fraction,
        step: str,
    ) -> Bins:
        """Return the bins; see `FittedDiscretizer.fit`."""
        end = int(upper) + 1 if column.integer else float(upper)
        # Sums of the largest floats would overflow; a quarter of them does not.
        scale = 1 if column.integer or abs(end) + abs(lower) < _LARGEST else 0.25
        width = float(end * scale - lower * scale)
        ratio = math.cbrt(4 * SPREAD**2)
        rounds = _rounds(column.pure_epsilon(share), count, n_estimated, ratio)
        for_sums, for_counts = column.split(share / rounds, (1.0, ratio))
        bins = UniformBins(count).bins(lower, upper, integer=column.integer)
        for _ in range(rounds):
            edges = bins.edges
            counts = column.histogram(edges, share=for_counts, step=step).values
            sums = column.sums(edges, power=1, of="column", share=for_sums, step=step).values
            held = np.maximum(counts, 1.0)
            places = np.clip(sums / held, 0.0, 1.0)
            # A cell with a count below 1 keeps its midpoint as centre; without noise it is empty.
            offsets = np.array([float(e * scale - edges[0] * scale) for e in edges])
            middles = (offsets[:-1] + offsets[1:]) / (2 * width)
            places = np.sort(np.where(counts < 1, middles, places))
            steps = width * (places[:-1] + places[1:]) / 2
            if column.integer:
                cuts: list[int] | list[float] = [int(lower) + math.ceil(s) for s in steps]
            else:
                cuts = [(float(lower) * scale + float(s)) / scale for s in steps]
            bins = bins_through(cuts, lower, upper, integer=column.integer)
        return bins


def _rounds(epsilon: float, k: int, n_estimated: float, ratio: float) -> int:
    if math.isinf(epsilon):
        return MOST_ROUNDS
    least = math.sqrt(500 * k**3 * (1 + ratio) ** 3) / max(n_estimated, 1.0)
    return int(min(max(epsilon / least, LEAST_ROUNDS), MOST_ROUNDS))
