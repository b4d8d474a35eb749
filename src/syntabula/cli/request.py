"""From options to the library's own objects; everything is checked before a table is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syntabula.cli.console import Progress
from syntabula.cli.exits import CommandError, Exit

if TYPE_CHECKING:
    from syntabula import Budget, Schema


DEFAULT_METHOD = "mst"


def selector_and_model(method: str | None, selector: str | None, model: str | None) -> tuple[str, str] | None:
    """Return the pair that was asked for instead of a method, or None; half a pair is refused."""
    if selector is None and model is None:
        return None
    if selector is None or model is None:
        raise CommandError(
            "--selector and --model go together; `syntabula methods` lists both", Exit.ARGUMENTS
        )
    if method is not None:
        raise CommandError("a method has a selector and a model; give --method, or these two", Exit.ARGUMENTS)
    return selector, model


@dataclass(frozen=True, kw_only=True)
class Request:
    """What `synth` and `plan` are asked for.

    Attributes:
        method: Key of the synthesizer, or None for mst.
        selector: Key of a selector, with `model`, instead of a method.
        model: Key of a model, with `selector`, instead of a method.
        epsilon: Budget, or None for 1 (or for rho).
        delta: Delta, or None for 1e-5 (0 if pure).
        rho: Budget in zCDP instead of epsilon, or None.
        pure: Whether delta is 0.
        accounting: How the costs of steps add up, "gdp" or "zcdp", or None for the default.
        schema_file: Schema, or None.
        observed: Whether domains read off the table are allowed.
        bins: Codes of a wide column, "auto" for a rule, or None for the method's default.
        discretizer: How numbers become codes, or None for the default.
        within: How values lie within a code, or None for the default.
        preprocessing_share: Part of the budget for domains and codes, or None for the default.
        options: Options of the method's selector and model, each as NAME=VALUE with a YAML value.
        memory_mb: Limit of memory, or None for the method's default.
        seed: Seed of repeatable noise, or None for secure noise.
        journal: File to which each spend is written first, or None.
        resume: Whether to go on with the run of that file.
    """

    method: str | None = None
    selector: str | None = None
    model: str | None = None
    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    pure: bool = False
    accounting: str | None = None
    schema_file: Path | None = None
    observed: bool = False
    bins: str | None = None
    discretizer: str | None = None
    within: str | None = None
    preprocessing_share: float | None = None
    options: tuple[str, ...] = ()
    memory_mb: float | None = None
    seed: int | None = None
    journal: Path | None = None
    resume: bool = False

    def budget(self) -> Budget:
        """Make the privacy budget."""
        from syntabula import Budget

        if self.accounting is not None and (self.rho is not None or self.pure):
            raise CommandError(
                "--accounting goes with --epsilon and --delta; --rho and --pure each have their own",
                Exit.ARGUMENTS,
            )
        if self.rho is not None:
            if self.epsilon is not None or self.pure:
                raise CommandError("--rho excludes --epsilon and --pure; give one of them", Exit.ARGUMENTS)
            return Budget.zcdp(self.rho, 1e-5 if self.delta is None else self.delta)
        epsilon = 1.0 if self.epsilon is None else self.epsilon
        if not self.pure:
            chosen: dict[str, Any] = {} if self.accounting is None else {"accounting": self.accounting}
            return Budget(epsilon, 1e-5 if self.delta is None else self.delta, **chosen)
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
        from syntabula import Marginal, grid_parts, synthesizer, with_options

        if self.resume and self.journal is None:
            raise CommandError("--resume goes on with the run of a --journal; name that file", Exit.ARGUMENTS)
        chosen = {
            "bins": self._bin_count(),
            "preprocessing": self._preprocessing(),
            "memory_mb": self.memory_mb,
            "seed": self.seed,
            "journal": self.journal,
            "resume": self.resume or None,
            "progress": progress,
        }
        given = {name: value for name, value in chosen.items() if value is not None}
        pair = selector_and_model(self.method, self.selector, self.model)
        if pair is None:
            kind = synthesizer(self.method or DEFAULT_METHOD)
            given |= with_options(kind, self._options())
        else:
            kind, parts = Marginal, grid_parts(*pair)
            given |= parts | with_options(parts, self._options())
        return kind(budget=self.budget(), allow_observed=self.observed, **given)

    def _options(self) -> dict[str, Any]:
        import yaml

        found = {}
        for text in self.options:
            name, equals, value = text.partition("=")
            if not equals or not name:
                raise CommandError(
                    "--option must be NAME=VALUE, such as --option max_rounds=20", Exit.ARGUMENTS
                )
            try:
                found[name.strip().replace("-", "_")] = yaml.safe_load(value)
            except yaml.YAMLError:
                raise CommandError(
                    f"the value of --option {name} is no number, text or list in YAML", Exit.ARGUMENTS
                ) from None
        return found

    def _bin_count(self) -> int | str | None:
        if self.bins is None or self.bins == "auto":
            return self.bins
        if not self.bins.isdecimal():
            raise CommandError("--bins must be a whole number of at least 2, or auto", Exit.ARGUMENTS)
        return int(self.bins)

    def _preprocessing(self) -> Any:
        chosen = {
            "discretizer": self.discretizer,
            "within": self.within,
            "share": self.preprocessing_share,
        }
        given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
        if not given:
            return None
        from syntabula import Preprocessing

        return Preprocessing(**given)
