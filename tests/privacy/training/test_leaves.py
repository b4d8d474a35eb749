"""Counts in leaves: one record moves one count by one, and each planted bug is found."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from paid_doors import SOME, PaidDoor, neighbours

from syntabula.errors import ArgumentError, BudgetExceededError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.recoding import Recoding
from syntabula.marginals.splits import Splits
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors import Doors
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.journal import MemoryJournal
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource, SeededNoise
from syntabula.privacy.pricing import NoisyVector, counting_event
from syntabula.privacy.training import counts
from syntabula.privacy.training.counts import LeafCurator
from syntabula.privacy.units import Unit, Units

DOMAIN = Domain(("a", "b", "c"), (6, 3, 4))
NODES = np.array([[0, 2, 1, 2], [1, 0, 3, 4], [-1, 0, 0, 0], [-1, 0, 0, 0], [-1, 0, 0, 0]], dtype=np.int32)
SPLITS = Splits(("a", "b"), (6, 3), NODES, np.array([*range(6), *range(3)], dtype=np.int32))
GROUPS = np.array([0, 1, 1, 0])


def rows(n: int, seed: int) -> EncodedTable:
    rng = np.random.default_rng(seed)
    return EncodedTable(DOMAIN, tuple(rng.integers(0, s, n).astype(np.uint8) for s in DOMAIN.sizes))


def door(
    table: EncodedTable,
    budget: Budget = NO_PRIVACY,
    noise: NoiseSource | None = None,
    journal: MemoryJournal | None = None,
) -> LeafCurator:
    return Doors(Curator(MemoryEngine(table), Ledger(budget, journal), noise or SeededNoise(0))).leaves


def counted(asked: LeafCurator) -> np.ndarray:
    return asked.counts(SPLITS, "c", GROUPS, share=SOME, step="grow").values


def most_moved() -> float:
    """Return by how much one record moves all counts together at most, over some tables and all their records."""
    moved = [0.0]
    for seed in range(4):
        table = rows(25, seed=10 + seed)
        whole = counted(door(table))
        moved += [np.abs(counted(door(fewer)) - whole).sum() for fewer in neighbours(table)]
    return max(moved)


class TestCounts(PaidDoor):
    module = counts
    rows = staticmethod(rows)

    def opened(self, curator: Curator) -> LeafCurator:
        return Doors(curator).leaves

    def ask(self, door: LeafCurator, share: Fraction | int = SOME) -> NoisyVector:
        return door.counts(SPLITS, "c", GROUPS, share=share, step="grow")

    def sigma(self, door: LeafCurator) -> float:
        return door.sigma(SOME)

    def test_one_record_moves_one_count_by_one(self) -> None:
        assert most_moved() == 1

    def test_they_are_those_of_each_leaf_and_group(self) -> None:
        table = rows(500, 1)
        a, b, c = (table.column(x).astype(int) for x in "abc")
        leaf = np.where(a > 2, 0, np.where(b == 0, 1, 2))

        found = counted(door(table))

        assert found.tolist() == np.bincount(2 * leaf + GROUPS[c], minlength=6).tolist()

    def test_no_record_is_in_no_leaf(self) -> None:
        assert counted(door(rows(0, 1))).tolist() == [0] * 6

    def test_records_of_a_table_with_merged_codes_are_split_by_these(self) -> None:
        table = rows(50, 2)
        recoding = Recoding(DOMAIN, {"c": np.array([0, 0, 1, 1], np.intp)}, {"c": np.full(4, 1 / 4)})
        doors = Doors(Curator(MemoryEngine(table), Ledger(NO_PRIVACY), SeededNoise(0))).recoded(recoding)

        found = doors.leaves.counts(SPLITS, "c", np.arange(2), share=SOME, step="grow").values

        assert found.reshape(3, 2).sum(0).tolist() == np.bincount(table.column("c") // 2).tolist()

    def test_what_it_shows_holds_no_size(self) -> None:
        assert repr(door(rows(50, 7))) == "LeafCurator()"

    def test_splits_and_groups_of_another_table_are_refused(self) -> None:
        asked = door(rows(50, 7))
        other = Splits(("z", "b"), (6, 3), NODES, SPLITS.ranks)
        larger = Splits(("a", "b"), (5, 4), NODES, SPLITS.ranks)

        for splits in (other, larger):
            with pytest.raises(ArgumentError, match="columns and codes of the table"):
                asked.counts(splits, "c", GROUPS, share=SOME, step="grow")
        for groups in (GROUPS[:3], GROUPS - 1):
            with pytest.raises(ArgumentError, match="each code of the column"):
                asked.counts(SPLITS, "c", groups, share=SOME, step="grow")

    def test_the_rows_of_a_unit_pay_for_all(self) -> None:
        table = rows(60, 1)
        units = Units.of(np.arange(60) // 5, [f"person {i}" for i in range(12)], bytes(32))
        ledger = Ledger(Budget(1.0, 1e-5), unit=Unit("person", 5))
        asked = LeafCurator(Curator(MemoryEngine(table), ledger, SeededNoise(0), units))

        counted(asked)

        assert ledger.entries[0].event.l2_sensitivity_squared == 25


class TestPlantedBugs:
    def test_a_record_in_two_leaves(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = counts._exact

        def twice(*asked):
            found = right(*asked)
            return found + np.roll(found, 1)

        monkeypatch.setattr(counts, "_exact", twice)

        assert most_moved() > 1

    def test_counts_that_are_shares_of_the_records(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = counts._exact

        def shared(*asked):
            found = right(*asked)
            return (found * 1000 // max(found.sum(), 1)).astype(np.int64)

        monkeypatch.setattr(counts, "_exact", shared)

        assert most_moved() > 1

    def test_noise_that_shrinks_with_the_number_of_leaves(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def for_one(ledger, share, *, sensitivity, cells):
            event = counting_event(ledger, share, sensitivity=sensitivity, cells=cells)
            return replace(event, sigma=event.sigma / cells)

        monkeypatch.setattr(counts, "counting_event", for_one)

        with pytest.raises(BudgetExceededError):
            counted(door(rows(50, 7), Budget(1.0, 1e-5)))

    def test_a_leaf_without_noise(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = counts.noisy_counts

        def bare(token, noise, counts):
            noisy = right(token, noise, counts)
            noisy[-2:] = counts.reveal_inside_privacy()[-2:]
            return noisy

        monkeypatch.setattr(counts, "noisy_counts", bare)

        with pytest.raises(AssertionError, match="depends on the records beyond"):
            TestCounts().replay_on_neighbours()
