"""Turns options into the library's objects; everything is checked before a table is read.

The options of a synthesizer are declared once, as the fields of a request; `takes_request` gives them to a command.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_origin, get_type_hints

from syntabula._planning import Progress
from syntabula.cli import options
from syntabula.cli.console import CommandError, Exit
from syntabula.errors import SchemaError

if TYPE_CHECKING:
    from syntabula import Budget, Schema


DEFAULT_METHOD = "auto"

_OF_TABLES = {
    "schema_file": "--schema",
    "encoding": "--encoding",
    "bins": "--bins",
    "discretizer": "--discretizer",
    "within": "--within",
    "atoms": "--atoms",
    "preprocessing_share": "--preprocessing-share",
}
"""What is said of a table, and of how it is prepared."""
_IN_FILES = ("bins", "discretizer", "within", "preprocessing_share")
"""Those that a file of options may say too."""


def selector_and_model(method: str | None, selector: str | None, model: str | None) -> tuple[str, str] | None:
    """Return the selector and model given instead of a method, or as one such as adaptive+pgm; or None.

    One without the other is refused.
    """
    if selector is None and model is None:
        first, _, second = (method or "").partition("+")
        return (first, second) if first and second.strip("+") else None  # rap++ is a method
    if selector is None or model is None:
        raise CommandError(
            "--selector and --model must be given together; `syntabula methods` lists both", Exit.ARGUMENTS
        )
    if method is not None:
        raise CommandError("give --method, or --selector and --model, not both", Exit.ARGUMENTS)
    return selector, model


@dataclass(frozen=True, kw_only=True)
class Request:
    """The options of a command that makes a synthesizer; annotated fields are options of every such command.

    Attributes:
        method: Key of the synthesizer, or None for auto.
        selector: Key of a selector, with `model`, instead of a method.
        model: Key of a model, with `selector`, instead of a method.
        epsilon: Budget, or None for 1 (or for rho).
        delta: Delta, or None for 1e-5 (0 if pure).
        rho: Budget in zCDP instead of epsilon, or None.
        pure: Whether delta is 0.
        accounting: How the costs of steps compose, "gdp" or "zcdp", or None for the default.
        schema_file: Schema, or None.
        encoding: Encoding of a text file, or None.
        observed: Whether domains read off the table are allowed.
        bins: Maximum number of bins of a column, "auto" for a rule, or None for the method's default.
        discretizer: How numbers are binned, or None for the default.
        within: Distribution of values within a bin, or None for the default.
        preprocessing_share: Fraction of the budget for domains and bins, or None for the default.
        method_options: Options of the method's selector and model, each as NAME=VALUE with a YAML value.
        options_file: YAML file with the method and its options, as `tune` writes it, or None.
        memory_mb: Memory limit in megabytes, or None for the method's default.
        workers: Number of processes that read a table in files, or None for the usual number.
        seed: Seed of repeatable noise, or None for secure noise.
        journal: File to which each spend is written before its noise is drawn, or None.
        resume: Whether to resume the run of that file.
    """

    method: options.Method = None
    selector: options.Selector = None
    model: options.Model = None
    epsilon: options.Epsilon = None
    delta: options.Delta = None
    rho: options.Rho = None
    pure: options.Pure = False
    accounting: options.Accounting = None
    schema_file: options.SchemaFile = None
    encoding: options.Encoding = None
    observed: options.Observed = False
    bins: options.Bins = None
    discretizer: options.Discretizer = None
    within: options.Within = None
    atoms: options.Atoms = None
    preprocessing_share: options.PreprocessingShare = None
    method_options: options.MethodOption = None
    options_file: options.OptionsFile = None
    memory_mb: options.Memory = None
    workers: options.Workers = None
    seed: int | None = None
    journal: Path | None = None
    resume: bool = False

    def budget(self) -> Budget:
        """Make the privacy budget."""
        from syntabula import Budget

        if self.accounting is not None and (self.rho is not None or self.pure):
            raise CommandError(
                "--accounting needs --epsilon and --delta; leave it out with --rho or --pure",
                Exit.ARGUMENTS,
            )
        if self.rho is not None:
            if self.epsilon is not None or self.pure:
                raise CommandError(
                    "--rho cannot be combined with --epsilon or --pure; give only one", Exit.ARGUMENTS
                )
            return Budget.zcdp(self.rho, 1e-5 if self.delta is None else self.delta)
        epsilon = 1.0 if self.epsilon is None else self.epsilon
        if not self.pure:
            chosen: dict[str, Any] = {} if self.accounting is None else {"accounting": self.accounting}
            return Budget(epsilon, 1e-5 if self.delta is None else self.delta, **chosen)
        if self.delta is not None:
            raise CommandError(
                "--pure sets delta to 0 and cannot be combined with --delta; leave one of them out",
                Exit.ARGUMENTS,
            )
        return Budget.pure(epsilon)

    def for_table(self, table: Path) -> Request:
        """Return the request with the usual number of processes for a table, if it states none."""
        from syntabula.table.read import may_have_parts

        if self.workers is not None or not may_have_parts(table):
            return self
        from syntabula.table.parts.files import usual_workers

        return replace(self, workers=usual_workers(table))

    def schema(self) -> Schema | None:
        """Read the schema file, if one was given; with an encoding, there is always a schema, perhaps of no columns."""
        from syntabula import Schema

        schema = None if self.schema_file is None else Schema.from_yaml(self.schema_file)
        if self.encoding is None:
            return schema
        return replace(schema or Schema({}, others="find"), encoding=self.encoding)

    def synthesizer(self, progress: Progress | None = None) -> Any:
        """Make the synthesizer; refuse wrong options before any data is read."""
        from syntabula import Marginal, synthesizer

        if self.resume and self.journal is None:
            raise CommandError(
                "--resume needs the journal of the run to resume; name it with --journal", Exit.ARGUMENTS
            )
        chosen = {
            "bins": self._bin_count(),
            "preprocessing": self._preprocessing(),
            "memory_mb": self.memory_mb,
            "workers": self.workers,
            "seed": self.seed,
            "journal": self.journal,
            "resume": self.resume or None,
            "progress": progress,
        }
        given = {name: value for name, value in chosen.items() if value is not None}
        pair = selector_and_model(self.method, self.selector, self.model)
        named = self.method if pair is None else "+".join(pair)
        filed = {} if self.options_file is None else _filed(self.options_file, named)
        named = named or filed.get("method") or DEFAULT_METHOD
        pair = pair or selector_and_model(named, None, None)
        if pair is None:
            kind = synthesizer(named)
        else:
            kind, given["selector"], given["model"] = Marginal, *pair
        method = kind(budget=self.budget(), allow_observed=self.observed, **given)
        if filed.get("options"):
            from syntabula.tuning.space import with_values

            method = with_values(method, self._not_said(filed["options"]), 0)
        plain = self._named_options()
        return method.with_options(**plain) if plain else method

    def options_given(self) -> dict[str, Any]:
        """Return the options of the method that were given, by a file and one by one."""
        filed = {} if self.options_file is None else read_options(self.options_file, "--options")
        return {**self._not_said(filed.get("options", {})), **self._named_options()}

    def _not_said(self, filed: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a file that the command line does not say itself, which wins."""
        said = {name for name in _IN_FILES if getattr(self, name) is not None}
        return {name: value for name, value in filed.items() if name not in said}

    def words_of_table(self, but: Collection[str] = ()) -> list[str]:
        """Return the words of a command that say the same of the table and its preparation.

        Args:
            but: Fields that are said elsewhere.
        """
        given = {flag: getattr(self, name) for name, flag in _OF_TABLES.items() if name not in but}
        words = [str(word) for pair in given.items() if pair[1] is not None for word in pair]
        return [*words, "--observed-domain"] if self.observed else words

    def _named_options(self) -> dict[str, Any]:
        options = named_values(self.method_options or (), "--option", "max_rounds=20")
        return {name.replace("-", "_"): value for name, value in options.items()}

    def _bin_count(self) -> int | str | None:
        if self.bins is None or self.bins == "auto":
            return self.bins
        if not self.bins.isdecimal():
            raise CommandError(
                f"--bins must be a whole number of at least 2, or auto; got {self.bins!r}", Exit.ARGUMENTS
            )
        return int(self.bins)

    def _preprocessing(self) -> Any:
        chosen = {
            "discretizer": self.discretizer,
            "within": self.within,
            "atoms": self.atoms,
            "share": self.preprocessing_share,
        }
        given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
        if not given:
            return None
        from syntabula import Preprocessing

        return Preprocessing(**given)


def named_values(given: Sequence[str], option: str, example: str) -> dict[str, Any]:
    """Return the values of a repeatable option of the form NAME=VALUE, each a YAML value, by name."""
    from syntabula.table.schema.plain_yaml import read_yaml

    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise CommandError(
                f"{option} must be NAME=VALUE, such as {option} {example}; got {text!r}", Exit.ARGUMENTS
            )
        name = name.strip()
        if name in found:
            raise CommandError(f"{option} {name} is given twice; keep one of them", Exit.ARGUMENTS)
        try:
            found[name] = read_yaml(value)
        except SchemaError as error:
            problem = str(error).removeprefix("line 1: the value ")
            raise CommandError(f"the value of {option} {name} {problem}", Exit.ARGUMENTS) from None
    return found


def read_options(path: Path, option: str) -> dict[str, Any]:
    """Read a YAML file that holds a mapping."""
    from syntabula.table.schema.plain_yaml import read_yaml

    try:
        found = read_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise CommandError(f"{option} {str(path)!r} cannot be read: {why}", Exit.DATA) from None
    except SchemaError as error:
        raise CommandError(f"{option} {str(path)!r}: {error}", Exit.ARGUMENTS) from None
    if not isinstance(found, dict):
        raise CommandError(f"{option} {str(path)!r} must hold a mapping", Exit.ARGUMENTS)
    return found


def _filed(path: Path, method: str | None) -> dict[str, Any]:
    """Read a file of options, as `tune` writes it; refuse one of another method than the command line names."""
    found = read_options(path, "--options")
    wrong = [key for key in found if key not in ("method", "options")]
    options_given = found.get("options", {})
    if wrong or not isinstance(found.get("method", ""), str) or not isinstance(options_given, dict):
        raise CommandError(
            f"--options {str(path)!r} must hold `method` and a mapping `options`, as `syntabula tune --out` writes them",
            Exit.ARGUMENTS,
        )
    if "epochs" in options_given:
        raise CommandError(
            f"--options {str(path)!r} gives epochs, which depend on the number of rows; give `steps` instead",
            Exit.ARGUMENTS,
        )
    if method is not None and found.get("method", method) != method:
        raise CommandError(
            f"--options {str(path)!r} is for the method {found['method']!r}; leave out --method, or name the same",
            Exit.ARGUMENTS,
        )
    return found


def takes_request(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's parameter `request` by the options that make up a request, but for those that it has itself.

    Such as `--workers`, which are the processes of a search or an attack there, and not those that read a table.
    """
    hints = get_type_hints(Request, include_extras=True)
    own = get_type_hints(command, include_extras=True)
    asked = {
        f.name: f.default
        for f in fields(Request)
        if get_origin(hints[f.name]) is Annotated and f.name not in own
    }
    parameters = []
    for name, parameter in inspect.signature(command).parameters.items():
        taken = asked if name == "request" else {name: parameter.default}
        parameters += [
            inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=(hints | own)[n])
            for n, default in taken.items()
        ]

    @functools.wraps(command)
    def asking(**given: Any) -> None:
        request = Request(**{name: given.pop(name) for name in asked})
        command(**given, request=request)

    asking.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    asking.__annotations__ = {p.name: p.annotation for p in parameters}
    return asking
