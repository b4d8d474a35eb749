"""The files that a run of `synth` wrote itself, as its journal says: `--resume` goes on from them.

A command that is killed may have written some of its outputs. They are not in the way of the same command with
`--resume`: the release is used as it is, so that nothing is fitted again, and the others are written anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from syntabula import Schema
    from syntabula.cli.request import Request

_NOT_OF_THE_RUN = ("journal", "resume", "schema_file")
"""Fields of a request that may differ between a run and the one that goes on with it; the schema itself may not."""


@dataclass(frozen=True)
class OwnFiles:
    """Tells the files of one command by the last run of its journal.

    Before a file takes its name, a hash of its content and of the command is written into the journal. So a file is
    the run's own if its hash is there, whenever the process was killed, and no longer if anybody changed it.

    Attributes:
        journal: The journal, or None, where no file is known.
        command: What tells the command from others.
    """

    journal: Path | None
    command: str

    @classmethod
    def of(cls, request: Request, table: Path, schema: Schema | None, *, strict: bool) -> OwnFiles:
        """Return the files of a command that learns a table."""
        from syntabula.privacy.resume import fingerprint

        asked = {f.name: getattr(request, f.name) for f in fields(request) if f.name not in _NOT_OF_THE_RUN}
        declared = None if schema is None else schema.to_json()
        return cls(request.journal, fingerprint([asked, declared, str(table.absolute()), strict]))

    def among(self, paths: Iterable[Path | None]) -> set[Path]:
        """Return those of some paths that hold a file of the last run.

        Raises:
            ReleaseFileError: If the journal is damaged.
        """
        if self.journal is None or not self.journal.is_file():
            return set()
        from syntabula.privacy.journal import Journal

        runs = Journal.read(self.journal).runs
        known = runs[-1].files if runs else ()
        return {
            path for path in paths if path is not None and path.is_file() and self._identity(path) in known
        }

    def record(self, file: Path) -> None:
        """Write into the journal, if there is one, that a finished file is about to take its name.

        Raises:
            ReleaseFileError: If the journal is gone, damaged or in use.
        """
        if self.journal is not None:
            from syntabula.privacy.journal import Journal

            with Journal(self.journal, must_exist=True) as journal:
                journal.record_file(self._identity(file))

    def _identity(self, path: Path) -> str:
        from syntabula.privacy.resume import fingerprint

        with path.open("rb") as file:
            return fingerprint([self.command, hashlib.file_digest(file, "sha256").hexdigest()])
