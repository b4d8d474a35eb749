"""For each answer of each door: the noise that is drawn is what was charged, and its sensitivity is right.

Exact, no statistics. Every question is put to a table and, with the same answers, to each table that lacks one of its
records. The inputs of the noise must differ by the charged sensitivity at most, and for some record by all of it, so that
too little noise is seen, and too much as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from half_noise import HalfNoise
from recording import Call, RecordingNoise, ReplayingNoise

from syntabula.bins.uniform import Bins
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.nearness import Agreement
from syntabula.marginals.sorted_points import FRACTION_STEPS
from syntabula.marginals.threshold import random_thresholds
from syntabula.prepare.preprocessing import fit_spread
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors import columns as column_curator
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.doors.labels import LabelCurator
from syntabula.privacy.doors.queries import CellCurator, ThresholdCurator
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.events import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
    TreeEvent,
)
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.mechanisms import STEPS, Node
from syntabula.privacy.noise import NoiseSource, SeededNoise
from syntabula.privacy.pricing import counting_event
from syntabula.privacy.training.teachers import TeacherCurator

BUDGETS = {
    "gdp": Budget(epsilon=1.0, delta=1e-5),
    "zcdp": Budget.zcdp(0.5, 1e-5),
    "pure": Budget.pure(1.0),
}
EDGES = [0.0, 1.0, 2.0, 4.0]
# At both ends of each cell, within it and beyond all of them.
POINTS = np.array([-7.0, 0.0, 0.25, 0.75, 1.0, 1.5, 2.0, 3.0, 3.999999999, 4.0, 9.0])
DOMAIN = Domain.from_sizes({"a": 3, "b": 2, "c": 4})
CODES = [np.array(codes) for codes in ([0, 0, 1, 2, 2, 2, 1], [0, 0, 1, 1, 1, 1, 0], [3, 3, 0, 1, 2, 2, 2])]
PAIRS = [("a", "b"), ("b", "c"), ("a", "c")]
AGREEMENT = Agreement([np.eye(size) - 1 / size for size in DOMAIN.sizes])
# The same row twice: a record that changes one vote changes both.
ASKED = EncodedTable(DOMAIN, tuple(np.array([c, c]) for c in (2, 1, 2)))
GENERATED = EncodedTable(DOMAIN, tuple(np.array(codes) for codes in ([0, 1, 2], [0, 1, 1], [0, 1, 3])))
CROSSED = random_thresholds(["a", "c"], ["b"], 9, np.random.default_rng(0))

Ask = Callable[[Ledger, NoiseSource, int | None], object]
Wrap = Callable[[NoiseSource], NoiseSource]


@dataclass(frozen=True)
class Question:
    """Something to ask of a table that lacks the record of a position, or none, and how many records there are."""

    ask: Ask
    n_records: int


def without(records: np.ndarray, position: int | None) -> np.ndarray:
    return records if position is None else np.delete(records, position)


def of_column(ask: Callable[[ColumnCurator], object]) -> Question:
    def put(ledger: Ledger, noise: NoiseSource, gone: int | None) -> object:
        return ask(ColumnCurator(without(POINTS, gone), ledger, noise, n_missing=3))

    return Question(put, len(POINTS))


def of_table(ask: Callable[[Curator], object]) -> Question:
    def put(ledger: Ledger, noise: NoiseSource, gone: int | None) -> object:
        table = EncodedTable(DOMAIN, tuple(without(codes, gone) for codes in CODES))
        return ask(Curator(MemoryEngine(table), ledger, noise))

    return Question(put, len(CODES[0]))


def of_labels(ask: Callable[[LabelCurator], object]) -> Question:
    def put(ledger: Ledger, noise: NoiseSource, gone: int | None) -> object:
        counts = {"x": 5, "y": 2, None: 3}
        if gone is not None:
            counts[("x", "y", None)[gone]] -= 1
        return ask(LabelCurator(counts, ledger, noise))

    return Question(put, 3)


PAID = {"share": Fraction(1, 3), "step": "ask"}
ZEROS = [np.zeros(DOMAIN.shape(pair)) for pair in PAIRS]
QUESTIONS = {
    "histogram": of_column(lambda c: c.histogram(EDGES, **PAID)),
    "histogram with missing": of_column(lambda c: c.histogram(EDGES, count_missing=True, **PAID)),
    "sums within cells": of_column(lambda c: c.sums(EDGES, power=1, of="cell", **PAID)),
    "squares within cells": of_column(lambda c: c.sums(EDGES, power=2, of="cell", **PAID)),
    "sums within the column": of_column(lambda c: c.sums(EDGES, power=1, of="column", **PAID)),
    "spread": of_column(lambda c: fit_spread(c, Bins(tuple(EDGES)), **PAID)),
    "quantiles": of_column(
        lambda c: c.quantiles(EDGES, [Fraction(1, 4), Fraction(1, 2), Fraction(4, 5)], **PAID)
    ),
    "window": of_column(
        lambda c: c.window(
            [(0.0, 4.0), (0.0, 2.0), (-10.0, 10.0)],
            enough=20,
            merits=[0.0, 2.0, 1.0],
            log_weights=[0.0, -0.5, 0.3],
            **PAID,
        )
    ),
    "tree": of_column(lambda c: c.tree(Node(0.0, 4.0), threshold=0.0, most_leaves=4, **PAID)),
    "labels": of_labels(lambda c: c.frequent(delta=1e-7, **PAID)),
    "marginals": of_table(lambda t: t.measure([("a",), *PAIRS], **PAID)),
    "choice of a marginal": of_table(
        lambda t: t.choose(PAIRS, ZEROS, weights=[1.0, 0.5, 3.0], penalties=[0.0, 1.0, 2.0], **PAID)
    ),
    "distance of marginals": of_table(lambda t: t.measure_distance(PAIRS, ZEROS, **PAID)),
    "dependences": of_table(lambda t: t.measure_dependence(PAIRS, **PAID)),
    "choice of a dependence": of_table(lambda t: t.choose_dependent(PAIRS, **PAID)),
    "cells": of_table(
        lambda t: CellCurator(t, PAIRS).measure(
            [(("a", "b"), (2, 1)), (("a", "b"), (0, 0)), (("a", "c"), (2, 2))], **PAID
        )
    ),
    "choice of a cell": of_table(lambda t: CellCurator(t, PAIRS).choose(ZEROS, **PAID)),
    "votes of teachers": of_table(
        lambda t: TeacherCurator(t).council(AGREEMENT, 3).vote(ASKED, GENERATED, **PAID)
    ),
    "thresholds": of_table(lambda t: ThresholdCurator(t, CROSSED).measure([2, 5], **PAID)),
    "choice of a threshold": of_table(
        lambda t: ThresholdCurator(t, CROSSED).choose(
            np.zeros((9, 2)), among=np.arange(9) != 4, picks=2, **PAID
        )
    ),
}
CASES = [(name, budget) for budget in BUDGETS for name in QUESTIONS if (name, budget) != ("labels", "pure")]
NOT_REACHED = ("dependences", "choice of a dependence")
"""Whose sensitivity is a proven bound that no record of this table reaches."""


def drawn(
    question: Question, budget: str, noise: RecordingNoise, wrap: Wrap, gone: int | None = None
) -> tuple[list[Event], list[Call]]:
    """Put a question; return what was charged for each draw, and the draws."""
    stated = BUDGETS[budget]
    ledger = Ledger(stated if stated.kind == "pure" else stated.with_failure_delta(1e-6))
    question.ask(ledger, wrap(noise), gone)
    events = [entry.event for entry in ledger.entries]
    if isinstance(events[0], TreeEvent):  # which draws once a level
        events *= len(noise.calls)
    assert len(events) == len(noise.calls)
    return events, noise.calls


def part_used(event: Event, one: Call, other: Call) -> float:
    """Return which part of the charged sensitivity two inputs of the noise differ by; above 1 there is too little."""
    assert one.scale == other.scale
    difference = np.abs(np.asarray(one.exact, dtype=float) - np.asarray(other.exact, dtype=float))
    match event:
        case GaussianEvent():
            assert (one.kind, one.scale) == ("discrete_gaussian", event.sigma)
            return float(np.square(difference).sum() / event.l2_sensitivity_squared)
        case ThresholdEvent():
            assert (one.kind, one.scale) == ("discrete_gaussian", event.sigma)
            return float(np.square(difference).sum())
        case LaplaceEvent():
            assert (one.kind, one.scale) == ("discrete_laplace", event.scale)
            return float(difference.sum() / event.l1_sensitivity)
        case TreeEvent():
            assert (one.kind, one.scale) == ("discrete_laplace", event.scale * STEPS)
            return float(difference.sum() / STEPS)
        case ExponentialEvent():
            assert one.kind == "noisy_max"
            # The most that a score may move for its odds to change by exp(epsilon / 2).
            return float(difference.max() / (one.scale * event.epsilon / 2))
    raise AssertionError(f"unexpected {type(event).__name__}")


def unchanged(noise: NoiseSource) -> NoiseSource:
    return noise


def parts_used(question: Question, budget: str, wrap: Wrap = unchanged) -> np.ndarray:
    """Return the parts [records, draws] of the charged sensitivity that leaving out each record uses."""
    events, first = drawn(question, budget, RecordingNoise(SeededNoise(1)), wrap)
    parts = []
    for gone in range(question.n_records):
        replay = ReplayingNoise(SeededNoise(1), script=first)
        same, calls = drawn(question, budget, replay, wrap, gone)
        assert same == events
        parts.append([part_used(*draw) for draw in zip(events, first, calls, strict=True)])
    return np.array(parts)


class TestCharged:
    @pytest.mark.thorough
    def test_the_noise_is_that_of_the_charged_sensitivity_and_a_record_uses_all_of_it(self) -> None:
        for name, budget in CASES:
            parts = parts_used(QUESTIONS[name], budget)

            assert parts.size
            assert parts.max() <= 1
            if name not in NOT_REACHED:
                # Few records reach the lower levels of a tree. Some millionths of scores are set aside for rounding.
                most = parts[:, 0].max() if name == "tree" else parts.max(axis=0)
                assert most == pytest.approx(1.0, rel=1e-5)

    def test_sums_are_in_steps_that_noise_and_sensitivity_share(self) -> None:
        for budget in BUDGETS:
            noise = RecordingNoise(SeededNoise(0))
            (event,), (call,) = drawn(QUESTIONS["sums within cells"], budget, noise, unchanged)
            (of_counts,), _ = drawn(QUESTIONS["histogram"], budget, RecordingNoise(SeededNoise(0)), unchanged)

            # A whole width is FRACTION_STEPS steps, and its noise so many times that of a count.
            assert call.exact.sum() == sum(round((p - a) / (b - a) * FRACTION_STEPS) for p, a, b in placed())
            wide = event.scale if isinstance(event, LaplaceEvent) else event.sigma
            narrow = of_counts.scale if isinstance(of_counts, LaplaceEvent) else of_counts.sigma
            # A count's discrete Gaussian noise costs a little more than that of many small steps.
            assert wide / narrow == pytest.approx(FRACTION_STEPS, rel=2e-2)


def placed() -> Iterator[tuple[float, float, float]]:
    """Yield each value, held at the outer edges, with the ends of its cell."""
    for point in np.clip(POINTS, EDGES[0], EDGES[-1]):
        cell = min(int(np.searchsorted(EDGES, point, side="right")) - 1, len(EDGES) - 2)
        yield float(point), EDGES[cell], EDGES[cell + 1]


def is_found(name: str, budget: str, wrap: Wrap = unchanged) -> bool:
    try:
        return bool(parts_used(QUESTIONS[name], budget, wrap).max() > 1)
    except AssertionError:
        return True


class FineNoise(HalfNoise):
    """The noise of counts, for what is in steps of a much finer unit."""

    def discrete_gaussian(self, counts, sigma):
        return self.inner.discrete_gaussian(counts, sigma / FRACTION_STEPS)

    def discrete_laplace(self, counts, scale):
        return self.inner.discrete_laplace(counts, scale / FRACTION_STEPS)


class TestPlantedBugs:
    @pytest.mark.parametrize("budget", BUDGETS)
    @pytest.mark.parametrize("name", ["sums within cells", "sums within the column", "spread"])
    def test_sums_that_are_charged_as_counts(
        self, name: str, budget: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def wrong(ledger: Ledger, share: Fraction, *, sensitivity: int, **options: Any) -> Event:
            del sensitivity
            return counting_event(ledger, share, sensitivity=1, **options)

        monkeypatch.setattr(column_curator, "counting_event", wrong)

        assert is_found(name, budget)

    def test_sums_with_the_noise_of_counts(self) -> None:
        for budget in BUDGETS:
            for name in ["sums within cells", "sums within the column", "spread"]:
                assert is_found(name, budget, wrap=FineNoise)

    @pytest.mark.thorough
    def test_half_of_the_noise_of_anything(self) -> None:
        for name, budget in CASES:
            assert is_found(name, budget, wrap=HalfNoise) or name == "choice of a dependence"
