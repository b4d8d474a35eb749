"""Votes for the nearest row: one record moves one number by one, and each planted bug is found."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from paid_doors import SOME, PaidDoor, at, neighbours

from syntabula.errors import ArgumentError, BudgetExceededError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.nearness import Nearness
from syntabula.marginals.recoding import Recoding
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors import Doors
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.journal import MemoryJournal
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource, SeededNoise
from syntabula.privacy.pricing import NoisyVector, counting_event
from syntabula.privacy.training import counts
from syntabula.privacy.training.counts import NearestCurator
from syntabula.privacy.units import Unit, Units

DOMAIN = Domain(("a", "b"), (6, 3))
NEARNESS = Nearness([np.linspace(0, 1, 6)[:, None], np.eye(3) / 3])


def rows(n: int, seed: int) -> EncodedTable:
    rng = np.random.default_rng(seed)
    return EncodedTable(DOMAIN, tuple(rng.integers(0, s, n).astype(np.uint8) for s in DOMAIN.sizes))


def door(
    table: EncodedTable,
    budget: Budget = NO_PRIVACY,
    noise: NoiseSource | None = None,
    journal: MemoryJournal | None = None,
) -> NearestCurator:
    return Doors(Curator(MemoryEngine(table), Ledger(budget, journal), noise or SeededNoise(0))).nearest


def exact_votes(table: EncodedTable) -> np.ndarray:
    return door(table).vote(NEARNESS, rows(9, 1), share=SOME, step="vote").values


def most_moved() -> float:
    """Return by how much one record moves all votes together at most, over some tables and all their records."""
    moved = [0.0]
    for seed in range(4):
        table = rows(25, seed=10 + seed)
        whole = exact_votes(table)
        moved += [np.abs(exact_votes(fewer) - whole).sum() for fewer in neighbours(table)]
    return max(moved)


class TestVotes(PaidDoor):
    module = counts
    rows = staticmethod(rows)

    def opened(self, curator: Curator) -> NearestCurator:
        return Doors(curator).nearest

    def ask(self, door: NearestCurator, share: Fraction | int = SOME) -> NoisyVector:
        return door.vote(NEARNESS, rows(9, 1), share=share, step="vote")

    def sigma(self, door: NearestCurator) -> float:
        # Whatever the number of rows.
        assert door.sigma(9, SOME) == door.sigma(1000, SOME)
        return door.sigma(9, SOME)

    def test_one_record_moves_one_number_by_one(self) -> None:
        assert most_moved() == 1

    def test_each_record_votes_once_for_the_nearest(self) -> None:
        asked = EncodedTable(DOMAIN, (np.array([0, 5, 0], np.uint8), np.array([0, 0, 1], np.uint8)))
        table = EncodedTable(DOMAIN, (np.array([1, 4, 5, 0], np.uint8), np.array([0, 0, 2, 1], np.uint8)))

        votes = door(table).vote(NEARNESS, asked, share=SOME, step="vote").values

        assert votes.tolist() == [1, 2, 1]

    def test_no_record_has_no_vote(self) -> None:
        assert exact_votes(rows(0, 1)).tolist() == [0] * 9

    def test_records_of_a_table_with_merged_codes_vote_by_these(self) -> None:
        table = rows(50, 2)
        recoding = Recoding(DOMAIN, {"a": np.array([0, 0, 1, 1, 2, 2], np.intp)}, {"a": np.full(6, 1 / 6)})
        doors = Doors(Curator(MemoryEngine(table), Ledger(NO_PRIVACY), SeededNoise(0))).recoded(recoding)
        asked = EncodedTable(doors.domain, (np.arange(3, dtype=np.uint8), np.zeros(3, np.uint8)))
        near = Nearness([np.linspace(0, 1, 3)[:, None], np.zeros((3, 0))])

        votes = doors.nearest.vote(near, asked, share=SOME, step="vote").values

        assert votes.tolist() == np.bincount(table.column("a") // 2, minlength=3).tolist()

    def test_what_it_shows_holds_no_size(self) -> None:
        assert repr(door(rows(50, 7))) == "NearestCurator()"

    def test_rows_of_another_table_and_no_rows_are_refused(self) -> None:
        other = EncodedTable(Domain(("a",), (2,)), (np.zeros(3, np.uint8),))
        asked = door(rows(50, 7))

        with pytest.raises(ArgumentError, match="columns and codes of the table"):
            asked.vote(NEARNESS, other, share=SOME, step="vote")
        with pytest.raises(ArgumentError, match="at least one row"):
            asked.vote(NEARNESS, rows(0, 1), share=SOME, step="vote")
        with pytest.raises(ArgumentError, match="each code of each column"):
            asked.vote(Nearness([np.eye(2)]), rows(9, 1), share=SOME, step="vote")

    def test_the_rows_of_a_unit_have_a_vote_each_and_pay_for_all(self) -> None:
        table = rows(60, 1)
        units = Units.of(np.arange(60) // 5, [f"person {i}" for i in range(12)], bytes(32))
        asked = NearestCurator(
            Curator(
                MemoryEngine(table), Ledger(Budget(1.0, 1e-5), unit=Unit("person", 5)), SeededNoise(0), units
            )
        )
        whole = exact_votes(table)

        moved = [
            np.abs(whole - exact_votes(at(table, np.flatnonzero(units.numbers != person)))).sum()
            for person in range(12)
        ]
        asked.vote(NEARNESS, rows(9, 1), share=SOME, step="vote")

        assert max(moved) == 5
        assert asked._curator.ledger.entries[0].event.l2_sensitivity_squared == 25


class TestPlantedBugs:
    def test_a_record_that_votes_twice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = NearestCurator._votes

        def twice(self, near, asked, piece):
            return right(self, near, asked, piece) + right(self, near, at(asked, np.arange(9)[::-1]), piece)

        monkeypatch.setattr(NearestCurator, "_votes", twice)

        assert most_moved() > 1

    def test_records_that_follow_the_crowd(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = NearestCurator._votes

        def followed(self, near, asked, piece):
            votes = right(self, near, asked, piece)
            if votes.sum() % 2:
                votes[[0, -1]] = votes[[-1, 0]]
            return votes

        monkeypatch.setattr(NearestCurator, "_votes", followed)

        assert most_moved() > 1

    def test_votes_that_are_shares_of_the_records(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = NearestCurator._votes

        def shared(self, near, asked, piece):
            votes = right(self, near, asked, piece)
            return (votes * 1000 // max(votes.sum(), 1)).astype(np.int64)

        monkeypatch.setattr(NearestCurator, "_votes", shared)

        assert most_moved() > 1

    def test_noise_that_shrinks_with_the_number_of_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def for_one(ledger, share, *, sensitivity, cells):
            event = counting_event(ledger, share, sensitivity=sensitivity, cells=cells)
            return replace(event, sigma=event.sigma / cells)

        monkeypatch.setattr(counts, "counting_event", for_one)

        with pytest.raises(BudgetExceededError):
            door(rows(50, 7), Budget(1.0, 1e-5)).vote(NEARNESS, rows(9, 1), share=SOME, step="vote")
