"""Queries of single cells: counting queries, selected and measured one by one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction

import numpy as np

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.privacy.doors.counted_table import CountedTable
from syntabula.privacy.doors.scores import differences
from syntabula.privacy.ledger import Token
from syntabula.privacy.mechanisms import choose, noisy_counts
from syntabula.privacy.sensitive import Sensitive
from syntabula.privacy.spends import NoisyArray

Cell = tuple[int, ...]
"""One code for each column of a clique."""

_UNKNOWN = 1e9
"""Standard deviation of an unmeasured cell, relative to that of a measured one: larger than any count."""


class CellCurator:
    """Answers queries of single cells of marginals, on a curator's ledger.

    One record changes a single cell of each marginal, by one. So the score of a cell (its distance to an estimate)
    has sensitivity 1, and so has each marginal whose cells are measured.

    Args:
        curator: Holds the table.
        cliques: The marginals whose cells may be queried.
    """

    def __init__(self, curator: CountedTable, cliques: Sequence[Clique]) -> None:
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
            share: Fraction of the whole budget for this choice.
            step: Name of this spend in the ledger.

        Raises:
            ResourceError: If counting could take more memory than the engine allows; nothing was spent.
            BudgetExceededError: If the ledger cannot pay; nothing was drawn.
        """
        left = np.ones(self._ends[-1], dtype=bool)
        left[[self._position(*cell) for cell in without]] = False
        candidates = np.flatnonzero(left)
        if len(estimates) != len(self._cliques) or not candidates.size:
            raise ArgumentError("choose needs an estimate for each clique, and at least one candidate")
        curator = self._curator
        if any(np.shape(e) != curator.domain.shape(c) for c, e in zip(self._cliques, estimates, strict=True)):
            raise ArgumentError("each estimate must have the shape of its clique")
        curator._engine.check_memory(curator._missing(self._cliques))

        def draw(token: Token) -> NoisyArray:
            believed = np.concatenate([np.ravel(e) for e in estimates])
            curator._fill_cache(self._cliques)
            exact = curator._joined(self._cliques).reveal_inside_privacy()
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
            share: Fraction of the whole budget for all of them together.
            step: Name of this spend in the ledger.

        Returns:
            One measurement per clique with a measured cell. All other cells in it are 0, with a standard deviation
            beyond any count, so they carry no information.

        Raises:
            ResourceError: If counting could take more memory than the engine allows; nothing was spent.
            BudgetExceededError: If the ledger cannot pay; nothing was drawn.
        """
        chosen: dict[Clique, list[Cell]] = {}
        for clique, cell in dict.fromkeys(cells):
            self._position(clique, cell)  # raises an error for an unknown cell
            chosen.setdefault(clique, []).append(cell)
        if not chosen:
            raise ArgumentError("measure needs at least one cell")
        curator = self._curator
        curator._engine.check_memory(curator._missing(list(chosen)))
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
