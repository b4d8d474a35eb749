"""What counts sensitive tables: the seam behind which a table may be in memory, on disk or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.encoded import EncodedTable

CountArray = NDArray[np.int64]


class CountingEngine(Protocol):
    """Exact counts of an encoded table. Called by the Curator alone."""

    @property
    def domain(self) -> Domain:
        """Columns and sizes of the table that is counted."""
        ...

    def check_memory(self, cliques: Sequence[Clique]) -> None:
        """Raise ResourceError if `counts` of these could take more memory than allowed; reads no row."""
        ...

    @property
    def limit_mb(self) -> float:
        """Largest memory that one call may take, its results included."""
        ...

    def summed(self, counts: Callable[[EncodedTable], CountArray]) -> CountArray:
        """Return the sum of counts over pieces of the table that hold each record once; by cell of their array."""
        ...

    def mapped(self, domain: Domain, rows: Callable[[EncodedTable], EncodedTable]) -> CountingEngine:
        """Return an engine that counts the same records in another coding.

        Args:
            domain: Of the new coding.
            rows: Codes records anew, each on its own.
        """
        ...

    def counts(self, cliques: Sequence[Clique]) -> list[CountArray]:
        """Return the exact marginal of each clique: one axis per column, in the clique's order."""
        ...
