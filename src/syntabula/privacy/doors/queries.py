"""Queries that are selected and measured one by one: single cells of marginals, thresholds, and trends of pairs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula._memory import above_limit
from syntabula.errors import ArgumentError, ResourceError
from syntabula.marginals.domain import Clique, EncodedTable
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.marginals.threshold import (
    CrossedThresholds,
    LinearThreshold,
    passing,
    places,
    with_threshold_columns,
)
from syntabula.marginals.trend import STEPS_PER_SCORE, Trend, whole_steps
from syntabula.privacy.doors.scores import Weighing, batches, differences, row_distances
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.journal import NoisyArray
from syntabula.privacy.ledger import Token
from syntabula.privacy.mechanisms import Sensitive, choose, noisy_counts
from syntabula.privacy.pricing import counting_event, standard_deviation
from syntabula.privacy.resume import fingerprint

Cell = tuple[int, ...]
"""One code for each column of a clique."""

_UNKNOWN = 1e9
"""Standard deviation of an unmeasured cell, relative to that of a measured one: larger than any count."""

_TREND_UNIT = STEPS_PER_SCORE**2

_FARTHEST_TREND = 2.0**52
"""Differences of trends are clipped to this many steps, which float64 holds exactly."""


class CellCurator:
    """Answers queries of single cells of marginals, on a curator's ledger.

    One record changes a single cell of each marginal, by one. So the score of a cell (its distance to an estimate)
    has sensitivity 1, and so has each marginal whose cells are measured. Shares, steps and errors of queries are those of
    a `Curator`. The cliques are the marginals whose cells may be queried.
    """

    def __init__(self, curator: Curator, cliques: Sequence[Clique]) -> None:
        if not cliques:
            raise ArgumentError("cliques must hold at least one clique")
        self._curator = curator
        self._cliques = [tuple(c) for c in cliques]
        self._ends = np.cumsum([curator.domain.cells(c) for c in self._cliques])

    def choose(
        self,
        estimates: Sequence[FloatArray],
        *,
        without: Collection[tuple[Clique, Cell]] = (),
        share: Fraction | float,
        step: str,
    ) -> tuple[Clique, Cell]:
        """Select the cell whose count differs most from its estimate, by the exponential mechanism.

        Args:
            estimates: Expected counts of each clique, of its shape.
            without: Cells to exclude; at least one must remain.
        """
        left = np.ones(self._ends[-1], dtype=bool)
        left[[self._position(*cell) for cell in without]] = False
        candidates = np.flatnonzero(left)
        if not candidates.size:
            raise ArgumentError("choose needs at least one candidate")
        curator = self._curator
        curator._check_estimates(self._cliques, estimates)
        curator._check_memory(self._cliques)

        def draw(token: Token) -> NoisyArray:
            believed = np.concatenate([np.ravel(e) for e in estimates])
            exact = curator._joined(self._cliques, ()).reveal_inside_privacy()
            scores = Sensitive(differences(exact, believed)[candidates])
            return np.asarray([choose(token, curator._source, scores, score_sensitivity=1.0)])

        query = [self._cliques, np.flatnonzero(~left).tolist()]
        event = curator._choice(candidates.size, share)
        chosen = curator._answer(event, step, query, draw)
        return self._cell(int(candidates[chosen[0]]))

    def measure(
        self, cells: Sequence[tuple[Clique, Cell]], *, share: Fraction | float, step: str
    ) -> list[Measurement]:
        """Release the noisy counts of some cells, all with the same noise.

        Args:
            cells: At least one; each with its clique.

        Returns:
            One measurement per clique with a measured cell. All other cells in it are 0, with a standard deviation
            beyond any count, so they carry no information.
        """
        chosen: dict[Clique, list[Cell]] = {}
        for clique, cell in dict.fromkeys(cells):
            self._position(clique, cell)  # raises an error for an unknown cell
            chosen.setdefault(clique, []).append(cell)
        if not chosen:
            raise ArgumentError("measure needs at least one cell")
        curator = self._curator
        curator._check_memory(list(chosen))
        event, sigma = curator._noise(len(chosen), sum(map(len, chosen.values())), share)

        def draw(token: Token) -> NoisyArray:
            parts = [
                curator._exact(clique).reveal_inside_privacy()[tuple(np.array(cells_of).T)]
                for clique, cells_of in chosen.items()
            ]
            return noisy_counts(token, curator._source, Sensitive(np.concatenate(parts)))

        query = list(chosen.items())
        noisy = curator._answer(event, step, query, draw)
        measured = []
        for clique, cells_of in chosen.items():
            values = np.zeros(curator.domain.shape(clique))
            sigmas = np.full(values.shape, _UNKNOWN * max(sigma, 1.0))
            where = tuple(np.array(cells_of).T)
            values[where], noisy = noisy[: len(cells_of)], noisy[len(cells_of) :]
            sigmas[where] = sigma
            measured.append(Measurement(clique, values, sigmas))
        return measured

    def _position(self, clique: Clique, cell: Cell) -> int:
        """Return the position of a cell among all candidates."""
        number = self._cliques.index(clique)
        start = int(self._ends[number - 1]) if number else 0
        return start + int(np.ravel_multi_index(cell, self._curator.domain.shape(clique)))

    def _cell(self, position: int) -> tuple[Clique, Cell]:
        number = int(np.searchsorted(self._ends, position, side="right"))
        clique = self._cliques[number]
        start = int(self._ends[number - 1]) if number else 0
        codes = np.unravel_index(position - start, self._curator.domain.shape(clique))
        return clique, tuple(int(c) for c in codes)


class ThresholdCurator:
    """Selects among very many thresholds, each crossed with a column, and measures a few, on a curator's ledger.

    The answer of a threshold is the number of records that pass it, for each code of its other column: one record
    changes one cell by one, so the L1 distance to an estimate has sensitivity 1. Shares and steps are those of a
    `Curator`.

    Args:
        curator: Holds the table.
        thresholds: From public facts, over columns of the curator's domain.

    Raises:
        ArgumentError: If a threshold has the name of a column.
        ResourceError: If the answers of all thresholds need more memory than the engine allows.
        SchemaError: If a threshold is over an unknown column.
    """

    def __init__(self, curator: Curator, thresholds: CrossedThresholds) -> None:
        self._curator = curator
        self._thresholds = thresholds
        self._sizes = [curator.domain.size(c) for c in thresholds.others] or [1]
        needed = 4 * 8 * len(thresholds) * max(self._sizes) / 2**20
        if needed > curator._engine.limit_mb:
            raise ResourceError(
                f"the answers of {len(thresholds):,} thresholds may need "
                f"{above_limit(needed, curator._engine.limit_mb)}; draw fewer (n_thresholds), or raise memory_mb"
            )
        if set(curator.domain.columns).intersection(thresholds.names):
            raise ArgumentError("a threshold has the name of a column; rename the column")
        arrays = (thresholds.weights, thresholds.offsets, thresholds.crossed)
        self._name = fingerprint([thresholds.columns, thresholds.others, *arrays])
        self._answers: Sensitive[NDArray[np.int64]] | None = None

    def choose(
        self,
        believed: FloatArray,
        *,
        among: NDArray[np.bool_],
        picks: int,
        share: Fraction | float,
        step: str,
    ) -> list[int]:
        """Select the thresholds whose answers differ most from a model's, one after the other.

        Args:
            believed: Expected answers [thresholds, codes], 0 beyond the codes of the other column.
            among: Mask of the thresholds of the first choice [thresholds].
            picks: Number of choices, at most that of the thresholds.
            share: Fraction of the whole budget for all choices.

        Returns:
            Positions of the chosen ones, in order.
        """
        if believed.shape != (len(self._thresholds), max(self._sizes)) or among.shape != believed.shape[:1]:
            raise ArgumentError(
                "choose needs an estimate of every threshold's answer, and a mask of all thresholds"
            )
        curator, left = self._curator, among.copy()
        weighing, chosen = Weighing.of(len(self._thresholds), None, None), list[int]()
        far: Sensitive[FloatArray] | None = None

        def draw(token: Token) -> NoisyArray:
            nonlocal far
            if far is None:
                far = Sensitive(row_distances(self._all().reveal_inside_privacy(), believed))
            some = weighing.among(left)
            scores = Sensitive(some.scores(far.reveal_inside_privacy()[left]))
            return np.asarray([choose(token, curator._source, scores, some.sensitivity)])

        for _ in range(picks):
            there = np.flatnonzero(left)
            event = curator._choice(there.size, Fraction(share) / picks)
            query = [self._name, np.packbits(left)]
            drawn = curator._answer(event, step, query, draw)
            chosen.append(int(there[drawn[0]]))
            left[chosen[-1]] = False
        return chosen

    def measure(self, chosen: Sequence[int], *, share: Fraction | float, step: str) -> list[Measurement]:
        """Release noisy counts of thresholds with their other columns, as `Curator.measure` does."""
        wider = with_thresholds(self._curator, self._thresholds.named(chosen))
        return wider.measure([self._thresholds.clique(i) for i in chosen], share=share, step=step)

    def _all(self) -> Sensitive[NDArray[np.int64]]:
        """Return the answers of all thresholds [thresholds, codes], counted once."""
        if self._answers is None:
            self._answers = Sensitive(self._curator._engine.summed(self._counted))
        return self._answers

    def _counted(self, table: EncodedTable) -> NDArray[np.int64]:
        """Return the answers of all thresholds for some records [thresholds, codes]."""
        asked, recoding = self._thresholds, self._curator._recoding
        rows = table if recoding is None else recoding.encode(table)
        found = np.zeros((len(asked), max(self._sizes)), dtype=np.int64)
        where = places(rows, asked.columns)
        for position, size in enumerate(self._sizes):
            some = np.flatnonzero(asked.crossed == position)
            codes = rows.column(asked.others[position]) if asked.others else None
            found[some, :size] = passing(asked.weights[some], asked.offsets[some], where, codes, size)
        return found

    def __repr__(self) -> str:
        return f"ThresholdCurator({len(self._thresholds)} thresholds)"


class TrendCurator:
    """Chooses among trends, and measures them, on a curator's ledger.

    A trend is the sum over all records of a product of two whole numbers, one for the code of each column. So one record
    changes it by at most the largest of these products, exactly: they are added as integers, and estimates are rounded
    to integers before they are compared. Shares and steps are those of a `Curator`.

    Args:
        curator: Holds the table.
        pairs: The pairs of columns that may be asked for; at least one.
        scores: The score of each code, between -0.5 and 0.5, of each of their columns [codes], from public facts and
            released values.

    Raises:
        ArgumentError: If there is no pair, or scores do not fit a column.
        ResourceError: If counting a pair could take more memory than the engine allows.
    """

    def __init__(self, curator: Curator, pairs: Sequence[Clique], scores: Mapping[str, FloatArray]) -> None:
        if not pairs:
            raise ArgumentError("pairs must hold at least one pair of columns")
        for pair in pairs:
            if len(pair) != 2 or any(scores[c].shape != (curator.domain.size(c),) for c in pair):
                raise ArgumentError("each pair must have two columns, each with one score for every code")
            if not all(np.abs(scores[c]).max() <= 0.5 for c in pair):
                raise ArgumentError("scores must lie between -0.5 and 0.5")
        self._curator = curator
        self._pairs = [tuple(p) for p in pairs]
        for batch in batches(curator._counts.cells, curator._missing(self._pairs)):
            curator._counts.check_memory(batch)
        self._steps = {c: whole_steps(scores[c]) for p in pairs for c in p}
        self._sums: Sensitive[NDArray[np.int64]] | None = None

    @property
    def scores(self) -> dict[str, FloatArray]:
        """The scores by which trends are measured: those given, rounded."""
        return {c: steps / STEPS_PER_SCORE for c, steps in self._steps.items()}

    def choose(
        self, believed: FloatArray, *, among: Sequence[int], share: Fraction | float, step: str
    ) -> int:
        """Return the position of a pair whose trend is far from its estimate, by the exponential mechanism.

        Args:
            believed: Estimate of each pair's trend, in records times both scores [pairs].
            among: Positions of the pairs of this choice, by released values alone; at least one.
            share: Fraction of the whole budget.
            step: Name of the choice in the ledger.

        Raises:
            ArgumentError: If there is not one finite estimate for each pair, or no pair to choose.
        """
        if believed.shape != (len(self._pairs),) or not np.isfinite(believed).all() or not among:
            raise ArgumentError("choose needs a finite estimate of every pair's trend, and a pair to choose")
        left = np.asarray(among)
        estimates = np.rint(believed[left] * _TREND_UNIT)

        def draw(token: Token) -> NoisyArray:
            exact = self._exact().reveal_inside_privacy()[left]
            far = np.minimum(np.abs(exact - estimates), _FARTHEST_TREND)
            return np.asarray([choose(token, self._curator._source, Sensitive(far), float(self._most(left)))])

        event = self._curator._choice(left.size, share)
        query = [self._named(left), estimates]
        return int(left[self._curator._answer(event, step, query, draw)[0]])

    def measure(self, position: int, *, share: Fraction | float, step: str) -> Trend:
        """Release the trend of a pair.

        Args:
            position: Its position among all pairs.
            share: Fraction of the whole budget.
            step: Name of the measurement in the ledger.
        """
        place = np.array([position])
        event = counting_event(
            self._curator.ledger, share, sensitivity=self._most(place), cells=1, what="trend of a pair"
        )

        def draw(token: Token) -> NoisyArray:
            exact = self._exact().reveal_inside_privacy()[place]
            return noisy_counts(token, self._curator._source, Sensitive(exact))

        released = self._curator._answer(event, step, self._named(place), draw)
        first, second = pair = self._pairs[position]
        scores = self.scores
        sigma = standard_deviation(event) / _TREND_UNIT
        return Trend(pair, (scores[first], scores[second]), float(released[0]) / _TREND_UNIT, sigma)

    def _most(self, places: NDArray[np.intp]) -> int:
        """Return by how many steps one record changes any of some pairs' trends at most."""
        largest = {column: int(np.abs(steps).max()) for column, steps in self._steps.items()}
        pairs = (self._pairs[i] for i in places.tolist())
        return max(1, *(largest[first] * largest[second] for first, second in pairs))

    def _named(self, places: NDArray[np.intp]) -> list[object]:
        pairs = [self._pairs[i] for i in places.tolist()]
        return [pairs, *(self._steps[c] for c in dict.fromkeys(c for pair in pairs for c in pair))]

    def _exact(self) -> Sensitive[NDArray[np.int64]]:
        """Return the trends of all pairs in steps [pairs]; no counts are kept beside those that the curator holds."""
        if self._sums is None:
            curator, missing = self._curator, self._curator._missing(self._pairs)
            held = set(self._pairs) - set(missing)
            sums = {pair: self._sum(pair, curator._exact(pair).reveal_inside_privacy()) for pair in held}
            for batch in batches(curator._counts.cells, missing):
                for pair, counts in zip(batch, curator._counts.counts(batch), strict=True):
                    sums[pair] = self._sum(pair, counts)
            self._sums = Sensitive(np.array([sums[p] for p in self._pairs], dtype=np.int64))
        return self._sums

    def _sum(self, pair: Clique, counts: NDArray[np.int64]) -> int:
        first, second = pair
        return int(self._steps[first] @ counts @ self._steps[second])

    def __repr__(self) -> str:
        return f"TrendCurator({len(self._pairs)} pairs)"


def with_thresholds(curator: Curator, thresholds: Mapping[str, LinearThreshold]) -> Curator:
    """Return a curator of the same table with a column for each threshold, on the same ledger.

    A threshold maps each record independently, so neighbours stay neighbours, and a marginal of such columns has the
    same sensitivity as any other; the thresholds themselves, by the name of their column, must come from public facts.
    Raises as `ThresholdCurator` does.
    """
    if set(thresholds) & set(curator.domain.columns):
        raise ArgumentError("a threshold has the name of a column; rename the column")
    recoding, domain = curator._recoding, with_threshold_columns(curator.domain, thresholds)

    def wider(table: EncodedTable) -> EncodedTable:
        coded = table if recoding is None else recoding.encode(table)
        further = tuple(threshold.codes(coded) for threshold in thresholds.values())
        return EncodedTable(domain, (*coded.codes, *further))

    return Curator(curator._engine.mapped(domain, wider), curator._ledger, curator._source, curator._units)
