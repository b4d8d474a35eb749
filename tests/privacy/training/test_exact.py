"""Records as they are: a journal keeps what was last learned from them, and a resumed run is given it."""

from __future__ import annotations

import numpy as np

from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors import Doors
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.journal import MemoryJournal
from syntabula.privacy.noise import SeededNoise
from syntabula.privacy.resume import open_ledger
from syntabula.privacy.training.exact import OpenRecords

ROWS = EncodedTable(Domain(("a",), (3,)), (np.array([0, 2, 1], np.uint8),))
FACTS = {"method": "mine"}


def opened(journal: MemoryJournal | None, *, resume: bool = False) -> OpenRecords:
    ledger = open_ledger(Budget.none(), journal, FACTS, resume=resume)
    return Doors(Curator(MemoryEngine(ROWS), ledger, SeededNoise(0))).records.exact(step="train")


def test_a_resumed_run_is_given_what_was_kept_last() -> None:
    journal = MemoryJournal()
    records = opened(journal)
    assert records.resumed is None
    for steps in (2, 4):
        records.checkpoint(steps, np.full(3, steps, np.uint8))

    resumed = opened(journal, resume=True).resumed

    assert resumed is not None
    assert (resumed.steps, resumed.values.tolist()) == (4, [4, 4, 4])


def test_a_run_that_is_not_resumed_begins() -> None:
    journal = MemoryJournal()
    opened(journal).checkpoint(1, np.ones(1))

    assert opened(journal).resumed is None


def test_without_a_journal_nothing_is_kept() -> None:
    records = opened(None)

    records.checkpoint(1, np.ones(1))

    assert records.resumed is None
