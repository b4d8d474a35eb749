"""Whether days and times fall on the weekdays, days of the month and times of day that the real ones do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syntabula._arguments import count, normalise
from syntabula.marginals.domain import Codes
from syntabula.metrics.comparison import Comparison, Floats
from syntabula.metrics.score import Part, Score
from syntabula.metrics.total_variation import total_variation
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


@dataclass(frozen=True, kw_only=True)
class RhythmPairs:
    """Total variation distance of weekdays and hours together with each other column; the mean.

    Rows with a time count, and hours where the real table has any but midnight. A missing cell of the other column is a
    value of its own. Times with a zone are compared in UTC.

    Attributes:
        levels: Number of levels of a numeric column.

    Raises:
        ArgumentError: If `levels` is below 2.
    """

    levels: int = 20

    def __post_init__(self) -> None:
        normalise(self, levels=count(2))

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "rhythm-pairs"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator is not used."""
        del rng
        parts: dict[Part, float] = {}
        views = tables.real, tables.synthetic
        for name in tables.dated:
            present = [~np.isnan(view.numbers[name]) for view in views]
            codes = [_codes(view.numbers[name]) for view in views]
            if not all(here.any() for here in present):
                continue
            kinds = ("weekday", "hour") if codes[0]["hour"][0].any() else ("weekday",)
            for other in tables.columns:
                if other == name:
                    continue
                levels = tables.levels(other, self.levels)
                beside = [own[here] for own, here in zip(levels, present, strict=True)]
                sizes = tables.n_levels(other, self.levels)
                for kind in kinds:
                    times, size = (codes[0][kind][0], codes[1][kind][0]), codes[0][kind][1]
                    pair = [times, (beside[0], beside[1])]
                    parts[name, kind, other] = total_variation(pair, [size, sizes])
        return Score.mean(
            self.key,
            parts,
            direction="lower",
            needed="there is no column of days or times beside another one",
        )


def _shares(column: Floats) -> dict[str, Floats]:
    """Return the shares of present cells by what is compared; nothing if none is present."""
    codes = _codes(column)
    rows = codes["weekday"][0].size
    return {kind: np.bincount(found, minlength=size) / rows for kind, (found, size) in codes.items() if rows}


def _codes(column: Floats) -> dict[str, tuple[Codes, int]]:
    """Return the codes of present cells [present] by what is compared, and how many codes there are."""
    moments = column[~np.isnan(column)].astype(np.int64)
    days = moments // MICROSECONDS["day"]
    found = {
        "weekday": (weekdays(days), 7),
        "day of the month": (month_days(days), 31),
        "hour": (moments // MICROSECONDS["hour"] % 24, 24),
        "minute": (moments // MICROSECONDS["minute"] % 60, 60),
    }
    return {kind: (codes.astype(np.uint8), size) for kind, (codes, size) in found.items()}
