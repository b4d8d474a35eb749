"""Exact counts of merged codes, without the counts of the codes before merging where these would be too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.counting import CountingEngine
from syntabula.marginals.domain import Clique
from syntabula.marginals.recoding import Recoding

MANY_CELLS = 2**20
"""Marginals of more cells (8 MB) before their codes are merged are counted in merged codes."""


@dataclass(frozen=True, eq=False, repr=False)
class MergedCounts:
    """Counts the records of an engine in the present coding. Only the Curator calls it.

    Small marginals are counted in the engine's coding and merged afterwards, as it may hold these counts already. Three
    columns of a thousand categories each have a billion cells, however few of their codes are left: such marginals
    are counted from records in merged codes.

    Attributes:
        engine: Counts the encoded table exactly.
        recoding: How its codes are merged; None if they are not.
    """

    engine: CountingEngine
    recoding: Recoding | None = None

    def cells(self, clique: Clique) -> int:
        """Return how many cells are held while a clique is counted; depends only on the domains."""
        domain = self.recoding.target if self.recoding and self._is_wide(clique) else self.engine.domain
        return domain.cells(clique)

    def check_memory(self, cliques: Sequence[Clique]) -> None:
        """Raise ResourceError if counting these could need more memory than allowed; reads no row."""
        wide = [c for c in cliques if self._is_wide(c)]
        self.engine.check_memory([c for c in cliques if not self._is_wide(c)])
        if wide:
            self._merged.check_memory(wide)

    def counts(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Return the exact marginal of each clique in the present coding."""
        found: dict[int, NDArray[np.int64]] = {}
        small = [i for i, c in enumerate(cliques) if not self._is_wide(c)]
        if small:
            for i, counts in zip(small, self.engine.counts([cliques[i] for i in small]), strict=True):
                found[i] = self.recoding.merge_counts(cliques[i], counts) if self.recoding else counts
        wide = [i for i, c in enumerate(cliques) if self._is_wide(c)]
        if wide:
            found |= zip(wide, self._merged.counts([cliques[i] for i in wide]), strict=True)
        return [found[i] for i in range(len(cliques))]

    def _is_wide(self, clique: Clique) -> bool:
        if self.recoding is None:
            return False
        cells = self.engine.domain.cells(clique)
        return cells > MANY_CELLS and cells > self.recoding.target.cells(clique)

    @cached_property
    def _merged(self) -> CountingEngine:
        assert self.recoding is not None
        return self.engine.mapped(self.recoding.target, self.recoding.encode)
