from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from syntabula.errors import BudgetError
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors import labels as label_curator
from syntabula.privacy.doors.labels import LabelCurator
from syntabula.privacy.events import ExactEvent
from syntabula.privacy.journal import MemoryJournal
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise

DELTA = Fraction(1, 10**6)
BUDGET = Budget.zcdp(1.0, 1e-5).with_failure_delta(DELTA)
COUNTS = {None: 300, "zebra": 500, "ant": 400, "a" * 40: 600, "cow": 700, "\u00e9": 350, "rare": 1}


def released(budget: Budget = BUDGET, journal: MemoryJournal | None = None) -> dict:
    curator = LabelCurator(COUNTS, Ledger(budget, journal), SeededNoise(0))
    return curator.frequent(share=1, delta=DELTA, step="s")


class TestLongest:
    """What is released has a length that a journal has room for, whatever the table holds."""

    def test_labels_are_left_out_from_the_rarest_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = released()
        assert set(whole) == set(COUNTS) - {"rare"}
        order = sorted(whole, key=lambda x: (x is not None, -whole[x]))
        kept = []

        for longest in range(200):
            journal = MemoryJournal()
            monkeypatch.setattr(label_curator, "LONGEST", longest)
            found = released(journal=journal)
            assert found == {x: n for x, n in whole.items() if x in order[: len(found)]}
            assert list(found) == [x for x in whole if x in found]
            assert journal.records[0].outcome.nbytes <= max(longest, len("[]"))
            kept.append(len(found))

        assert kept == sorted(kept)
        assert set(kept) == set(range(len(whole) + 1))

    def test_without_privacy_all_are_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(label_curator, "LONGEST", 20)
        assert released(NO_PRIVACY) == COUNTS

    def test_a_journal_is_told_how_long_the_answer_could_have_been(self) -> None:
        class Told(MemoryJournal):
            longest = None

            def record_outcome(self, number: int, values: np.ndarray, *, longest: int | None = None) -> None:
                self.longest = longest
                super().record_outcome(number, values)

        private, exact = Told(), Told()
        released(journal=private)
        released(NO_PRIVACY, exact)

        assert (private.longest, exact.longest) == (label_curator.LONGEST, None)


class TestTold:
    """What a function tells of the exact labels: where privacy is off, and only there."""

    def test_it_is_exact_and_recorded(self) -> None:
        ledger = Ledger(NO_PRIVACY)

        told = LabelCurator(COUNTS, ledger, SeededNoise(0)).told(
            lambda c: str(sum(c.values())), what="a sum", step="s"
        )

        assert told == str(sum(COUNTS.values()))
        assert [(e.step, str(e.event)) for e in ledger.entries] == [("s", str(ExactEvent("a sum")))]

    def test_it_is_refused_under_a_budget(self) -> None:
        curator = LabelCurator(COUNTS, Ledger(BUDGET), SeededNoise(0))

        with pytest.raises(BudgetError, match="exact answers need"):
            curator.told(lambda counts: str(counts), what="all", step="s")
