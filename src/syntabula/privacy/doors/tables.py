"""The only holder of exact counts: every answer it gives is noisy and paid for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.engines.base import CountingEngine
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.marginals.recoding import Recoding
from syntabula.marginals.threshold import LinearThreshold, with_threshold_columns
from syntabula.privacy.doors.candidates import Candidates
from syntabula.privacy.events import Event, ExponentialEvent
from syntabula.privacy.ledger import Ledger, Token
from syntabula.privacy.mechanisms import choose, noisy_counts
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.pricing import bought, standard_deviation, vector_event
from syntabula.privacy.records import NoisyArray
from syntabula.privacy.resume import answer
from syntabula.privacy.sensitive import Sensitive
from syntabula.privacy.statistics.dependence import (
    SENSITIVITY_STEPS,
    STEPS_PER_RECORD,
    batches,
    dependence_steps,
)

CACHED_CELLS = 50_000_000
"""Exact counts are kept up to this many cells (8 bytes each), so that a selector may ask repeatedly."""


class Curator:
    """Holds a sensitive table and a ledger; measures marginals and selects cliques under privacy.

    Neighbouring tables differ by adding or removing one record. One record changes one cell of a
    marginal by one, so k marginals that are measured together have L1 sensitivity k and squared L2
    sensitivity k, and the L1 distance between a marginal and a fixed table has sensitivity 1. These
    sensitivities are computed here, from the query; no caller passes one in.

    A cost is said as a share of the ledger's allowance, which is the whole budget unless an earlier run has
    spent part of it: a Fraction or float in (0, 1].

    Args:
        engine: Counts the encoded table exactly.
        ledger: Pays for every answer, before the noise is drawn.
        noise: Draws the noise.
    """

    def __init__(self, engine: CountingEngine, ledger: Ledger, noise: NoiseSource) -> None:
        self._engine = engine
        self._ledger = ledger
        self._source = noise
        self._recoding: Recoding | None = None
        self._cache: dict[Clique, Sensitive[NDArray[np.int64]]] = {}
        self._dependences: dict[Clique, Sensitive[int]] = {}

    @property
    def domain(self) -> Domain:
        """Columns and sizes of the table as it is asked for."""
        return self._recoding.target if self._recoding else self._engine.domain

    @property
    def ledger(self) -> Ledger:
        """The ledger that pays."""
        return self._ledger

    def recoded(self, recoding: Recoding) -> Curator:
        """Return a curator of the same table with codes merged, on the same ledger.

        Merging codes maps each record on its own, so neighbours stay neighbours; the recoding itself
        must come from public facts or released values.
        """
        if recoding.domain != self.domain:
            raise ArgumentError("the recoding is for another domain than the curator's")
        other = Curator(self._engine, self._ledger, self._source)
        other._recoding = self._recoding.then(recoding) if self._recoding else recoding
        return other

    def with_thresholds(self, thresholds: Mapping[str, LinearThreshold]) -> Curator:
        """Return a curator of the same table with a column for each threshold, on the same ledger.

        A threshold maps each record on its own, so neighbours stay neighbours and a marginal of such columns has
        the sensitivity of any other; the thresholds themselves must come from public facts.

        Args:
            thresholds: By the name of their column, over columns of the domain.

        Raises:
            ArgumentError: If a name is taken.
            SchemaError: If a threshold is over an unknown column.
        """
        if set(thresholds) & set(self.domain.columns):
            raise ArgumentError("a threshold has the name of a column; rename the column")
        recoding, domain = self._recoding, with_threshold_columns(self.domain, thresholds)

        def wider(table: EncodedTable) -> EncodedTable:
            coded = table if recoding is None else recoding.encode(table)
            further = tuple(threshold.codes(coded) for threshold in thresholds.values())
            return EncodedTable(domain, (*coded.codes, *further))

        return Curator(self._engine.mapped(domain, wider), self._ledger, self._source)

    def measure(self, cliques: Sequence[Clique], *, share: Fraction | float, step: str) -> list[Measurement]:
        """Release noisy counts of some marginals, all with the same noise.

        Args:
            cliques: At least one clique; one that is named twice is measured (and paid for) twice.
            share: Part of the whole budget that all of them together may cost.
            step: What the ledger calls this spend.

        Returns:
            One measurement per clique, its values of the clique's shape.

        Raises:
            ResourceError: If counting could take more memory than the engine allows; nothing was spent.
            BudgetExceededError: If the ledger cannot pay; nothing was drawn.
        """
        if not cliques:
            raise ArgumentError("measure needs at least one clique")
        self._engine.check_memory(self._missing(cliques))
        event, sigma = self._noise(len(cliques), sum(self.domain.cells(c) for c in cliques), share)
        noisy = self._answer(
            event, step, cliques, lambda token: noisy_counts(token, self._source, self._joined(cliques))
        )
        ends = np.cumsum([self.domain.cells(c) for c in cliques])[:-1]
        return [
            Measurement(tuple(c), part.reshape(self.domain.shape(c)).astype(np.float64), sigma)
            for c, part in zip(cliques, np.split(noisy, ends), strict=True)
        ]

    def noise_sigma(self, n_cliques: int, share: Fraction | float) -> float:
        """Return the standard deviation that `measure` would use for so many cliques and this share. Free."""
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
        """Choose the candidate whose marginal differs most from its estimate, by the exponential mechanism.

        See `Candidates`, which several choices among the same ones go through.

        Args:
            candidates: At least one clique.
            estimates: What a model believes of each: expected counts, of the clique's shape.
            share: Part of the whole budget that this choice costs.
            step: What the ledger calls this spend.
            weights: One positive number per candidate; 1 by default.
            penalties: One number per candidate, free of the data; 0 by default.

        Returns:
            The position of the chosen candidate.

        Raises:
            ResourceError: If counting could take more memory than the engine allows; nothing was spent.
            BudgetExceededError: If the ledger cannot pay; nothing was drawn.
        """
        asked = Candidates(self, candidates, estimates, weights=weights, penalties=penalties)
        return asked.choose(share=share, step=step)

    def measure_dependence(
        self, families: Sequence[Clique], *, share: Fraction | float, step: str
    ) -> FloatArray:
        """Release how far the last column of each family is from independence of its others, in records.

        The dependence of a family is || M - a b' / n ||_1 with M its joint counts of n records and a, b those
        of its others and of its last column: between 0 and 2 n, with sensitivity 4 (`privacy.dependence`).

        Args:
            families: At least one clique, each of two columns or more.
            share: Part of the whole budget that all of them together may cost.
            step: What the ledger calls this spend.

        Returns:
            One noisy dependence per family; noise may take it below 0.

        Raises:
            ResourceError: If counting could take more memory than the engine allows; nothing was spent.
            BudgetExceededError: If the ledger cannot pay; nothing was drawn.
        """
        self._check_families(families)

        def draw(token: Token) -> NoisyArray:
            exact = Sensitive(np.array(self._exact_dependences(families), dtype=np.int64))
            return noisy_counts(token, self._source, exact)

        noisy = self._answer(self._dependence_noise(len(families), share), step, families, draw)
        released: FloatArray = noisy / STEPS_PER_RECORD
        return released

    def choose_dependent(self, families: Sequence[Clique], *, share: Fraction | float, step: str) -> int:
        """Choose the family whose last column depends most on its others, by the exponential mechanism.

        The score of a family is its dependence in records, with sensitivity 4 (see `measure_dependence`).

        Args:
            families: At least one clique; one of a single column scores 0.
            share: Part of the whole budget that this choice costs.
            step: What the ledger calls this spend.

        Returns:
            The position of the chosen family.

        Raises:
            ResourceError: If counting could take more memory than the engine allows; nothing was spent.
            BudgetExceededError: If the ledger cannot pay; nothing was drawn.
        """
        self._check_families(families)

        def draw(token: Token) -> NoisyArray:
            steps = np.array(self._exact_dependences(families), dtype=np.float64)
            sensitivity = SENSITIVITY_STEPS / STEPS_PER_RECORD
            return np.asarray([choose(token, self._source, Sensitive(steps / STEPS_PER_RECORD), sensitivity)])

        return int(self._answer(self._choice(len(families), share), step, families, draw)[0])

    def _answer(
        self, event: Event, step: str, query: Sequence[Clique], draw: Callable[[Token], NoisyArray]
    ) -> NoisyArray:
        return answer(self._ledger, self._source, event, step=step, query=query, draw=draw)

    def _choice(self, candidates: int, share: Fraction | float) -> Event:
        """Return the event of one choice among so many candidates."""
        return bought(self._ledger, share, ExponentialEvent, what="choice", candidates=candidates)

    def _check_families(self, families: Sequence[Clique]) -> None:
        if not families or not all(families):
            raise ArgumentError("a dependence needs at least one family, and a column in each")
        for batch in batches(self._engine.domain, families):
            self._engine.check_memory(batch)

    def _dependence_noise(self, n_families: int, share: Fraction | float) -> Event:
        return vector_event(
            self._ledger,
            share,
            l1_sensitivity=n_families * SENSITIVITY_STEPS,
            l2_sensitivity_squared=n_families * SENSITIVITY_STEPS**2,
            cells=n_families,
            what="dependences",
        )

    def _exact_dependences(self, families: Sequence[Clique]) -> list[int]:
        """Return the dependence of each family in steps; a number each is kept, not the counts."""
        missing = [f for f in dict.fromkeys(families) if f not in self._dependences]
        for batch in batches(self._engine.domain, missing):
            for family, counts in zip(batch, self._engine.counts(batch), strict=True):
                merged = self._recoding.merge_counts(family, counts) if self._recoding else counts
                self._dependences[family] = Sensitive(dependence_steps(merged))
        return [self._dependences[f].reveal_inside_privacy() for f in families]

    def _noise(self, n_cliques: int, cells: int, share: Fraction | float) -> tuple[Event, float]:
        """Return the event and the standard deviation of the noise for cliques that are counted together."""
        # A record is in one cell of each.
        event = vector_event(
            self._ledger, share, l1_sensitivity=n_cliques, l2_sensitivity_squared=n_cliques, cells=cells
        )
        return event, standard_deviation(event)

    def _exact(self, clique: Clique) -> Sensitive[NDArray[np.int64]]:
        if clique not in self._cache:
            self._fill_cache([clique])
        return self._cache[clique]

    def _joined(self, cliques: Sequence[Clique]) -> Sensitive[NDArray[np.int64]]:
        self._fill_cache(cliques)
        exact = [self._exact(c) for c in cliques]
        return Sensitive(np.concatenate([e.reveal_inside_privacy().ravel() for e in exact]))

    def _missing(self, cliques: Sequence[Clique]) -> list[Clique]:
        return [c for c in dict.fromkeys(cliques) if c not in self._cache]

    def _fill_cache(self, cliques: Sequence[Clique]) -> None:
        missing = self._missing(cliques)
        if not missing:
            return
        kept = sum(self.domain.cells(c) for c in self._cache)
        if kept + sum(self.domain.cells(c) for c in missing) > CACHED_CELLS:
            self._cache = {c: self._cache[c] for c in cliques if c in self._cache}
        for clique, counts in zip(missing, self._engine.counts(missing), strict=True):
            merged = self._recoding.merge_counts(clique, counts) if self._recoding else counts
            self._cache[clique] = Sensitive(merged)

    def __repr__(self) -> str:  # shows no count, not even that of the rows
        return f"Curator({len(self.domain)} columns)"
