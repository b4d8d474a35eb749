"""Teachers: one record changes one of them by one vote on each row, and each planted bug is found."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from paid_doors import SOME, PaidDoor, at, neighbours

from syntabula.errors import ArgumentError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.nearness import Agreement
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors import Doors
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.journal import MemoryJournal
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource, SeededNoise
from syntabula.privacy.pricing import NoisyVector, vector_event
from syntabula.privacy.training import teachers
from syntabula.privacy.training.teachers import Council, teachers_of
from syntabula.privacy.units import Unit, Units

DOMAIN = Domain(("a", "b", "c"), (4, 2, 3))
AGREEMENT = Agreement([np.eye(size) - 1 / size for size in DOMAIN.sizes])


def rows(n: int, seed: int) -> EncodedTable:
    """Draw rows whose columns follow each other in half of the rows; some are equal."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, n)
    follows = rng.random(n) < 0.5
    b = np.where(follows, a // 2, rng.integers(0, 2, n))
    c = np.where(follows, a % 3, rng.integers(0, 3, n))
    return EncodedTable(DOMAIN, tuple(x.astype(np.uint8) for x in (a, b, c)))


def council(
    table: EncodedTable,
    number: int,
    budget: Budget = NO_PRIVACY,
    noise: NoiseSource | None = None,
    journal: MemoryJournal | None = None,
) -> Council:
    curator = Curator(MemoryEngine(table), Ledger(budget, journal), noise or SeededNoise(0))
    return Doors(curator).teachers.council(AGREEMENT, number)


def exact_votes(table: EncodedTable, number: int) -> np.ndarray:
    return council(table, number).vote(rows(30, 1), rows(40, 2), share=SOME, step="vote").values


class TestParts:
    def test_a_record_more_or_less_changes_one_part_by_it_alone_wherever_it_stands(self) -> None:
        table = rows(60, seed=3)
        whole = teachers_of(table, 7)

        for gone, fewer in enumerate(neighbours(table)):
            left = teachers_of(fewer, 7)
            parts = [held(table, whole, t) for t in range(7)]
            others = [held(fewer, left, t) for t in range(7)]
            changed = [t for t in range(7) if parts[t] != others[t]]
            assert len(changed) == 1
            lost = list(parts[changed[0]])
            lost.remove(tuple(int(codes[gone]) for codes in table.codes))
            assert lost == others[changed[0]]

    def test_equal_records_are_spread_over_all_teachers(self) -> None:
        equal = EncodedTable(DOMAIN, tuple(np.full(7000, 1, np.uint8) for _ in range(3)))

        sizes = np.bincount(teachers_of(equal, 7), minlength=7)

        # 1,000 are expected, with standard deviation 29.
        assert sizes.min() > 840
        assert sizes.max() < 1160

    def test_order_changes_no_part(self) -> None:
        table = rows(80, seed=4)
        turned = at(table, np.random.default_rng(0).permutation(80))

        assert [held(table, teachers_of(table, 5), t) for t in range(5)] == [
            held(turned, teachers_of(turned, 5), t) for t in range(5)
        ]

    def test_no_record_has_no_teacher(self) -> None:
        assert teachers_of(rows(0, 0), 3).size == 0


def held(table: EncodedTable, who: np.ndarray, teacher: int) -> list[tuple[int, ...]]:
    """Return the records of a teacher, sorted."""
    return sorted(tuple(int(codes[i]) for codes in table.codes) for i in np.flatnonzero(who == teacher))


def most_moved(number: int = 4, n: int = 25) -> float:
    """Return by how much one record moves the votes on a row at most, over some tables and all their records."""
    moved = [0.0]
    for seed in range(4):
        table = rows(n, seed=10 + seed)
        whole = exact_votes(table, number)
        moved += [np.abs(exact_votes(fewer, number) - whole).max() for fewer in neighbours(table)]
    return max(moved)


class TestVotes(PaidDoor):
    module = teachers
    rows = staticmethod(rows)

    def opened(self, curator: Curator) -> Council:
        return Doors(curator).teachers.council(AGREEMENT, 4)

    def ask(self, door: Council, share: Fraction | int = SOME) -> NoisyVector:
        return door.vote(rows(30, 1), rows(40, 2), share=share, step="vote")

    def sigma(self, door: Council) -> float:
        # Each row is charged.
        assert door.sigma(30, SOME) > door.sigma(10, SOME) or door._curator.ledger.budget.total is None
        return door.sigma(30, SOME)

    def test_one_record_moves_the_votes_on_a_row_by_one_at_most(self) -> None:
        assert most_moved() == 1

    def test_teachers_call_rows_real_that_are_like_records(self) -> None:
        rng = np.random.default_rng(0)
        a = rng.integers(0, 2, 3000)
        table = EncodedTable(DOMAIN, tuple(x.astype(np.uint8) for x in (a, a, a)))
        free = EncodedTable(DOMAIN, tuple(rng.integers(0, 2, 500).astype(np.uint8) for _ in range(3)))
        asked = EncodedTable(DOMAIN, tuple(np.array(c, np.uint8) for c in ([0, 1, 0], [0, 1, 1], [0, 1, 0])))

        alike, alike_too, other = council(table, 50).vote(asked, free, share=SOME, step="vote").values

        assert alike == alike_too == 50
        assert other < 10

    def test_more_teachers_than_records_and_no_record_at_all(self) -> None:
        assert exact_votes(rows(10, 5), 500).max() <= 10
        assert not exact_votes(rows(0, 5), 3).any()

    def test_a_table_in_many_pieces_has_the_votes_of_a_whole_one(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = exact_votes(rows(200, 6), 9)

        monkeypatch.setattr(teachers, "_ROWS_AT_ONCE", 7)

        assert np.array_equal(exact_votes(rows(200, 6), 9), whole)

    def test_what_it_shows_holds_no_size(self) -> None:
        asked = council(rows(50, 7), 5)
        asked.vote(rows(30, 1), rows(40, 2), share=SOME, step="vote")

        assert repr(asked) == "Council(5 teachers)"

    def test_rows_of_another_table_and_no_rows_are_refused(self) -> None:
        other = EncodedTable(Domain(("a",), (2,)), (np.zeros(3, np.uint8),))
        asked = council(rows(50, 7), 5)

        with pytest.raises(ArgumentError, match="columns and codes of the table"):
            asked.vote(other, rows(40, 2), share=SOME, step="vote")
        with pytest.raises(ArgumentError, match="at least one row"):
            asked.vote(rows(0, 1), rows(40, 2), share=SOME, step="vote")
        with pytest.raises(ArgumentError, match="each code of each column"):
            Council(asked._curator, Agreement([np.eye(2)]), 5)
        with pytest.raises(ArgumentError, match="teachers must be an integer of at least 1"):
            council(rows(50, 7), 0)


class TestPlantedBugs:
    def test_a_record_that_reaches_two_teachers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = Council._divided

        def twice(self):
            records, who = right(self)
            both = np.concatenate([who, (who + 1) % self.teachers])
            order = np.argsort(both, kind="stable")
            return at(records, np.tile(np.arange(len(who)), 2)[order]), both[order]

        monkeypatch.setattr(Council, "_divided", twice)

        assert most_moved() > 1

    def test_parts_by_the_place_of_a_record(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(teachers, "teachers_of", lambda records, k: np.arange(records.n_rows) % k)

        assert most_moved() > 1

    def test_parts_that_are_drawn_by_the_number_of_records(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def drawn(records, k):
            return np.random.default_rng(records.n_rows).integers(0, k, records.n_rows)

        monkeypatch.setattr(teachers, "teachers_of", drawn)

        assert most_moved() > 1

    def test_teachers_that_know_the_size_of_other_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class SizesOfAll:
            def __getattr__(self, name: str) -> object:
                return getattr(np, name)

            def bincount(self, who: np.ndarray, minlength: int) -> np.ndarray:
                # A teacher is stricter the larger the largest part is.
                return np.full(minlength, np.bincount(who).max())

        monkeypatch.setattr(teachers, "np", SizesOfAll())

        assert most_moved() > 1

    def test_votes_that_are_charged_as_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def one(ledger, share, *, cells, what, **sensitivities):
            return vector_event(
                ledger, share, l1_sensitivity=1, l2_sensitivity_squared=1, cells=cells, what=what
            )

        monkeypatch.setattr(teachers, "vector_event", one)

        with pytest.raises(AssertionError, match="more than its stated sensitivity"):
            TestVotes().replay_on_neighbours()


class TestUnits:
    def test_a_person_of_many_rows_has_one_teacher_and_its_votes_cost_as_those_of_a_record(self) -> None:
        table, asked = rows(60, 1), rows(9, 2)
        units = Units.of(np.arange(60) // 5, [f"person {i}" for i in range(12)], bytes(32))

        def votes(kept: np.ndarray) -> np.ndarray:
            curator = Curator(
                MemoryEngine(at(table, kept)), Ledger(NO_PRIVACY), SeededNoise(0), units.take(kept)
            )
            return Council(curator, AGREEMENT, 7).vote(asked, rows(40, 3), share=SOME, step="vote").values

        every = votes(np.arange(60))
        moved = [np.abs(every - votes(np.flatnonzero(units.numbers != person))) for person in range(12)]

        assert max(change.max() for change in moved) == 1
        ledger = Ledger(Budget(1.0, 1e-5), unit=Unit("person", 5))
        curator = Curator(MemoryEngine(table), ledger, SeededNoise(0), units)
        assert Council(curator, AGREEMENT, 7)._event(9, SOME).l2_sensitivity_squared == 9

    def test_rows_without_a_key_pay_for_all_that_a_unit_may_have(self) -> None:
        ledger = Ledger(Budget(1.0, 1e-5), unit=Unit("person", 5))
        curator = Curator(MemoryEngine(rows(60, 1)), ledger, SeededNoise(0))

        assert Council(curator, AGREEMENT, 7)._event(9, SOME).l2_sensitivity_squared == 9 * 25
