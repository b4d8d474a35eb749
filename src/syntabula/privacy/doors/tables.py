"""Private queries to a whole table: noisy marginals and dependences, and choices among them, all paid for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.marginals.counting import CountingEngine
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.marginals.recoding import MergedCounts, Recoding
from syntabula.privacy.doors.scores import (
    SENSITIVITY_STEPS,
    STEPS_PER_RECORD,
    Weighing,
    batches,
    dependence_steps,
    distances,
    first_batch,
)
from syntabula.privacy.events import Event, ExponentialEvent
from syntabula.privacy.ledger import Ledger, Token
from syntabula.privacy.mechanisms import Sensitive, choose, noisy_counts
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.pricing import bought, counting_event, standard_deviation
from syntabula.privacy.resume import answer, fingerprint
from syntabula.privacy.units import RecordUnits

if TYPE_CHECKING:
    from syntabula.privacy.journal import NoisyArray

CACHED_CELLS = 50_000_000
"""Exact counts are kept up to this many cells (8 bytes each), so that a selector may ask repeatedly."""


class Curator:
    """Holds a sensitive table and a ledger; measures marginals and selects cliques under privacy.

    One record changes one cell of a marginal by one, so k marginals that are measured together have L1 sensitivity k and
    squared L2 sensitivity k, and the L1 distance between a marginal and a fixed table has sensitivity 1. These
    sensitivities, to one record, are computed here, from the query; no caller passes one in. Where neighbours differ by
    all rows of a unit, `privacy.rules` turns them into those for its rows.

    Each query takes the `step` that the ledger names its spend by, and its cost as a `share` of the ledger's allowance, a
    Fraction or float in (0, 1]; the allowance is the whole budget unless an earlier run has spent part of it. It raises
    ResourceError if counting could take more memory than the engine allows, before anything is spent, and
    BudgetExceededError if the ledger cannot pay, before anything is drawn.

    Args:
        engine: Counts the encoded table exactly.
        ledger: Pays for every answer, before the noise is drawn.
        noise: Draws the noise.
        units: Whom the engine's records are about; None where each is about somebody else.
    """

    def __init__(
        self, engine: CountingEngine, ledger: Ledger, noise: NoiseSource, units: RecordUnits | None = None
    ) -> None:
        self._engine = engine
        self._ledger = ledger
        self._source = noise
        self._units = units
        self._recoding: Recoding | None = None
        self._cache: dict[Clique, Sensitive[NDArray[np.int64]]] = {}
        self._cached_cells = 0
        self._dependences: dict[Clique, Sensitive[int]] = {}

    @property
    def domain(self) -> Domain:
        """Columns and sizes of the table in its present coding."""
        return self._recoding.target if self._recoding else self._engine.domain

    @cached_property
    def _counts(self) -> MergedCounts:
        return MergedCounts(self._engine, self._recoding)

    @property
    def ledger(self) -> Ledger:
        """The ledger that pays."""
        return self._ledger

    @property
    def is_private(self) -> bool:
        """Whether noise is drawn at all; False if privacy is switched off."""
        return self._ledger.budget.currency != "none"

    def recoded(self, recoding: Recoding) -> Curator:
        """Return a curator of the same table with codes merged, by public facts or released values, on the same ledger.

        Merging codes maps each record independently, so neighbours stay neighbours.
        """
        if recoding.domain != self.domain:
            raise ArgumentError("the recoding's domain differs from the curator's")
        other = Curator(self._engine, self._ledger, self._source, self._units)
        other._recoding = self._recoding.then(recoding) if self._recoding else recoding
        return other

    def measure(
        self, cliques: Sequence[Clique], *, share: Fraction | float, step: str, ahead: Sequence[Clique] = ()
    ) -> list[Measurement]:
        """Release noisy counts of some marginals, all with the same noise: one measurement per clique, of its shape.

        Args:
            cliques: At least one clique; a clique named twice is measured (and paid for) twice.
            ahead: Those that will be measured next, which are counted in the same pass as far as there is memory.
        """
        if not cliques:
            raise ArgumentError("measure needs at least one clique")
        self._check_memory(cliques)
        event, sigma = self._noise(len(cliques), sum(self.domain.cells(c) for c in cliques), share)
        noisy = self._answer(
            event, step, cliques, lambda t: noisy_counts(t, self._source, self._joined(cliques, ahead))
        )
        ends = np.cumsum([self.domain.cells(c) for c in cliques])[:-1]
        return [
            Measurement(tuple(c), part.reshape(self.domain.shape(c)).astype(np.float64), sigma)
            for c, part in zip(cliques, np.split(noisy, ends), strict=True)
        ]

    def noise_sigma(self, n_cliques: int, share: Fraction | float) -> float:
        """Return the standard deviation that `measure` would use for this many cliques and this share. Free."""
        return self._noise(n_cliques, n_cliques, share)[1]

    def choose(
        self,
        candidates: Sequence[Clique],
        estimates: Sequence[FloatArray],
        *,
        share: Fraction | float,
        step: str,
        weights: Sequence[float] | None = None,
        penalties: Sequence[float] | None = None,
    ) -> int:
        """Return the position of a single choice; `Candidates` takes the same arguments and allows several."""
        asked = Candidates(self, candidates, estimates, weights=weights, penalties=penalties)
        return asked.choose(share=share, step=step)

    def measure_distance(
        self,
        cliques: Sequence[Clique],
        estimates: Sequence[FloatArray],
        *,
        share: Fraction | float,
        step: str,
    ) -> float:
        """Release how far some marginals are from estimates of them: the sum of their L1 distances, in records.

        One record changes each distance by at most one, exactly (`doors.scores.distances`), and all of k cliques by at
        most k: the sensitivity of the sum. Noise may make it negative.

        Args:
            cliques: At least one clique.
            estimates: Expected counts of each, of the clique's shape, from public facts and released values.
        """
        self._check_estimates(cliques, estimates)
        self._check_memory(cliques)
        steps = len(cliques) * STEPS_PER_RECORD
        event = counting_event(self._ledger, share, sensitivity=steps, cells=1, what="distance of marginals")

        def draw(token: Token) -> NoisyArray:
            self._fill_cache(cliques)
            exact = [self._exact(c).reveal_inside_privacy() for c in cliques]
            # Distances lie on the grid of steps, so that the product is exact.
            summed = np.rint(distances(exact, estimates) * STEPS_PER_RECORD).astype(np.int64).sum()
            return noisy_counts(token, self._source, Sensitive(np.array([summed], dtype=np.int64)))

        query = [list(cliques), *(np.asarray(e, dtype=np.float64) for e in estimates)]
        return float(self._answer(event, step, query, draw)[0]) / STEPS_PER_RECORD

    def measure_dependence(
        self, families: Sequence[Clique], *, share: Fraction | float, step: str
    ) -> FloatArray:
        """Release how far the last column of each family is from independence of the others, in records.

        The dependence of a family is || M - a b' / n ||_1, where M holds its joint counts of n records, and a and b the
        counts of the other columns and of the last one: between 0 and 2 n, with sensitivity 4 (`doors.scores`).

        Args:
            families: At least one clique, each of two columns or more.

        Returns:
            One dependence per family, which noise may make negative.
        """
        self._check_families(families)
        n, what = len(families), "dependences"
        event = counting_event(
            self._ledger, share, sensitivity=SENSITIVITY_STEPS, at_once=n, cells=n, what=what
        )

        def draw(token: Token) -> NoisyArray:
            exact = Sensitive(np.array(self._exact_dependences(families), dtype=np.int64))
            return noisy_counts(token, self._source, exact)

        released: FloatArray = self._answer(event, step, families, draw) / STEPS_PER_RECORD
        return released

    def choose_dependent(self, families: Sequence[Clique], *, share: Fraction | float, step: str) -> int:
        """Return the position of the family whose last column depends most on the others, by the exponential mechanism.

        The score of a family is its dependence in records, with sensitivity 4 (see `measure_dependence`); that of a
        single column is 0.
        """
        self._check_families(families)

        def draw(token: Token) -> NoisyArray:
            steps = np.array(self._exact_dependences(families), dtype=np.float64)
            sensitivity = SENSITIVITY_STEPS / STEPS_PER_RECORD
            return np.asarray([choose(token, self._source, Sensitive(steps / STEPS_PER_RECORD), sensitivity)])

        return int(self._answer(self._choice(len(families), share), step, families, draw)[0])

    def _check_estimates(self, cliques: Sequence[Clique], estimates: Sequence[FloatArray]) -> None:
        if not cliques or len(cliques) != len(estimates):
            raise ArgumentError("give one estimate for each clique, and at least one clique")
        # A wider array would count each record several times.
        if any(np.shape(e) != self.domain.shape(c) for c, e in zip(cliques, estimates, strict=True)):
            raise ArgumentError("each estimate must have the shape of its clique")

    def _check_families(self, families: Sequence[Clique]) -> None:
        if not families or not all(families):
            raise ArgumentError("families must hold at least one family, each with at least one column")
        for batch in batches(self._counts.cells, families):
            self._counts.check_memory(batch)

    def _records(self) -> EncodedTable:
        """Return all records, for `RecordCurator`, which knows when that is allowed."""
        records = self._engine.records()
        return self._recoding.encode(records) if self._recoding else records

    def _answer(self, event: Event, step: str, query: Any, draw: Callable[[Token], NoisyArray]) -> NoisyArray:
        return answer(self._ledger, self._source, event, step=step, query=query, draw=draw)

    def _choice(self, candidates: int, share: Fraction | float) -> Event:
        """Return the event of one choice among this many candidates."""
        return bought(self._ledger, share, ExponentialEvent, what="choice", candidates=candidates)

    def _exact_dependences(self, families: Sequence[Clique]) -> list[int]:
        """Return the dependence of each family in steps; only these numbers are kept, not the counts."""
        missing = [f for f in dict.fromkeys(families) if f not in self._dependences]
        for batch in batches(self._counts.cells, missing):
            for family, counts in zip(batch, self._counts.counts(batch), strict=True):
                self._dependences[family] = Sensitive(dependence_steps(counts))
        return [self._dependences[f].reveal_inside_privacy() for f in families]

    def _noise(self, n_cliques: int, cells: int, share: Fraction | float) -> tuple[Event, float]:
        """Return the event and the standard deviation of the noise for cliques that are counted together."""
        # A record is in one cell of each.
        event = counting_event(self._ledger, share, sensitivity=1, at_once=n_cliques, cells=cells)
        return event, standard_deviation(event)

    def _exact(self, clique: Clique) -> Sensitive[NDArray[np.int64]]:
        if clique not in self._cache:
            self._fill_cache([clique])
        return self._cache[clique]

    def _joined(self, cliques: Sequence[Clique], ahead: Sequence[Clique]) -> Sensitive[NDArray[np.int64]]:
        self._fill_cache(cliques, ahead)
        exact = [self._exact(c) for c in cliques]
        return Sensitive(np.concatenate([e.reveal_inside_privacy().ravel() for e in exact]))

    def _missing(self, cliques: Sequence[Clique]) -> list[Clique]:
        return [c for c in dict.fromkeys(cliques) if c not in self._cache]

    def _fill_cache(self, cliques: Sequence[Clique], ahead: Sequence[Clique] = ()) -> None:
        if not (missing := self._missing(cliques)):
            return
        missing = first_batch(self._counts, missing, self._missing(ahead))
        new = sum(map(self.domain.cells, missing))
        if self._cached_cells + new > CACHED_CELLS:
            self._cache = {c: self._cache[c] for c in cliques if c in self._cache}
            self._cached_cells = sum(map(self.domain.cells, self._cache))
        self._cached_cells += new
        self._cache |= zip(missing, map(Sensitive, self._counts.counts(missing)), strict=True)

    def _check_memory(self, cliques: Sequence[Clique]) -> None:
        """Raise ResourceError if counting these could need more memory than allowed; reads no row."""
        self._counts.check_memory(self._missing(cliques))

    def __repr__(self) -> str:  # shows no count, not even that of the rows
        return f"Curator({len(self.domain)} columns)"


class Candidates:
    """Candidate marginals for one or more choices against the same estimates, on a curator's ledger.

    The score of a candidate is weight * (L1 distance of its exact counts to the estimate - penalty). Its sensitivity is
    the largest weight, plus some millionths for rounding (`doors.scores`, which also clips distances to 2^31 records).
    Distances are computed once, so a further choice takes a few numpy passes over the candidates.

    Args:
        curator: Holds the table.
        cliques: At least one.
        estimates: A model's expected counts of each, of the clique's shape.
        weights: One positive number per candidate; 1 by default.
        penalties: One number per candidate, independent of the data; 0 by default.

    Raises:
        ArgumentError: If one of them does not match the candidates in number or shape, or is outside its range.
    """

    def __init__(
        self,
        curator: Curator,
        cliques: Sequence[Clique],
        estimates: Sequence[FloatArray],
        *,
        weights: Sequence[float] | None = None,
        penalties: Sequence[float] | None = None,
    ) -> None:
        curator._check_estimates(cliques, estimates)
        self._weighing = Weighing.of(len(cliques), weights, penalties)
        self._curator = curator
        self._cliques = cliques
        self._estimates = estimates
        self._distances: Sensitive[FloatArray] | None = None

    def choose(self, *, share: Fraction | float, step: str, among: NDArray[np.bool_] | None = None) -> int:
        """Choose the candidate whose marginal differs most from its estimate, by the exponential mechanism.

        Args:
            among: Mask of the candidates of this choice [candidates], by released values alone; None for all.

        Returns:
            The position of the chosen candidate among all.

        Raises:
            ArgumentError: If no candidate is left.
        """
        every = among is None
        left = np.ones(len(self._cliques), dtype=np.bool_) if among is None else among
        positions = np.flatnonzero(left)
        if left.shape != (len(self._cliques),) or not positions.size:
            raise ArgumentError("among must be a mask of all candidates with at least one of them")
        curator = self._curator
        if self._distances is None:
            curator._check_memory(self._cliques)

        def draw(token: Token) -> NoisyArray:
            weighing = self._weighing.among(left)
            found = self._found_distances().reveal_inside_privacy()[left]
            scores = Sensitive(weighing.scores(found))
            return np.asarray([choose(token, curator._source, scores, weighing.sensitivity)])

        # The names of many candidates are long.
        query = self._cliques if every else [self._name, np.packbits(left)]
        event = curator._choice(positions.size, share)
        drawn = curator._answer(event, step, query, draw)
        return int(positions[drawn[0]])

    @cached_property
    def _name(self) -> str:
        return fingerprint(self._cliques)

    def _found_distances(self) -> Sensitive[FloatArray]:
        if self._distances is None:
            self._curator._fill_cache(self._cliques)
            exact = [self._curator._exact(c).reveal_inside_privacy() for c in self._cliques]
            self._distances = Sensitive(distances(exact, self._estimates))
        return self._distances

    def __repr__(self) -> str:
        return f"Candidates({len(self._cliques)} marginals)"
