"""Draws rows from a `DenoisingNetwork`: a loaded release needs no torch, but uses it where it is faster."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.measurement import FloatArray
from syntabula.record_models.denoiser import time_waves
from syntabula.record_models.diffusion import Codes, Stride
from syntabula.record_models.layer_products import layers_of
from syntabula.record_models.representation import ColumnLookup, FloatTable, normal_scores

ROWS_AT_ONCE = 4096
"""Rows that are drawn together, as memory grows with them."""

_MOVES = (2.0, 2.0, 2.0, 1.0, 1.0, 0.5, 0.5)
"""How much of what drawn codes lack is added to their biases in each round: codes follow a bias by less than its whole,
so that the first rounds take longer steps than are missing, and the last ones average out what chance adds."""
_LEAST_ROWS = 1024
_LONGEST_MOVE = 2.0
_KNOTS = np.linspace(-2.5, 2.5, 21)
"""Normal quantiles at which numbers that are drawn are compared with those that are wanted."""

_FARTHEST = 6.0
"""What a number was is taken to lie within this many standard deviations, as nearly all normal numbers do."""


class Denoising:
    """The way from noise to rows, through some of the levels of noise.

    Arrays have a row for each number or code and a column for each record, so that most loops run along records.

    Args:
        lookups: Of each column.
        weights: Of the network, by name, and "cuts", the numbers between the steps of codes, column after column.
        kept: How much of a value is left at each level of noise [levels + 1].
        levels: Levels to go through, from the last one to 0.
        ancestral: Whether the noise of numbers is drawn anew at each step, or their path has no chance in it.
    """

    def __init__(
        self,
        lookups: Sequence[ColumnLookup],
        weights: Mapping[str, np.ndarray],
        kept: FloatArray,
        levels: Sequence[int],
        *,
        ancestral: bool,
    ) -> None:
        self._lookups, self._kept, self._levels = lookups, kept, levels
        self._ancestral = ancestral
        self._numbers = [j for j, lookup in enumerate(lookups) if lookup.waves is not None]
        self._codes = [j for j, lookup in enumerate(lookups) if lookup.waves is None]
        self._scores = {j: normal_scores(lookups[j]) for j in self._numbers}
        ends = len(self._numbers) + np.cumsum([0, *(lookups[j].size for j in self._codes)])
        self._blocks = {j: slice(a, b) for j, a, b in zip(self._codes, ends[:-1], ends[1:], strict=True)}
        self._width = int(ends[-1])
        self._layers = layers_of(weights)
        self._known = np.ascontiguousarray(weights["known"].T)
        ends = np.cumsum([lookups[j].size - 1 for j in self._numbers])
        self._cuts = np.split(weights["cuts"], ends[:-1]) if self._numbers else []
        self._told = self._told_of_levels(weights)

    def draw(self, n: int, rng: np.random.Generator, given: Mapping[int, Codes] | None = None) -> Codes:
        """Draw n rows of positions of codes [rows, columns].

        Args:
            n: Number of rows.
            rng: Of all draws.
            given: Positions of codes of some columns; one that no code has is not known in that row.
        """
        rows, numbers = self.values(n, rng, given)
        for row, j in enumerate(self._numbers):
            rows[:, j] = np.searchsorted(self._cuts[row], numbers[row])
        return rows

    def values(
        self, n: int, rng: np.random.Generator, given: Mapping[int, Codes] | None = None
    ) -> tuple[Codes, FloatTable]:
        """Draw as `draw`: positions of codes, and numbers as they are before they are cut into codes [numbers, rows]."""
        given = given or {}
        rows = np.zeros((n, len(self._lookups)), dtype=np.intp)
        for j in self._codes:
            rows[:, j] = rng.integers(self._lookups[j].size, size=n)
        numbers = rng.standard_normal((len(self._numbers), n), dtype=np.float32)
        known = np.zeros((len(self._lookups), n), dtype=np.float32)
        for j, places in given.items():
            known[j] = places < self._lookups[j].size
        unknown = known == 0
        self._put_back(rows, numbers, given, unknown)
        # What is known stays the same all the way.
        known_part = self._known @ known if given else np.float32(0.0)
        before: tuple[FloatTable, float] | None = None
        for told, later, earlier in zip(self._told, self._levels[:-1], self._levels[1:], strict=True):
            stride = Stride(float(self._kept[later]), float(self._kept[earlier]))
            said = self._said(rows, numbers, told + known_part)
            if self._ancestral:
                numbers = _drawn_numbers(numbers, said[: len(numbers)], stride, rng)
            else:
                said, before = _halfway(said, stride.angle, before), (said, stride.angle)
                numbers = numbers - np.float32(stride.angle) * said[: len(numbers)]
            self._add_what_codes_tell(said, rows, stride.later)
            for j in self._codes:
                drawn = _drawn(said[self._blocks[j]], rng)
                rows[:, j] = stride.draw_codes(rows[:, j], drawn, self._lookups[j].size, rng)
            self._put_back(rows, numbers, given, unknown)
        return rows, numbers

    def _put_back(
        self, rows: Codes, numbers: FloatTable, given: Mapping[int, Codes], unknown: NDArray[np.bool_]
    ) -> None:
        """Set what is given, in place."""
        for j, places in given.items():
            if j in self._scores:
                numbers[self._numbers.index(j)] = self._scores[j].scores[places]
            else:
                rows[:, j] = np.where(unknown[j], rows[:, j], places)

    def _told_of_levels(self, weights: Mapping[str, np.ndarray]) -> list[FloatTable]:
        """Return what the first layer is told of each level but the last [inputs, 1], with its bias."""
        hidden = (
            time_waves(np.array(self._levels[:-1], dtype=np.float64)) @ weights["time/0"]
            + weights["bias/time/0"]
        )
        told = (hidden / (1 + np.exp(-hidden))) @ weights["time/1"] + weights["bias/in"]
        return [row[:, None].astype(np.float32) for row in told]

    def _said(self, rows: Codes, numbers: FloatTable, told: FloatTable) -> FloatTable:
        """Return what the network says [width, rows], but what codes tell of themselves.

        Args:
            rows: Positions of codes [rows, columns].
            numbers: [numbers, rows].
            told: For the first layer, of level and known columns.
        """
        inputs = np.zeros((self._width, len(rows)), dtype=np.float32)
        inputs[: len(numbers)] = numbers
        every = np.arange(len(rows))
        for j in self._codes:
            inputs[self._blocks[j].start + rows[:, j], every] = 1.0
        return self._layers(inputs, told)

    def _add_what_codes_tell(self, said: FloatTable, rows: Codes, kept: float) -> None:
        """Add what codes [rows, columns] tell of themselves to what the network says, in place.

        Args:
            said: [width, rows].
            rows: Positions of codes.
            kept: How much of a value is left at this level.
        """
        every = np.arange(len(rows))
        for j in self._codes:
            of_itself = math.log1p(kept / (1 - kept) * self._lookups[j].size)
            said[self._blocks[j].start + rows[:, j], every] += np.float32(of_itself)


def first_cuts(lookups: Sequence[ColumnLookup]) -> FloatTable:
    """Return the normal quantiles between the steps of codes of all ordered columns, one after another."""
    cuts = [normal_scores(lookup).cuts for lookup in lookups if lookup.waves is not None]
    return np.concatenate([np.zeros(0, np.float32), *cuts])


def with_marginals(
    lookups: Sequence[ColumnLookup],
    weights: Mapping[str, np.ndarray],
    made: Callable[[Mapping[str, np.ndarray]], Denoising],
    total: float,
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """Return weights with which drawn columns have the one-way marginals of the lookups.

    Noise in training moves these away, though they are known well. Each round draws rows. To each code's bias it adds
    the logarithm of what it should be over what it is, which is how Bayes' rule takes up another one-way marginal at
    each level of noise; and cuts move by what drawn numbers lack of normal ones, on average over the rounds. Few records
    need few rows, as the lookups are less exact then.

    Args:
        lookups: Of each column.
        weights: Of the network, with cuts.
        made: Returns what draws by weights.
        total: Number of records, as it was released.
        rng: Draws rows.
    """
    moved = dict(weights)
    whole = [j for j, lookup in enumerate(lookups) if lookup.waves is None]
    n_numbers = len(lookups) - len(whole)
    normal = np.array([NormalDist().cdf(knot) for knot in _KNOTS])
    shifts = np.zeros((n_numbers, _KNOTS.size))
    n_rows = int(np.clip(total, _LEAST_ROWS, ROWS_AT_ONCE))
    for done, move in enumerate(_MOVES):
        drawing = made(moved)
        # Chance matters little while much is missing.
        parts = [drawing.values(n_rows, rng) for _ in range(1 if move > 1 else 2)]
        rows = np.concatenate([some for some, _ in parts])
        numbers = np.concatenate([some for _, some in parts], 1)
        steps = [np.zeros(n_numbers)]
        for j in whole:
            reached = np.bincount(rows[:, j], minlength=lookups[j].size) / len(rows)
            missing = lookups[j].log_shares - np.log(np.maximum(reached, 1 / len(rows)))
            steps.append(np.clip(missing, -_LONGEST_MOVE, _LONGEST_MOVE))
        moved["bias/out"] = (moved["bias/out"] + move * np.concatenate(steps)).astype(np.float32)
        for row, drawn in enumerate(numbers):
            shifts[row] += (np.quantile(drawn, normal) - _KNOTS - shifts[row]) / (done + 1)
    first = [normal_scores(lookup).cuts for lookup in lookups if lookup.waves is not None]
    cuts = [cut + np.interp(cut, _KNOTS, shift) for cut, shift in zip(first, shifts, strict=True)]
    moved["cuts"] = np.concatenate([np.zeros(0), *cuts]).astype(np.float32)
    return moved


def _drawn_numbers(
    numbers: FloatTable, turns: FloatTable, stride: Stride, rng: np.random.Generator
) -> FloatTable:
    """Draw numbers at an earlier level, given what the network takes them to have been."""
    first = math.sqrt(stride.later) * numbers - math.sqrt(1 - stride.later) * turns
    mean, deviation = stride.mean_and_deviation(numbers, np.clip(first, -_FARTHEST, _FARTHEST))
    return mean + np.float32(deviation) * rng.standard_normal(numbers.shape, dtype=np.float32)


def _halfway(said: FloatTable, angle: float, before: tuple[FloatTable, float] | None) -> FloatTable:
    """Return what the network would say halfway through a step, if it changes as in the step before; a new array.

    Numbers then turn by the method of Adams and Bashforth. A normal number that nothing else tells of does not turn at
    all, so its spread stays what it is in steps of any length, while steps that aim at the predicted value would narrow
    it. Codes are drawn from what other columns tell of them in the middle, as most tell more with each step.

    Args:
        said: Where the step begins [width, rows].
        angle: Length of the step.
        before: What was said where the step before began, and its length; None before the second step.
    """
    if before is None:
        return said.copy()
    last, last_angle = before
    found: FloatTable = said - last
    found *= np.float32(angle / (2 * last_angle))
    found += said
    return found


def _drawn(logits: FloatTable, rng: np.random.Generator) -> Codes:
    """Draw a code for each column of logits [codes, rows]; changes the logits."""
    logits -= logits.max(0)
    heights = np.exp(logits, out=logits)
    # As numpy's cumulative sum, which goes through memory in strides and takes many times as long.
    for before, after in itertools.pairwise(heights):
        after += before
    # Below the last height, so that no code is drawn that has none.
    below = rng.random(logits.shape[1], dtype=np.float32) * heights[-1]
    drawn: Codes = np.minimum((heights <= below).sum(0, dtype=np.intp), len(logits) - 1)
    return drawn
