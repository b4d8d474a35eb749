"""Whether numeric columns keep their heavy values (zero, defaults, limits) and their round ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syntabula._arguments import normalise, real
from syntabula.metrics.comparison import Comparison, Floats
from syntabula.metrics.score import Part, Score

_LEVELS = (8.64e10, 3.6e9, 6e7, 1e6, 1e3, 500.0, 100.0, 50.0, 10.0, 5.0, 1.0, 0.1, 0.01)
"""Units that values may be multiples of, the coarsest first. Those from a million on are a day, an hour, a minute and
a second of times in microseconds."""

_CLOSE = 1e-9
_SHARE = real("a number above 0 and at most 1", lambda share: 0 < share <= 1)


@dataclass(frozen=True, kw_only=True)
class Spikes:
    """Part of the mass of single heavy values of each numeric column that the synthetic table keeps; the mean.

    A spike is a value that holds at least a given share of a column's present cells in the real table. What is kept
    is the smaller of its shares in the two tables, and a column's part is the sum of these over that of the real
    shares. Too much mass on a spike is not counted: it is missing elsewhere.

    Attributes:
        least: Smallest share of a spike.

    Raises:
        ArgumentError: If `least` is not above 0 and at most 1.
    """

    least: float = 0.02

    def __post_init__(self) -> None:
        normalise(self, least=_SHARE)

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "spikes"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator is not used."""
        del rng
        parts: dict[Part, float] = {}
        n_spikes = 0
        for name in tables.numeric:
            spikes, real = heavy_values(tables.real.numbers[name], self.least)
            if spikes.size:
                kept = np.minimum(real, shares_of(spikes, tables.synthetic.numbers[name]))
                parts[name,] = float(kept.sum() / real.sum())
                n_spikes += spikes.size
        return Score.mean(
            self.key,
            parts,
            direction="higher",
            needed=f"no value holds {self.least:.0%} of a numeric column",
            facts={"spikes": n_spikes},
        )


@dataclass(frozen=True, kw_only=True)
class RoundValues:
    """Total variation distance between the roundness of real and synthetic values of each numeric column; the mean.

    The roundness of a value is the coarsest unit that it is a multiple of, from 1,000 down to 0.01, or none. A column
    of amounts that are all multiples of 100 has distance 1 if no synthetic one is.
    """

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "round-values"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator is not used."""
        del rng
        parts: dict[Part, float] = {}
        for name in tables.numeric:
            views = (tables.real, tables.synthetic)
            real, synthetic = (_roundness(view.numbers[name]) for view in views)
            if real.any() and synthetic.any():
                parts[name,] = float(np.abs(real - synthetic).sum() / 2)
        return Score.mean(self.key, parts, direction="lower", needed="there is no numeric column")


def heavy_values(column: Floats, least: float) -> tuple[Floats, Floats]:
    """Return the values that hold at least a share of a column's present cells, and these shares [values each]."""
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    shares = counts / max(counts.sum(), 1)
    heavy = shares >= least
    return values[heavy], shares[heavy]


def shares_of(values: Floats, column: Floats) -> Floats:
    """Return the share of a column's present cells that equal each value [values]."""
    present = np.sort(column[~np.isnan(column)])
    ends = (np.searchsorted(present, values, side=side) for side in ("left", "right"))
    first, last = ends
    shares: Floats = (last - first) / max(present.size, 1)
    return shares


def _roundness(column: Floats) -> Floats:
    """Return the share of present cells whose coarsest unit is each level [levels + 1]; zeros if none is present."""
    rest = column[~np.isnan(column)]
    n_present = max(rest.size, 1)
    shares = np.zeros(len(_LEVELS) + 1)
    for place, level in enumerate(_LEVELS):
        steps = rest / level
        # Decimal fractions have no exact float, so that multiples are found up to rounding.
        is_multiple = np.abs(steps - np.rint(steps)) <= _CLOSE * np.abs(steps)
        # Beyond, every float is this near to a whole number.
        is_multiple &= np.abs(steps) < 0.1 / _CLOSE
        shares[place] = is_multiple.sum() / n_present
        rest = rest[~is_multiple]
    shares[-1] = rest.size / n_present
    return shares
