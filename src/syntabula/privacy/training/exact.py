"""Records as they are, where privacy is switched off, and what the journal keeps of a training on them."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from syntabula.marginals.domain import EncodedTable
from syntabula.privacy.journal import Checkpoint
from syntabula.privacy.ledger import Ledger, Token


class OpenRecords:
    """All records, and the place in the journal for what is learned from them; made by `RecordCurator.exact`.

    Args:
        table: The records.
        ledger: Writes into the journal, if there is one.
        token: Of the spend that opened the records.
    """

    def __init__(self, table: EncodedTable, ledger: Ledger, token: Token) -> None:
        self.table = table
        self._ledger, self._token = ledger, token

    @property
    def resumed(self) -> Checkpoint | None:
        """What the run that is resumed had learned, from which training goes on; None if it begins."""
        return self._token.checkpoint

    def checkpoint(self, steps: int, values: NDArray[Any]) -> None:
        """Write what was learned so far into the journal, if there is one; a resumed run goes on from the last.

        Args:
            steps: Number of steps that were made, at least 1.
            values: All that the next step needs, plain numbers.

        Raises:
            ReleaseFileError: If the journal cannot be written.
        """
        self._ledger.record_checkpoint(self._token, Checkpoint(steps, values))

    def __repr__(self) -> str:
        return "OpenRecords()"
