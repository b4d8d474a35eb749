"""What all methods have: settings, which check their options, and a learner, which alone differs among families."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar, runtime_checkable

from syntabula._arguments import count, flag, function, instance_of, megabytes, near, normalise, path, refusal
from syntabula._planning import PlannedStep, Progress
from syntabula._register import load
from syntabula._spaces import Choice, Range, tunable
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique, Domain
from syntabula.models.base import BoolArray, Model
from syntabula.prepare.preprocessing import BinCount, Preprocessing, RareCategories
from syntabula.privacy.budget import Budget, stated_budget
from syntabula.privacy.doors import Doors
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.statement_facts import MethodChoice
from syntabula.table.raw import PhysicalType
from syntabula.table.schema.schema import Schema, is_whole

if TYPE_CHECKING:
    from syntabula.synthesizers.idle import Idle


class Learner(Protocol):
    """Learns an encoded table through the doors to its records."""

    @property
    def name(self) -> str:
        """Name in the statement if the method has none of its own."""
        ...

    def plan(self, domain: Domain, n_rows: int) -> Sequence[PlannedStep]:
        """Say what each step will cost, from the domain and a public or guessed number of rows.

        Shares are fractions of the learner's own budget.
        """
        ...

    def learn(
        self, doors: Doors, *, share: Fraction, progress: Progress
    ) -> tuple[Model, MethodChoice | None]:
        """Learn the table and return the model, and the chosen method if the learner chooses one.

        Args:
            doors: Noisy access to the table.
            share: Fraction of the whole budget that all answers together may cost.
            progress: Called with the progress of the fit.
        """
        ...


@runtime_checkable
class RestrictedLearner(Learner, Protocol):
    """Can also be told which combinations of codes are possible, and then learns no other."""

    def with_possible(self, cells: Mapping[Clique, BoolArray]) -> Learner:
        """Return the same learner, that knows which cells of some cliques are possible."""
        ...


@runtime_checkable
class TriedLearner(Learner, Protocol):
    """Can also try its parts on what is made up, before anything is paid."""

    def try_parts(self, domain: Callable[[], Domain], budget: Budget, *, memory_mb: float) -> None:
        """Raise ArgumentError if a part of a plug-in breaks.

        Args:
            domain: Returns the columns that will be learned, with as many codes as are planned for them.
            budget: What a fit may spend; a trial spends none of it.
            memory_mb: Most memory that a trial may take.
        """
        ...


MOST_WORKERS = 1024


@dataclass(frozen=True, kw_only=True)
class TableFacts:
    """What is known of a table before its values are read.

    Attributes:
        schema: The declared columns.
        physical: Stored type of each column, if some are not declared.
        n_rows: A public or guessed number of rows; where privacy is switched off, in a fit, that of the table.
        types_found: Whether the types of columns that are not declared will be found.
        in_parts: Whether the table is read in parts, of which memory holds one batch at a time.
    """

    schema: Schema | None
    physical: Mapping[str, PhysicalType]
    n_rows: int
    types_found: bool = False
    in_parts: bool = False

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.schema.columns) if is_whole(self.schema) else len(self.physical)


@dataclass(frozen=True, kw_only=True)
class Settings(ABC):
    """What plans and fits know of a method: its settings, and the learner that they make.

    Attributes:
        epsilon: Privacy budget, with `delta`; `math.inf` switches privacy off. Both are left out where `budget` is given;
            `dataclasses.replace` changes them beside `budget=None`.
        delta: Probability with which the epsilon bound may fail; choose it well below 1 / the number of records.
        budget: The budget as an object: approximate, zCDP or pure; None for that of `epsilon` and `delta`.
        bins: Most codes for a numeric or date column with more values than that; "auto" for Rice's rule under
            the budget, 2 n^(1/3) / (1 + exp(-epsilon)), of a noisy n, and at most 250. Long tails may have half as many
            more, unless a column states its own number.
        preprocessing: How bins are chosen, and the fraction of the budget that bins and unknown domains may cost.
        rare: How rare categories of large columns are merged under privacy before anything else; None merges none.
        seed: Replaces the secure noise by repeatable noise, for experiments; the release is then NOT private.
        noise: Replaces the noise source altogether, for audits; the source declares whether it is private.
        allow_observed: Allows domains that were read off the sensitive table; the statement discloses this.
        memory_mb: Memory limit of each step; checked before data is read.
        workers: Number of processes that read and count a table in files, such as a folder of Parquet files, if a schema
            declares all columns. A script that uses more than one needs `if __name__ == "__main__":` around its fit.
        journal: Path of a file to which every spend is written before its noise is drawn. Spends that it
            already holds, from an interrupted run or another method, count: this run only gets the rest of the
            budget.
        resume: Resumes the run in the journal: its noisy answers are reused and only the missing ones are drawn,
            so that the release is the same as without the interruption. Options that say where is computed (`device`,
            `threads`) may be others; then sums are rounded otherwise from there on.
        progress: Called with the name of a step and the fraction done.
    """

    key: ClassVar[str]
    paper: ClassVar[str] = ""
    parts: ClassVar[tuple[str, ...]] = ()
    """Fields that are parts with options of their own."""
    why_not_private: ClassVar[str] = ""
    """Why a finite budget is refused; empty if it is accepted."""
    why_without: ClassVar[Mapping[str, str]] = {}
    """Options that others of its family have and it has not, and why."""
    tried_with_budget: ClassVar[Mapping[str, Range | Choice | None]] = {}
    """What a search with a finite budget tries otherwise than parts declare; None for options without effect then."""
    tried_without_budget: ClassVar[Mapping[str, Range | Choice | None]] = {}
    """The same of a search where privacy is switched off."""
    caution: ClassVar[str] = ""
    """What a plan with a finite budget says of other methods; empty for nothing."""

    epsilon: float = 1.0
    delta: float = 1e-5
    budget: Budget | None = None
    bins: BinCount = tunable("auto", Range(low=10, high=200, log=True))
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    rare: RareCategories | None = RareCategories()
    seed: int | None = None
    noise: NoiseSource | None = None
    allow_observed: bool = False
    memory_mb: float = 4000.0
    workers: int = 1
    journal: str | os.PathLike[str] | None = None
    resume: bool = False
    progress: Progress | None = None

    if not TYPE_CHECKING:  # a type checker reads the fields and finds wrong names without this

        def __new__(cls, *unnamed: Any, **given: Any) -> Self:
            """Refuse arguments that this method does not have; suggests similar names."""
            check_arguments(cls, unnamed, given)
            return super().__new__(cls)

    def __post_init__(self) -> None:
        # No field, so that `dataclasses.replace` with another epsilon makes another budget.
        object.__setattr__(self, "_whole_budget", stated_budget(self))
        normalise(
            self,
            bins=count(2).or_word("auto"),
            preprocessing=instance_of(Preprocessing),
            rare=instance_of(RareCategories).or_none,
            seed=count(0).or_none,
            noise=instance_of(NoiseSource, "a source with all methods of NoiseSource").or_none,
            allow_observed=flag,
            memory_mb=megabytes,
            workers=count(1, MOST_WORKERS),
            journal=path.or_none,
            resume=flag,
            progress=function("a function of a step's name and the fraction done").or_none,
        )
        if self.resume and self.journal is None:
            raise ArgumentError("resume=True needs the journal of the run to resume; pass it as journal=PATH")
        _ = self.learner  # refuses parts that cannot make a learner

    @property
    def whole_budget(self) -> Budget:
        """What a fit may spend: `budget`, or that of `epsilon` and `delta`."""
        whole: Budget = self.__dict__["_whole_budget"]
        return whole

    @property
    @abstractmethod
    def learner(self) -> Learner:
        """The part that learns the encoded table; raises ArgumentError if the options cannot make one."""

    def chosen_for(self, table: TableFacts) -> tuple[Settings, MethodChoice | None]:
        """Return the method that plans and learns a table, and why; itself, unless it chooses by such facts alone."""
        del table
        return self, None

    @property
    def failure_share(self) -> Fraction:
        """Part of delta that is set aside for the learner, where its draws may fail."""
        return Fraction(0)

    @property
    def weighs_codes(self) -> bool:
        """Whether single columns are measured, and so codes without records told from others, such as missing cells."""
        return True

    @property
    def idle(self) -> tuple[Idle, ...]:
        """Options of parts that do nothing with these settings."""
        return ()

    @property
    def columns_apart(self) -> bool:
        """Whether columns are learned one by one on purpose."""
        return False

    @property
    def name(self) -> str:
        """Name of this method in a statement."""
        return self.key


MethodT = TypeVar("MethodT")


def method_options(method: Any) -> dict[str, dict[str, Any]]:
    """Return the options of a method's parts.

    Args:
        method: A method, the class of one, or its key, as `list_synthesizers` has it.

    Returns:
        By part (such as "selector" and "model"), the value of each option by its name; for a class, its default.

    Raises:
        ArgumentError: If there is no such method; suggests similar names.
    """
    return {
        name: {f.name: getattr(part, f.name) for f in fields(part) if _is_option(part, f.name)}
        for name, part in parts_of(method).items()
    }


def option_notes(method: Any, *, part: str | None = None) -> dict[str, str]:
    """Return what the options of a method's parts mean, by name, as their classes document them; see `method_options`.

    Args:
        method: As for `method_options`.
        part: One of its parts, such as "training"; None for all. An option of several, such as the `steps` with a
            budget and without one, then has the notes of each.

    Raises:
        ArgumentError: If there is no such method, or it has no such part.
    """
    notes = _notes_of_parts(method)
    if part is not None:
        if part not in notes:
            raise ArgumentError(f"part must be one of {', '.join(map(repr, notes))}, or None; got {part!r}")
        return notes[part]
    by_name: dict[str, dict[str, str]] = {}
    for named, told in notes.items():
        for name, note in told.items():
            by_name.setdefault(name, {})[named] = note
    return {
        name: " ".join(f"{named}: {note}" for named, note in told.items())
        if len({*told.values()}) > 1
        else next(iter(told.values()))
        for name, told in by_name.items()
    }


def _notes_of_parts(method: Any) -> dict[str, dict[str, str]]:
    """Return what the options of each part mean, by part and name."""
    from syntabula._docstrings import attribute_notes

    parts, found = parts_of(method), {}
    for part, options in method_options(method).items():
        documented = attribute_notes(type(parts[part]))
        found[part] = {name: documented[name] for name in options if name in documented}
    return found


def with_options(method: MethodT, options: Mapping[str, Any]) -> MethodT:
    """Return a method with some options of its parts changed; see `Synthesizer.with_options`."""
    parts, known = parts_of(method), method_options(method)
    every = {option for names in known.values() for option in names}
    for name in options:
        if name not in every and name in getattr(method, "__dataclass_fields__", ()):
            raise ArgumentError(
                f"{name} is an argument of {type(method).__name__} itself, and no option of its parts: give it as such, "
                "or change it by dataclasses.replace in Python"
            )
    _check_known(type(method).__name__, options, known, getattr(method, "why_without", {}))
    changed = {}
    for part, names in known.items():
        mine = {name: value for name, value in options.items() if name in names}
        if mine:
            try:
                changed[part] = replace(parts[part], **mine)
            except TypeError:
                named = ", ".join(map(repr, mine))
                raise ArgumentError(f"the value of option {named} is of the wrong type") from None
    return replace(method, **changed) if changed else method  # type: ignore[type-var]


def check_arguments(method: type, unnamed: tuple[Any, ...], given: Iterable[str]) -> None:
    """Refuse arguments that a method does not have.

    Raises:
        ArgumentError: If one has no name, or a name that the method does not have; suggests similar names.
    """
    if unnamed:
        raise ArgumentError(
            f"the arguments of {method.__name__} must be named, for instance {method.__name__}(epsilon=1.0)"
        )
    if not is_dataclass(method):
        return
    own = [f.name for f in fields(method)]
    wrong = next((name for name in given if name not in own), None)
    if wrong is None:
        return
    for part, names in method_options(method).items():
        if wrong in names:
            raise ArgumentError(
                f"{wrong} is an option of the {part} of {method.__name__}: "
                f"write {method.__name__}(...).with_options({wrong}=...)"
            )
    raise ArgumentError(
        f"{method.__name__} has no argument {wrong!r}{near(wrong, own) or ';'} its arguments are {', '.join(own)}"
    )


def _check_known(
    name: str,
    given: Iterable[str],
    known: Mapping[str, Mapping[str, Any]],
    why_without: Mapping[str, str],
) -> None:
    every = sorted({option for options in known.values() for option in options})
    for wrong in given:
        if wrong not in every and wrong in why_without:
            raise ArgumentError(f"{name} has no option {wrong!r}: {why_without[wrong]}")
        if wrong not in every:
            listed = ", ".join(every) or "none"
            raise ArgumentError(
                f"{name} has no option {wrong!r}{near(wrong, every) or ';'} its options are {listed}"
            )


def _is_option(part: Any, name: str) -> bool:
    # A selector or model within a part can only be given in Python, not as text.
    value = getattr(part, name)
    return not name.startswith("_") and not hasattr(value, "select") and not hasattr(value, "fit")


def parts_of(method: Any) -> dict[str, Any]:
    """Return the parts of a method that have options, by name; for a class or a key, its default parts."""
    if isinstance(method, str):
        method = load("synthesizer", method)
    names = getattr(method, "parts", None)
    if not is_dataclass(method) or not isinstance(names, tuple):
        raise refusal("method", "a method, the class of one, or its key", method)
    if isinstance(method, type):
        made = {f.name: default_of(f) for f in fields(method) if f.name in names}
    else:
        made = {name: getattr(method, name) for name in names}
    return {name: part for name, part in made.items() if is_dataclass(part)}


def default_of(field: Field[Any]) -> Any:
    """Return the default of a field, made anew if it has a factory; None if it has neither."""
    if field.default_factory is not MISSING:
        return field.default_factory()
    return None if field.default is MISSING else field.default
