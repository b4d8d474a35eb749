"""The simplest attack: does a synthetic column exceed the range of the other records?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from syntabula.attacks.base import Knowledge
from syntabula.errors import ArgumentError
from syntabula.metrics.comparison import Floats, View


@dataclass(frozen=True, kw_only=True)
class ValueRange:
    """Infers membership of a record outside the range of all others from the least and largest synthetic values.

    This is the main observation of Ganev et al. ("The Importance of Being Discrete", Section 5.4): if the
    bounds of a column are read off the data, a synthetic value beyond the other records' range proves that
    the target was there. There is no training. The only feature is how far synthetic values reach from the
    others' extreme towards the target's value, 0 to 1, averaged over the columns where the target is
    outside. A target of several records has their extremes.
    """

    key: ClassVar[str] = "range"
    learns: ClassVar[bool] = False

    def features(self, synthetic: View, knowledge: Knowledge) -> Floats:
        """Return the reach [1]; raises ArgumentError if the target lies within the others' range."""
        if knowledge.target is None:
            raise ArgumentError("this attack needs a target")
        reached = []
        for name, values in knowledge.others.numbers.items():
            targets = knowledge.table.numbers[name][knowledge.target_rows]
            if np.isnan(values).all() or np.isnan(targets).all():
                continue
            drawn = synthetic.numbers[name]
            for sign in (1.0, -1.0):
                target = np.nanmax(sign * targets)
                room = target - np.nanmax(sign * values)
                if room > 0:
                    beyond = np.max(sign * drawn, where=~np.isnan(drawn), initial=-np.inf)
                    reached.append(np.clip(1 - (target - beyond) / room, 0.0, 1.0))
        if not reached:
            raise ArgumentError(
                "the target lies within the range of the other records in every numeric column; attack an "
                "outlier, or use another attack"
            )
        return np.array([np.mean(reached)])
