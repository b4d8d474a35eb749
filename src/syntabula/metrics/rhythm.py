"""Whether days and times fall on the weekdays, days of the month and times of day that the real ones do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syntabula.metrics.comparison import Comparison, Floats
from syntabula.metrics.score import Part, Score
from syntabula.table.schema.calendar import month_days, weekdays
from syntabula.table.schema.columns import MICROSECONDS


@dataclass(frozen=True, kw_only=True)
class Rhythm:
    """Total variation distance by weekday, day of the month, hour and minute of the hour; the mean.

    Each is compared in each column of days or times, times of day where the real table has any. Times with a zone are
    compared in UTC.
    """

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "rhythm"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator is not used."""
        del rng
        parts: dict[Part, float] = {}
        for name in tables.dated:
            real, synthetic = (_shares(view.numbers[name]) for view in (tables.real, tables.synthetic))
            if real and synthetic:
                # A column of days holds midnights alone.
                has_times = real["hour"][0] < 1 or real["minute"][0] < 1
                for kind in real if has_times else ("weekday", "day of the month"):
                    parts[name, kind] = float(np.abs(real[kind] - synthetic[kind]).sum() / 2)
        return Score.mean(
            self.key, parts, direction="lower", needed="there is no column of days or times with a value"
        )


def _shares(column: Floats) -> dict[str, Floats]:
    """Return the shares of present cells by what is compared; nothing if none is present."""
    moments = column[~np.isnan(column)].astype(np.int64)
    if not moments.size:
        return {}
    days = moments // MICROSECONDS["day"]
    codes = {
        "weekday": (weekdays(days), 7),
        "day of the month": (month_days(days), 31),
        "hour": (moments // MICROSECONDS["hour"] % 24, 24),
        "minute": (moments // MICROSECONDS["minute"] % 60, 60),
    }
    return {kind: np.bincount(found, minlength=size) / moments.size for kind, (found, size) in codes.items()}
