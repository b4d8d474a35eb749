"""The doors where each record counts once: as a vote for the nearest of some rows, or in a leaf of a tree."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import EncodedTable
from syntabula.marginals.nearness import Nearness
from syntabula.marginals.splits import Splits
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.journal import NoisyArray
from syntabula.privacy.ledger import Token
from syntabula.privacy.mechanisms import Sensitive, noisy_counts
from syntabula.privacy.pricing import NoisyVector, counting_event, standard_deviation


class NearestCurator:
    """Lets records vote for the nearest of some rows.

    Args:
        curator: Holds the table, the ledger that pays, and the noise.
    """

    def __init__(self, curator: Curator) -> None:
        self._curator = curator

    def sigma(self, rows: int, share: Fraction | float) -> float:
        """Return the standard deviation of the noise on each number of votes, for so many rows. Free."""
        return standard_deviation(counting_event(self._curator.ledger, share, sensitivity=1, cells=rows))

    def vote(
        self, nearness: Nearness, rows: EncodedTable, *, share: Fraction | float, step: str
    ) -> NoisyVector:
        """Release for how many records each of some rows is the nearest one.

        Sensitivity. A record votes once, for the row that follows from its own codes, the rows and the nearness, in exact
        arithmetic (`marginals.nearness`): no other record, nor its place among them, changes its vote. The votes are the
        sum of one unit vector for each record. So one record more or less moves one number by 1, and their
        L1 and L2 sensitivity is 1, however many rows there are and whatever they follow from. This holds for each
        call alone, so that rows may depend on earlier answers. The rows of a unit have a vote each, and are priced as
        counts are.

        Args:
            nearness: How rows are compared; made of public facts and released values alone.
            rows: At least one, made of these too.
            share: Fraction of the whole budget for all votes of this call.
            step: Name of this spend in the ledger.

        Returns:
            Noisy numbers of records [rows], which noise may make negative.

        Raises:
            ArgumentError: If there is no row, or rows or nearness are over other codes than the table.
            BudgetExceededError: If the ledger cannot pay; nothing was drawn.
        """
        curator = self._curator
        if not rows.n_rows:
            raise ArgumentError("rows must hold at least one row")
        if rows.domain != curator.domain:
            raise ArgumentError("rows must have the columns and codes of the table")
        if [len(table) for table in nearness.tables] != list(curator.domain.sizes):
            raise ArgumentError("nearness must have numbers for each code of each column")
        event = counting_event(curator.ledger, share, sensitivity=1, cells=rows.n_rows)

        def draw(token: Token) -> NoisyArray:
            exact = curator._engine.summed(lambda piece: self._votes(nearness, rows, piece))
            return noisy_counts(token, curator._source, Sensitive(exact))

        noisy = curator._answer(event, step, [*nearness.tables, *rows.codes], draw)
        return NoisyVector(noisy.astype(np.float64), event)

    def _votes(self, nearness: Nearness, rows: EncodedTable, piece: EncodedTable) -> NDArray[np.int64]:
        recoding = self._curator._recoding
        records = recoding.encode(piece) if recoding else piece
        return np.bincount(nearness.nearest(records, rows), minlength=rows.n_rows).astype(np.int64)

    def __repr__(self) -> str:
        return "NearestCurator()"


class LeafCurator:
    """Answers how many records with a code lie in each leaf of a tree.

    Args:
        curator: Holds the table, the ledger that pays, and the noise.
    """

    def __init__(self, curator: Curator) -> None:
        self._curator = curator

    def sigma(self, share: Fraction | float) -> float:
        """Return the standard deviation of the noise on each count. Free."""
        return standard_deviation(counting_event(self._curator.ledger, share, sensitivity=1, cells=1))

    def counts(
        self, splits: Splits, column: str, groups: NDArray[np.intp], *, share: Fraction | float, step: str
    ) -> NoisyVector:
        """Release for how many records of each leaf a column has a code of each group.

        Sensitivity. A record lies in one leaf, and its code in one group; both follow from its own codes, the splits and
        the groups. So one record more or less moves one count by 1, and the L1 and L2 sensitivity of all counts of a
        call is 1, however many leaves there are and whatever they follow from: splits may depend on earlier answers.
        The rows of a unit are priced as counts are.

        Args:
            splits: The leaves; made of public facts and released values alone.
            column: Whose codes are counted.
            groups: Number of each code's group, from 0 on [codes]; made of these too.
            share: Fraction of the whole budget for all counts of this call.
            step: Name of this spend in the ledger.

        Returns:
            Noisy numbers of records [leaves * groups], leaf by leaf, which noise may make negative.

        Raises:
            ArgumentError: If splits or groups are over other codes than the table.
            BudgetExceededError: If the ledger cannot pay; nothing was drawn.
        """
        curator, domain = self._curator, self._curator.domain
        if any(
            c not in domain or domain.size(c) != n for c, n in zip(splits.columns, splits.sizes, strict=True)
        ):
            raise ArgumentError("splits must be over columns and codes of the table")
        if groups.shape != (domain.size(column),) or groups.min() < 0:
            raise ArgumentError("groups must hold a number of at least 0 for each code of the column")
        n_groups = int(groups.max()) + 1
        event = counting_event(curator.ledger, share, sensitivity=1, cells=splits.n_leaves * n_groups)

        def draw(token: Token) -> NoisyArray:
            own, of_codes = splits, groups
            if recoding := curator._recoding:
                # So that no record is coded anew.
                own, of_codes = splits.before(recoding), groups[recoding.maps.get(column, slice(None))]
            exact = curator._engine.summed(lambda piece: _exact(own, column, of_codes, n_groups, piece))
            return noisy_counts(token, curator._source, Sensitive(exact))

        query = [list(splits.columns), splits.nodes, splits.ranks, column, groups]
        noisy = curator._answer(event, step, query, draw)
        return NoisyVector(noisy.astype(np.float64), event)

    def __repr__(self) -> str:
        return "LeafCurator()"


def _exact(
    splits: Splits, column: str, groups: NDArray[np.intp], n_groups: int, records: EncodedTable
) -> NDArray[np.int64]:
    """Return how many records of each leaf have a code of each group [leaves * groups]."""
    cells = splits.leaves(records, n_groups)
    cells += groups.astype(cells.dtype).take(records.column(column))
    return np.bincount(cells, minlength=splits.n_leaves * n_groups).astype(np.int64)
