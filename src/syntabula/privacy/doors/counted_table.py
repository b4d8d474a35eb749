"""A sensitive table whose exact counts stay hidden, with the ledger and the noise source for answers about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.counting import CountingEngine
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.recoding import Recoding
from syntabula.privacy.doors.scores import batches, dependence_steps
from syntabula.privacy.events import Event, ExponentialEvent
from syntabula.privacy.ledger import Ledger, Token
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.pricing import bought, standard_deviation, vector_event
from syntabula.privacy.resume import answer
from syntabula.privacy.sensitive import Sensitive
from syntabula.privacy.spends import NoisyArray
from syntabula.privacy.units import Units

CACHED_CELLS = 50_000_000
"""Exact counts are kept up to this many cells (8 bytes each), so that a selector may ask repeatedly."""


class CountedTable:
    """Counts a sensitive table exactly, only for the doors of this folder, and pays for their answers.

    Args:
        engine: Counts the encoded table exactly.
        ledger: Pays for every answer, before the noise is drawn.
        noise: Draws the noise.
        units: Whom the engine's records are about; None where each is about somebody else.
    """

    def __init__(
        self, engine: CountingEngine, ledger: Ledger, noise: NoiseSource, units: Units | None = None
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

    @property
    def ledger(self) -> Ledger:
        """The ledger that pays."""
        return self._ledger

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
        domain = self.domain
        new = sum(domain.cells(c) for c in missing)
        if self._cached_cells + new > CACHED_CELLS:
            self._cache = {c: self._cache[c] for c in cliques if c in self._cache}
            self._cached_cells = sum(domain.cells(c) for c in self._cache)
        self._cached_cells += new
        for clique, counts in zip(missing, self._engine.counts(missing), strict=True):
            merged = self._recoding.merge_counts(clique, counts) if self._recoding else counts
            self._cache[clique] = Sensitive(merged)
