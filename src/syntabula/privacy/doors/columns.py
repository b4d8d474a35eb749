"""Private queries to one raw ordered column: noisy counts, noisy sums, quantiles and splits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.marginals.measurement import FloatArray
from syntabula.marginals.sorted_points import (
    CUTS_AHEAD,
    FRACTION_STEPS,
    CountedPoints,
    SortedPoints,
    as_cuts,
    halving_cuts,
)
from syntabula.privacy.doors.scores import frequent_values, quantile_scores, shortfall_scores, unpacked
from syntabula.privacy.events import Event, ExactEvent, ExponentialEvent, ThresholdEvent, TreeEvent
from syntabula.privacy.ledger import Ledger, Token
from syntabula.privacy.mechanisms import (
    Node,
    Sensitive,
    are_decisions,
    choose,
    leaves_of,
    most_decisions,
    noisy_counts,
    split_tree,
)
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.pricing import NoisyVector, bought, counting_event, laplace_epsilon_of_share
from syntabula.privacy.resume import answer, fingerprint

if TYPE_CHECKING:
    from syntabula.marginals.asked_points import AskedPoints
    from syntabula.privacy.journal import NoisyArray


class ColumnCurator:
    """Holds the values of one sensitive column; every answer is private and paid for before the draw.

    Neighbouring tables differ by one record, which has at most one value in the column: it changes one cell
    of a histogram by one, one sum by at most one width, and the rank of any point by at most one. Cells,
    candidates and shares must come from public facts or released values; sensitivities are computed here, for one
    record; `privacy.rules` turns them into those for all rows of a unit. Each query takes its cost as a `share` of the
    whole budget, and the `step` that the ledger names its spend by.

    Args:
        points: [n] present values: float64 without NaN, int64 or uint64; or such values with the number of records of
            each. They are sorted once, in a copy of 8 bytes per value. Or those of a table in parts, too many to hold.
        ledger: Pays for every answer.
        noise: Draws the noise.
        n_missing: Number of records whose value is missing.
        of_units: Whether each value is that of a whole unit, so that a unit changes no more than a record does.

    Attributes:
        integer: Whether the column holds integers; the bounds of an integer column are integers too.
    """

    def __init__(
        self,
        points: NDArray[Any] | CountedPoints | AskedPoints,
        ledger: Ledger,
        noise: NoiseSource,
        *,
        n_missing: int = 0,
        of_units: bool = False,
    ) -> None:
        exact = SortedPoints(points) if isinstance(points, np.ndarray | CountedPoints) else points
        self._points: Sensitive[SortedPoints | AskedPoints] = Sensitive(exact)
        self._missing = Sensitive(n_missing)
        self._ledger = ledger
        self._source = noise
        self._answer = partial(answer, ledger, noise)
        self._of_units = of_units
        self.integer = exact.integer

    @property
    def is_private(self) -> bool:
        """Whether noise is drawn at all; False if privacy is switched off."""
        return self._ledger.budget.currency != "none"

    def pure_epsilon(self, share: Fraction | float) -> float:
        """Return the epsilon that Laplace noise would have for this share; infinite without privacy. Free."""
        if not self.is_private:
            return math.inf
        return float(laplace_epsilon_of_share(self._ledger, share))

    def split(self, share: Fraction, ratio: Sequence[float]) -> list[Fraction]:
        """Divide a share so that the epsilons of its parts are in a ratio. Free."""
        power = 1 if self._ledger.budget.currency == "epsilon" else 2
        weights = [Fraction(r) ** power for r in ratio]
        return [share * w / sum(weights) for w in weights]

    def histogram(
        self,
        edges: Sequence[float],
        *,
        share: Fraction | float,
        step: str,
        count_missing: bool = False,
    ) -> NoisyVector:
        """Release the number of values in each of some adjacent cells.

        Args:
            edges: k + 1 ascending edges. Cell i holds e_i <= x < e_(i+1); the first and last cell also hold the
                values outside.
            count_missing: Whether to count missing values in an additional last cell; it costs nothing, because a record
                lies in one cell.

        Returns:
            [k] or [k + 1] noisy counts.
        """
        cells = len(edges) - 1 + count_missing
        event = counting_event(self._ledger, share, sensitivity=1, cells=cells, of_units=self._of_units)

        def draw(token: Token) -> NoisyArray:
            counts = np.diff(self._sorted().starts(edges))
            if count_missing:
                counts = np.append(counts, self._missing.reveal_inside_privacy())
            return noisy_counts(token, self._source, Sensitive(counts.astype(np.int64)))

        noisy = self._answer(event, step=step, query=[*edges, count_missing], draw=draw)
        return NoisyVector(noisy.astype(np.float64), event)

    def sums(
        self,
        edges: Sequence[float],
        *,
        power: Literal[1, 2],
        of: Literal["cell", "column"],
        share: Fraction | float,
        step: str,
    ) -> NoisyVector:
        """Release, for each of some adjacent cells, the sum of its values' places, from 0 to 1.

        Args:
            edges: k + 1 ascending edges, as in `histogram`; values outside are clipped to the nearest edge.
            power: 1 for places, 2 for their squares.
            of: Whether 0 and 1 are the ends of the cell or of all cells together.

        Returns:
            [k] noisy sums.
        """
        event = counting_event(
            self._ledger, share, sensitivity=FRACTION_STEPS, cells=len(edges) - 1, of_units=self._of_units
        )

        def draw(token: Token) -> NoisyArray:
            return noisy_counts(token, self._source, Sensitive(self._sorted().sums(edges, power, of)))

        noisy = self._answer(event, step=step, query=[*edges, power, of], draw=draw)
        return NoisyVector(noisy / FRACTION_STEPS, event, unit=1 / FRACTION_STEPS)

    def quantiles(
        self,
        edges: Sequence[float],
        fractions: Sequence[Fraction],
        *,
        share: Fraction | float,
        step: str,
    ) -> list[int]:
        """Select cells below which about these fractions of the values lie, by the exponential mechanism.

        The weight of a cell is its width times exp(-epsilon |records below it - fraction * records| / (2 Delta)), which
        is Smith (2011) over cells.

        The middle fraction is drawn first, then recursively the middle ones on either side of it, among the cells up to
        the one drawn. The candidates of a draw are released values, so each draw is an exponential mechanism as before;
        the results ascend, and most draws see few cells.

        Args:
            edges: k + 1 ascending edges of the candidate cells.
            fractions: Ascending, each between 0 and 1, both excluded, with a small denominator.
            share: Fraction of the whole budget, for all of them together.

        Returns:
            The position of the chosen cell, for each fraction.
        """
        if any(not 0 < f < 1 for f in fractions) or list(fractions) != sorted(fractions):
            raise ArgumentError("fractions must ascend between 0 and 1, both excluded")
        ranks = self._sorted().starts(edges)[:-1]
        widths = np.array([float(b - a) for a, b in itertools.pairwise(edges)])
        log_widths = np.log(widths / widths.max())
        cells = fingerprint(list(edges))
        chosen = [0] * len(fractions)
        # Positions of fractions from first to end, whose cells lie from low to high.
        open_parts = [(0, len(fractions), 0, len(edges) - 2)]
        while open_parts:
            first, end, low, high = open_parts.pop()
            if first == end:
                continue
            middle, within = (first + end) // 2, slice(low, high + 1)
            fraction, each = fractions[middle], Fraction(share) / len(fractions)
            event, scale = self._choice("quantile", each, candidates=high + 1 - low)
            scores = quantile_scores(ranks[within], self._sorted().size, fraction, log_widths[within], scale)
            query = [cells, low, high, fraction]
            chosen[middle] = low + self._chosen(event, *scores, step=step, query=query)
            open_parts.append((middle + 1, end, chosen[middle], high))
            open_parts.append((first, middle, low, chosen[middle]))
        return chosen

    def window(
        self,
        windows: Sequence[tuple[float, float]],
        *,
        enough: float,
        merits: Sequence[float],
        log_weights: Sequence[float],
        share: Fraction | float,
        step: str,
    ) -> int:
        """Select an interval that holds about as many values as wanted, by the exponential mechanism.

        The weight of a window is exp(log weight - epsilon (lack - merit) / 2), where its lack is `enough` minus the
        number of its values, at least 0: a record changes the lack by at most one.

        Args:
            windows: Half-open intervals, each with its lower end included.
            enough: A public or released number of values.
            merits: How many values each may lack because of its other merits; public or released.
            log_weights: Log weights between windows with equal scores; ignored without privacy.

        Returns:
            The position of the chosen window.
        """
        event, scale = self._choice("window", share, candidates=len(windows))
        ends = self._sorted().ranks([end for window in windows for end in window]).reshape(-1, 2)
        counts = ends[:, 1] - ends[:, 0]
        scores = shortfall_scores(counts, enough, np.array(merits), np.array(log_weights), scale)
        query = [*windows, *merits, *log_weights, enough]
        return self._chosen(event, scores, 1.0, step=step, query=query)

    def _choice(self, what: str, share: Fraction | float, *, candidates: int) -> tuple[Event, float]:
        """Return the choice that a share buys, and the divisor of a score of sensitivity one in it."""
        event = bought(
            self._ledger, share, ExponentialEvent, what=what, of_units=self._of_units, candidates=candidates
        )
        return event, 2 / event.epsilon if isinstance(event, ExponentialEvent) else 0.0

    def _chosen(
        self, event: Event, scores: FloatArray, sensitivity: float, *, step: str, query: Sequence[Any]
    ) -> int:
        def draw(token: Token) -> NoisyArray:
            return np.asarray([choose(token, self._source, Sensitive(scores), sensitivity)])

        return int(self._answer(event, step=step, query=query, draw=draw)[0])

    def tree(
        self,
        root: Node,
        *,
        threshold: float,
        most_leaves: int,
        share: Fraction | float,
        step: str,
    ) -> list[Node]:
        """Split an interval into halves repeatedly where it holds many values: PrivTree.

        See `split_tree`, which holds the mechanism and its proof. One spend pays for the whole tree.

        Returns:
            The leaves, in ascending order.
        """
        event = bought(self._ledger, share, TreeEvent, what="tree", of_units=self._of_units)

        def count(nodes: Sequence[Node]) -> Sensitive[NDArray[np.int64]]:
            intervals = [(node.low, node.high) for node in nodes]
            ahead = partial(halving_cuts, intervals, CUTS_AHEAD, integer=self.integer)
            ends = self._sorted().ranks([*itertools.chain(*intervals)], ahead).reshape(-1, 2)
            # The outer nodes also hold the values outside the root.
            ends[[node.low == root.low for node in nodes], 0] = 0
            ends[[node.high == root.high for node in nodes], 1] = self._sorted().size
            return Sensitive(ends[:, 1] - ends[:, 0])

        def draw(token: Token) -> NoisyArray:
            return split_tree(token, self._source, root, count, threshold=threshold, most_leaves=most_leaves)

        decisions = self._answer(
            event,
            step=step,
            query=[root.low, root.high, threshold, most_leaves],
            draw=draw,
            longest=most_decisions(most_leaves) * np.dtype(np.int64).itemsize if self.is_private else None,
            is_readable=lambda decisions: are_decisions(root, decisions, most_leaves=most_leaves),
        )
        return leaves_of(root, decisions, most_leaves=most_leaves)

    def frequent(
        self,
        most: int,
        *,
        share: Fraction | float,
        delta: Fraction | float,
        step: str,
        least: int = 1,
        public: Sequence[float] = (),
    ) -> tuple[list[Any], NDArray[np.int64]]:
        """Release the values whose noisy count reaches a threshold, with their noisy counts.

        The question by which categories are found, asked of the exact values: see `mechanisms.frequent`.

        Args:
            most: Largest number of values; of more, those with the largest noisy counts are taken: post-processing.
            share: Fraction of the whole budget; it must be a budget with a delta.
            delta: Part of the budget's delta: an upper bound on the probability of releasing a value that only one
                record has.
            least: Number of records below which a value is not released; public or released.
            public: Values that are public or were released, whose noisy counts are all released too.

        Returns:
            The values in ascending order, as int or float, and their noisy counts.

        Raises:
            BudgetExceededError: If too little delta is reserved (`Budget.with_failure_delta`).
        """
        buy = partial(bought, self._ledger, share, ThresholdEvent, of_units=self._of_units)
        event = buy(what="frequent values", failure=delta)
        known = as_cuts(public, self._sorted().kind)

        def draw(token: Token) -> NoisyArray:
            return frequent_values(token, self._source, self._sorted(), public=known, least=least, most=most)

        answered = self._answer(
            event,
            step=step,
            query=[most, least, *public],
            draw=draw,
            longest=(most + known.size) * (known.itemsize + 8),
            is_readable=lambda answer: answer.size % (known.itemsize + 8) == 0,
        )
        return unpacked(answered, known.dtype)

    def noise_for(self, share: Fraction | float) -> NoisyVector:
        """Return 0 with the noise that a count for a share would have, of which none is drawn. Free."""
        event = counting_event(self._ledger, share, sensitivity=1, cells=1, of_units=self._of_units)
        return NoisyVector(np.zeros(1), event)

    def fine_cuts(self, most: int, *, step: str) -> NDArray[Any]:
        """Return exact cuts between the values, for at most so many bins, by `SortedPoints.fine_cuts`.

        Raises:
            BudgetError: If there is a budget, as no noise protects what this returns.
        """

        def draw(token: Token) -> NoisyArray:
            token.consume()
            return self._sorted().fine_cuts(most).view(np.int64)

        # Exact answers are recorded as whole numbers.
        cuts = self._answer(
            ExactEvent("cuts between values"),
            step=step,
            query=[most],
            draw=draw,
            longest=most * np.dtype(np.int64).itemsize,
        )
        return cuts.view(self._sorted().kind)

    def _sorted(self) -> SortedPoints | AskedPoints:
        return self._points.reveal_inside_privacy()

    def __repr__(self) -> str:  # shows no count, not even that of the values
        return "ColumnCurator()"
