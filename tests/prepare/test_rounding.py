"""How round values are, by noisy counts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from syntabula.prepare.atoms import Atoms
from syntabula.prepare.rounding import CountedLevels, count_levels
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise


def test_noise_does_not_make_integers_multiples_of_nothing() -> None:
    steps = (Fraction(100), Fraction(1))
    found: list[CountedLevels] = []
    for seed in range(200):
        levels = ColumnCurator(np.repeat([0, 1], 5000), Ledger(Budget.zcdp(0.05, 1e-6)), SeededNoise(seed))
        found.append(count_levels(levels, steps, integer=True, share=Fraction(1, 100), step="levels"))

    # Some of these counts of nothing are large enough to be taken for values.
    assert max(f.answer.values[2] / f.answer.sigma for f in found) > 2
    for levels_found in found:
        roundness = levels_found.beside(Atoms())
        assert roundness is not None
        assert roundness.shares[-1] == 0
