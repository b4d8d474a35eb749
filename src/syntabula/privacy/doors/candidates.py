"""Marginals to choose among, by how far each is from what a model believes of it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray
from syntabula.privacy.ledger import Token
from syntabula.privacy.mechanisms import choose
from syntabula.privacy.records import NoisyArray
from syntabula.privacy.resume import answer, fingerprint
from syntabula.privacy.sensitive import Sensitive
from syntabula.privacy.statistics.scores import Weighing, distances

if TYPE_CHECKING:
    from syntabula.privacy.doors.tables import Curator


class Candidates:
    """Marginals that one or more choices are among, all against the same estimates, on a curator's ledger.

    The score of a candidate is weight * (L1 distance of its exact counts to the estimate - penalty); its
    sensitivity is the largest weight, and some millionths for rounding (`privacy.scores`, which also holds
    distances at 2^31 records). Distances are found once, so that a further choice takes a few passes of numpy
    over the candidates.

    Args:
        curator: Holds the table.
        cliques: At least one.
        estimates: What a model believes of each: expected counts, of the clique's shape.
        weights: One positive number per candidate; 1 by default.
        penalties: One number per candidate, free of the data; 0 by default.

    Raises:
        ArgumentError: If there are not as many estimates as candidates, of their shapes, or weights or
            penalties are off.
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
        if not cliques or len(cliques) != len(estimates):
            raise ArgumentError("choose needs as many estimates as candidates, and at least one")
        self._weighing = Weighing.of(len(cliques), weights, penalties)
        # A wider array would count each record several times.
        if any(np.shape(e) != curator.domain.shape(c) for c, e in zip(cliques, estimates, strict=True)):
            raise ArgumentError("each estimate must have the shape of its candidate")
        self._curator = curator
        self._cliques = cliques
        self._estimates = estimates
        self._distances: Sensitive[FloatArray] | None = None

    def choose(self, *, share: Fraction | float, step: str, among: NDArray[np.bool_] | None = None) -> int:
        """Choose the candidate whose marginal differs most from its estimate, by the exponential mechanism.

        Args:
            share: Part of the whole budget that this choice costs.
            step: What the ledger calls this spend.
            among: Which candidates this choice is among [candidates], by released values alone; None for all.

        Returns:
            The position of the chosen candidate among all.

        Raises:
            ArgumentError: If no candidate is left.
            ResourceError: If counting could take more memory than the engine allows; nothing was spent.
            BudgetExceededError: If the ledger cannot pay; nothing was drawn.
        """
        every = among is None
        left = np.ones(len(self._cliques), dtype=np.bool_) if among is None else among
        positions = np.flatnonzero(left)
        if left.shape != (len(self._cliques),) or not positions.size:
            raise ArgumentError("a choice is among at least one of the candidates, said by a mask of all")
        curator = self._curator
        if self._distances is None:
            curator._engine.check_memory(curator._missing(self._cliques))

        def draw(token: Token) -> NoisyArray:
            weighing = self._weighing.among(left)
            found = self._found_distances().reveal_inside_privacy()[left]
            scores = Sensitive(weighing.scores(found))
            return np.asarray([choose(token, curator._source, scores, weighing.sensitivity)])

        # The names are long where there are many.
        query = self._cliques if every else [self._name, np.packbits(left)]
        event = curator._choice(positions.size, share)
        drawn = answer(curator.ledger, curator._source, event, step=step, query=query, draw=draw)
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
