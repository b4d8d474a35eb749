"""Teachers that are taught by the records and never leave: they only vote, and the votes are noisy and paid for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import EncodedTable
from syntabula.marginals.nearness import Agreement, Vectors, squared_agreement
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.journal import NoisyArray
from syntabula.privacy.ledger import Token
from syntabula.privacy.mechanisms import Sensitive, noisy_counts
from syntabula.privacy.pricing import CountingEvent, NoisyVector, standard_deviation, vector_event
from syntabula.privacy.units import mixed

_ROWS_AT_ONCE = 4096


class TeacherCurator:
    """Divides the records among teachers.

    Args:
        curator: Holds the table, the ledger that pays, and the noise.
    """

    def __init__(self, curator: Curator) -> None:
        self._curator = curator

    def council(self, agreement: Agreement, teachers: int) -> Council:
        """Return teachers on disjoint parts of the records. Free: nothing is answered.

        Args:
            agreement: How teachers compare rows; made of public facts and released values.
            teachers: How many, at least 1, by public facts and released values.
        """
        return Council(self._curator, agreement, teachers)

    def __repr__(self) -> str:
        return "TeacherCurator()"


class Council:
    """Teachers on disjoint parts of the records, that vote on rows; made by `TeacherCurator.council`.

    A teacher calls a row real if it agrees with the records of its part more, on average, than with the generated rows:
    a classifier by the nearest mean, whose numbers are all products of two columns. A teacher without records
    calls nothing real.

    Guarantee. A record's teacher follows from its codes and from how many equal records came before it. Whoever adds or
    removes a record, wherever it stands, therefore changes the part of one teacher by this record, and no other part.
    Where the table says whom its rows are about, a row's teacher follows from the key of its unit alone, so that whoever
    adds or removes all rows of a unit changes the part of one teacher too: what follows holds for units as it stands. A
    teacher's votes are a function of its part, the rows and the generated rows, in exact arithmetic
    (`marginals.nearness`): neither the size of another part nor the place of a record changes them. So the number
    of teachers that call a row real changes by at most 1, and for B rows the L1 sensitivity is B and the squared L2
    sensitivity B. Each call of `vote` releases such a vector once, with the noise of a Gaussian (or, in pure privacy,
    Laplace) event of these sensitivities, paid before it is drawn.

    The sensitivity holds for each vector alone, whatever the rows, the generated rows and the parts are. So
    composition over calls is that of adaptive queries: rows may depend on earlier answers, and the parts might even be
    drawn anew for each call, which would let a record change two teachers, but each only in the votes that it
    had a part in. That is why a run that goes on from a journal, on this table or another, costs no more than one that
    never stopped. It does not hold of accounts that depend on how clear the votes were (Papernot et al. 2017; Jordon,
    Yoon, van der Schaar 2019): those look at the votes of a fixed council, and their epsilon is itself private.
    """

    def __init__(self, curator: Curator, agreement: Agreement, teachers: int) -> None:
        sizes = [len(table) for table in agreement.tables]
        if sizes != list(curator.domain.sizes):
            raise ArgumentError("agreement must have numbers for each code of each column")
        self._curator, self._agreement = curator, agreement
        self._teachers: int = count()("teachers", teachers)
        self._parts: tuple[EncodedTable, NDArray[np.intp]] | None = None

    @property
    def teachers(self) -> int:
        """How many there are."""
        return self._teachers

    def sigma(self, rows: int, share: Fraction | float) -> float:
        """Return the standard deviation of the noise on each number of votes, for so many rows. Free."""
        return standard_deviation(self._event(rows, share))

    def vote(
        self, rows: EncodedTable, generated: EncodedTable, *, share: Fraction | float, step: str
    ) -> NoisyVector:
        """Release how many teachers call each of some rows real.

        Args:
            rows: The rows to vote on, at least one.
            generated: Rows that a record is told from, at least one. Both are made of public facts and released values.
            share: Fraction of the whole budget for all votes of this call.
            step: Name of this spend in the ledger.

        Returns:
            Noisy numbers of teachers [rows]; noise may make them negative, or larger than the number of teachers.

        Raises:
            BudgetExceededError: If the ledger cannot pay; nothing was drawn.
        """
        if not rows.n_rows or not generated.n_rows:
            raise ArgumentError("rows and generated must each hold at least one row")
        if rows.domain != self._curator.domain or generated.domain != self._curator.domain:
            raise ArgumentError("rows and generated must have the columns and codes of the table")
        event = self._event(rows.n_rows, share)
        query = [self._teachers, self._agreement.tables, rows.codes, generated.codes]

        def draw(token: Token) -> NoisyArray:
            return noisy_counts(token, self._curator._source, self._votes(rows, generated))

        noisy = self._curator._answer(event, step, query, draw)
        return NoisyVector(noisy.astype(np.float64), event)

    def _event(self, rows: int, share: Fraction | float) -> CountingEvent:
        # Of each row, one record, or one unit, changes one teacher's vote.
        return vector_event(
            self._curator.ledger,
            share,
            l1_sensitivity=rows,
            l2_sensitivity_squared=rows,
            cells=rows,
            what="votes",
            of_units=self._curator._units is not None,
        )

    def _votes(self, rows: EncodedTable, generated: EncodedTable) -> Sensitive[NDArray[np.int64]]:
        asked = self._agreement.vectors(rows)
        usual = np.zeros(rows.n_rows)
        for part in _pieces(generated):
            usual += self._compared(asked, part).sum(1, dtype=np.float64) / generated.n_rows
        agreed = np.zeros((rows.n_rows, self._teachers), dtype=np.int64)
        records, teachers = self._divided()
        for start, part in zip(range(0, records.n_rows, _ROWS_AT_ONCE), _pieces(records), strict=True):
            here = teachers[start : start + _ROWS_AT_ONCE]
            firsts = np.flatnonzero(np.diff(here, prepend=-1))
            compared = self._compared(asked, part).astype(np.int64)
            agreed[:, here[firsts]] += np.add.reduceat(compared, firsts, axis=1)
        sizes = np.bincount(teachers, minlength=self._teachers)
        return Sensitive((agreed > usual[:, None] * sizes).sum(1, dtype=np.int64))

    def _compared(self, asked: Vectors, rows: EncodedTable) -> NDArray[np.float32]:
        return squared_agreement(asked, self._agreement.vectors(rows))

    def _divided(self) -> tuple[EncodedTable, NDArray[np.intp]]:
        """Return the records by teacher, and the teacher of each."""
        if self._parts is None:
            records = self._curator._records()
            units = self._curator._units
            of_units = None if units is None else (units.words % np.uint64(self._teachers)).astype(np.intp)
            teachers = teachers_of(records, self._teachers) if of_units is None else of_units
            order = np.argsort(teachers, kind="stable")
            sorted_records = EncodedTable(records.domain, tuple(codes[order] for codes in records.codes))
            self._parts = sorted_records, teachers[order]
        return self._parts

    def __repr__(self) -> str:  # shows no size of a part
        return f"Council({self._teachers} teachers)"


def teachers_of(records: EncodedTable, teachers: int) -> NDArray[np.intp]:
    """Return the teacher of each record [records]: a hash of its codes and of how many equal ones came before it."""
    n = records.n_rows
    order = np.lexsort(records.codes)
    repeated = np.ones(n, dtype=np.bool_)
    repeated[:1] = False
    for codes in records.codes:
        repeated[1:] &= codes[order[1:]] == codes[order[:-1]]
    places = np.arange(n)
    firsts = np.maximum.accumulate(np.where(repeated, 0, places)) if n else places
    hashed = mixed((places - firsts).astype(np.uint64))
    for codes in records.codes:
        hashed = mixed(hashed ^ codes[order].astype(np.uint64))
    found = np.empty(n, dtype=np.intp)
    found[order] = (hashed % np.uint64(teachers)).astype(np.intp)
    return found


def _pieces(rows: EncodedTable) -> list[EncodedTable]:
    starts = range(0, rows.n_rows, _ROWS_AT_ONCE)
    return [
        EncodedTable(rows.domain, tuple(codes[start : start + _ROWS_AT_ONCE] for codes in rows.codes))
        for start in starts
    ]
