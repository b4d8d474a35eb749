"""From options to the library's own objects; everything is checked before a table is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syntabula.cli.console import Progress
from syntabula.cli.exits import CommandError, Exit

if TYPE_CHECKING:
    from syntabula import Budget, Schema


@dataclass(frozen=True, kw_only=True)
class Request:
    """What `synth` and `plan` are asked for.

    Attributes:
        method: Key of the synthesizer.
        epsilon: Budget, or None for 1 (or for rho).
        delta: Delta, or None for 1e-5 (0 if pure).
        rho: Budget in zCDP instead of epsilon, or None.
        pure: Whether delta is 0.
        schema_file: Schema, or None.
        observed: Whether domains read off the table are allowed.
        bins: Codes of a wide column, or None for the method's default.
        memory_mb: Limit of memory, or None for the method's default.
        seed: Seed of repeatable noise, or None for secure noise.
        journal: File to which each spend is written first, or None.
    """

    method: str
    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    pure: bool = False
    schema_file: Path | None = None
    observed: bool = False
    bins: int | None = None
    memory_mb: float | None = None
    seed: int | None = None
    journal: Path | None = None

    def check_domains(self, table: Path | None) -> None:
        """Refuse to guess: either a schema says what is public, or the user says that nothing is."""
        if self.schema_file is None and not self.observed:
            source = table or "TABLE"
            raise CommandError(
                f"no schema was given. Draft one with `syntabula schema {source} -o schema.yaml`, replace "
                "what it read off the table by public facts, and give it with --schema; or allow domains "
                "that are read off the table, which is not private, with --observed-domain",
                Exit.ARGUMENTS,
            )

    def budget(self) -> Budget:
        """Make the privacy budget."""
        from syntabula import Budget

        if self.rho is not None:
            if self.epsilon is not None or self.pure:
                raise CommandError("--rho excludes --epsilon and --pure; give one of them", Exit.ARGUMENTS)
            return Budget.zcdp(self.rho, 1e-5 if self.delta is None else self.delta)
        epsilon = 1.0 if self.epsilon is None else self.epsilon
        if not self.pure:
            return Budget(epsilon, 1e-5 if self.delta is None else self.delta)
        if self.delta is not None:
            raise CommandError(
                "--pure excludes --delta, which is then 0; leave one of them out", Exit.ARGUMENTS
            )
        return Budget.pure(epsilon)

    def schema(self) -> Schema | None:
        """Read the schema file, if one was given."""
        from syntabula import Schema

        return None if self.schema_file is None else Schema.from_yaml(self.schema_file)

    def synthesizer(self, progress: Progress | None = None) -> Any:
        """Make the synthesizer; wrong options are refused here, before any data is read."""
        from syntabula import synthesizer

        chosen = {
            "bins": self.bins,
            "memory_mb": self.memory_mb,
            "seed": self.seed,
            "journal": self.journal,
            "progress": progress,
        }
        given = {name: value for name, value in chosen.items() if value is not None}
        return synthesizer(self.method)(budget=self.budget(), allow_observed=self.observed, **given)
