"""The door to records opens only where privacy is switched off."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.errors import BudgetError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.recoding import Recoding
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors import Doors
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.events import ExactEvent
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.privacy.records import MemoryJournal

DOMAIN = Domain(("a", "b"), (3, 2))
ROWS = EncodedTable(DOMAIN, (np.array([0, 2, 1], np.uint8), np.array([1, 0, 1], np.uint8)))


def doors(budget: Budget, journal: MemoryJournal | None = None) -> Doors:
    return Doors(Curator(MemoryEngine(ROWS), Ledger(budget, journal), SeededNoise(0)))


class TestRecords:
    @pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget.pure(1.0), Budget.zcdp(0.5, 1e-6)])
    def test_a_budget_keeps_it_shut_and_is_not_spent(self, budget: Budget) -> None:
        opened = doors(budget)

        with pytest.raises(BudgetError, match="only where privacy is switched off"):
            opened.records.exact(step="train")

        assert opened.tables.ledger.entries == ()

    def test_without_privacy_all_records_come_and_the_ledger_says_so(self) -> None:
        opened = doors(NO_PRIVACY)

        records = opened.records.exact(step="train")

        assert [c.tolist() for c in records.codes] == [[0, 2, 1], [1, 0, 1]]
        assert [(e.step, e.event) for e in opened.tables.ledger.entries] == [("train", ExactEvent("records"))]

    def test_merged_codes_come_merged(self) -> None:
        recoding = Recoding(DOMAIN, {"a": np.array([0, 1, 1])}, {"a": np.array([1.0, 0.5, 0.5])})

        records = doors(NO_PRIVACY).recoded(recoding).records.exact(step="train")

        assert records.column("a").tolist() == [0, 1, 1]

    def test_a_journal_holds_that_they_were_read_and_none_of_them(self) -> None:
        journal = MemoryJournal()

        doors(NO_PRIVACY, journal).records.exact(step="train")

        assert [(r.step, r.outcome) for r in journal.records] == [("train", None)]

    def test_its_text_shows_nothing(self) -> None:
        assert repr(doors(NO_PRIVACY).records) == "RecordCurator()"
