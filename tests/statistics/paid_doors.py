"""What is promised of every door of the training that releases noisy numbers: a test class inherits it, and asks."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from half_noise import HalfNoise
from recording import RecordingNoise

from syntabula.errors import BudgetExceededError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import EncodedTable
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.events import ExactEvent, GaussianEvent, LaplaceEvent
from syntabula.privacy.journal import MemoryJournal
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource, SeededNoise
from syntabula.privacy.pricing import NoisyVector
from syntabula.testing.replay import check_alike, recorded

SOME = Fraction(1, 3)
_BUDGETS = [
    (Budget(1.0, 1e-5), GaussianEvent),
    (Budget.zcdp(0.5, 1e-5), GaussianEvent),
    (Budget.pure(1.0), LaplaceEvent),
    (NO_PRIVACY, ExactEvent),
]


def at(table: EncodedTable, places: np.ndarray) -> EncodedTable:
    return EncodedTable(table.domain, tuple(codes[places] for codes in table.codes))


def neighbours(table: EncodedTable) -> Iterator[EncodedTable]:
    for gone in range(table.n_rows):
        yield at(table, np.delete(np.arange(table.n_rows), gone))


def curator_of(
    table: EncodedTable,
    budget: Budget = NO_PRIVACY,
    noise: NoiseSource | None = None,
    journal: MemoryJournal | None = None,
) -> Curator:
    return Curator(MemoryEngine(table), Ledger(budget, journal), noise or SeededNoise(0))


class PaidDoor:
    """The tests; a subclass says which door is asked, and what."""

    module: ModuleType
    """Where the door draws its noise."""

    def rows(self, n: int, seed: int) -> EncodedTable:
        raise NotImplementedError

    def opened(self, curator: Curator) -> Any:
        raise NotImplementedError

    def ask(self, door: Any, share: Fraction | int = SOME) -> NoisyVector:
        raise NotImplementedError

    def sigma(self, door: Any) -> float:
        """Return the standard deviation that the door states for what is asked."""
        raise NotImplementedError

    @pytest.mark.parametrize(("budget", "event"), _BUDGETS)
    def test_an_answer_costs_its_share(self, budget: Budget, event: type) -> None:
        door = self.opened(curator_of(self.rows(50, 7), budget))

        found = self.ask(door)

        (entry,) = door._curator.ledger.entries
        assert type(entry.event) is event
        assert found.sigma == self.sigma(door)
        if budget.total is not None:
            assert entry.cost == pytest.approx(float(budget.total) / 3, rel=1e-6)

    def test_what_cannot_be_paid_is_not_drawn(self) -> None:
        noise = RecordingNoise(SeededNoise(0))
        door = self.opened(curator_of(self.rows(50, 7), Budget(1.0, 1e-5), noise))
        self.ask(door, 1)

        with pytest.raises(BudgetExceededError):
            self.ask(door)

        assert len(noise.calls) == 1

    def test_a_resumed_run_gets_the_answers_of_the_first_and_pays_once(self) -> None:
        budget, journal = Budget(1.0, 1e-5), MemoryJournal()
        journal.record_run({})
        first = self.ask(self.opened(curator_of(self.rows(50, 7), budget, SeededNoise(1), journal)))
        again = Ledger(budget, journal, replay_from=0)

        second = self.ask(self.opened(Curator(MemoryEngine(self.rows(49, 8)), again, SeededNoise(2))))

        assert np.array_equal(first.values, second.values)
        assert len(journal.records) == 1

    def test_only_the_inputs_of_noise_differ_on_neighbours(self) -> None:
        self.replay_on_neighbours()

    def test_planted_noise_of_half_the_size_is_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        right = self.module.noisy_counts
        monkeypatch.setattr(
            self.module, "noisy_counts", lambda token, noise, exact: right(token, HalfNoise(noise), exact)
        )

        with pytest.raises(AssertionError, match="more than its stated sensitivity"):
            self.replay_on_neighbours()

    def test_planted_answers_without_noise_are_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def bare(token: Any, noise: NoiseSource, exact: Any) -> Any:
            token.consume()
            return exact.reveal_inside_privacy()

        monkeypatch.setattr(self.module, "noisy_counts", bare)

        with pytest.raises(AssertionError, match="depends on the records beyond"):
            self.replay_on_neighbours()

    def replay_on_neighbours(self) -> None:
        """Replay the answers for a table on each table with a record fewer; only the inputs of noise may differ."""
        table = self.rows(25, seed=10)

        def ask(table: EncodedTable, noise: NoiseSource) -> list[float]:
            found = self.ask(self.opened(curator_of(table, Budget(1.0, 1e-5), noise)))
            return found.values.tolist()

        first = recorded(lambda noise: ask(table, noise))
        for fewer in neighbours(table):
            check_alike(first, recorded(lambda noise, fewer=fewer: ask(fewer, noise), first.calls))
