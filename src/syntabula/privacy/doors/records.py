"""The door to the records themselves, for models that are trained on them."""

from __future__ import annotations

from syntabula.errors import BudgetError
from syntabula.marginals.encoded import EncodedTable
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.events import ExactEvent


class RecordCurator:
    """Hands out the encoded records where privacy is switched off, and nothing where it is not.

    Args:
        curator: Holds the table, and the ledger in which the spend is written.
    """

    def __init__(self, curator: Curator) -> None:
        self._curator = curator

    def exact(self, *, step: str) -> EncodedTable:
        """Return all records as they are. A journal holds that this was done, and no record.

        Args:
            step: What the ledger calls this.

        Raises:
            BudgetError: If there is a budget: nothing was read.
        """
        ledger = self._curator.ledger
        if ledger.budget.currency != "none":
            raise BudgetError(
                "records leave their door only where privacy is switched off; use Budget.none()"
            )
        ledger.spend(ExactEvent("records"), step=step).consume()
        return self._curator._records()

    def __repr__(self) -> str:
        return "RecordCurator()"
