"""A study: which methods are compared on which tables, by which scores; its file, and what of it is quick."""

from __future__ import annotations

import itertools
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from syntabula._arguments import megabytes, near, normalise, positive, refusal, several, words
from syntabula.bench.candidate import FEW, Binning, Candidate, binning_of, budgets, candidate_of, fields_of
from syntabula.bench.cell import Cell
from syntabula.bench.checks import (
    check_dataset,
    check_figure_scores,
    check_rows,
    check_space,
    check_tables,
    known_tables,
    scores_of,
)
from syntabula.bench.content import content_of
from syntabula.bench.fields import DELTA, NAMED, WORDS, check_names
from syntabula.bench.study_fields import Figure, StudyFields
from syntabula.bench.table_names import table_and_rows, with_rows
from syntabula.bench.tasks import TASKS
from syntabula.errors import ArgumentError, SchemaError, SyntabulaError, SyntabulaWarning
from syntabula.table.schema.plain_yaml import read_yaml

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}")
_QUICK_ROWS = 1000
_QUICK_CELLS = 24
_QUICK_BINNINGS = 12
_QUICK_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Study(StudyFields):
    """Every method on every table, at every budget, with every binning and seed.

    Raises:
        ArgumentError: If something is unknown (suggests similar names) or out of range.
    """

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise refusal("name", "a name of letters, digits and the characters _.+-", self.name)
        normalise(
            self, seconds=positive, memory_mb=megabytes, scores=several("a list of metrics"),
            against=several("a list of `held out` and `learned`"), datasets=several("a list of tables"),
            title=WORDS, overall=WORDS, finding=WORDS, note=WORDS, delta=DELTA, binnings=NAMED, score_options=NAMED,
            options=NAMED, target=words("the name of a column").or_none,
        )  # fmt: skip
        change = object.__setattr__
        change(self, "methods", tuple(candidate_of(entry) for entry in _listed(self.methods)))
        change(self, "preprocessing", tuple(binning_of(entry) for entry in _listed(self.preprocessing)))
        change(self, "binnings", {name: binning_of(entry) for name, entry in self.binnings.items()})
        change(self, "epsilons", budgets(self.epsilons))
        change(self, "seeds", _seeds(self.seeds))
        check_names("task", [self.task], TASKS)
        for name in ("datasets", "methods", "epsilons", "preprocessing", "seeds", "scores", "against"):
            if not getattr(self, name):
                raise ArgumentError(f"{name} of the study {self.name!r} must name at least one")
        labels = [candidate.label for candidate in self.methods]
        if repeated := {label for label in labels if labels.count(label) > 1}:
            raise ArgumentError(
                f"the study {self.name!r} has the method {min(repeated)!r} twice; give each row its own `label`"
            )
        for dataset in self.datasets:
            check_dataset(dataset)
        for dataset in self.binnings:
            check_names("table in `binnings`", [dataset], known_tables(self.datasets))
        TASKS[self.task].check(self)
        check_figure_scores(self)
        check_rows(self)

    def check(self) -> Study:
        """Import every method, and refuse unknown ones and unknown columns, with similar names; return the study.

        Raises:
            ArgumentError: If a method, one of its options or a column does not exist.
            BudgetError: If a method does not take one of the budgets, as it has no private form.
            MissingExtraError: If the library of one is missing.
        """
        with _any_budget():
            for candidate in () if TASKS[self.task].methods else self.methods:
                for epsilon in candidate.epsilons or self.epsilons:
                    candidate.with_settings(self.datasets[0], epsilon).check(epsilon)
            check_space(self)
        check_tables(self)
        return self

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Its cells, each with what it needs: seeds last, so that every row has a first figure early."""
        contents = {dataset: content_of(dataset) for dataset in self.datasets}
        # They are made again when a file has changed.
        if self._made.get("contents") != contents:
            self._made.update(contents=contents, cells=tuple(dict.fromkeys(self._cells(contents))))
        found: tuple[Cell, ...] = self._made["cells"]
        return found

    @cached_property
    def _made(self) -> dict[str, Any]:
        return {}

    def _cells(self, contents: Mapping[str, str]) -> Iterator[Cell]:
        budgeted = dict.fromkeys([*self.epsilons, *(e for c in self.methods for e in c.epsilons)])
        every = itertools.product(self.seeds, self.datasets, budgeted, self.methods, self.preprocessing)
        for seed, dataset, epsilon, candidate, binning in every:
            if epsilon not in (candidate.epsilons or self.epsilons):
                continue
            chosen = candidate.with_settings(dataset, epsilon)
            binning = self.binnings.get(table_and_rows(dataset)[0], binning)
            if chosen.is_baseline and chosen.method != "BINS":
                epsilon, binning = math.inf, Binning()
            yield Cell(
                task=self.task,
                dataset=dataset,
                split=self.split,
                method=chosen.method,
                label=chosen.label,
                options=chosen.options,
                binning=chosen.binning or binning,
                epsilon=epsilon,
                delta=self.delta,
                seed=seed,
                scores=self.scores,
                score_options=self.score_options,
                against=self.against,
                target=self.target,
                overall=self.overall,
                task_options=self.options,
                content=contents[dataset],
            )

    def quick(self) -> Study:
        """Return a small study of the same kind: at most 1,000 rows of one table, one seed, few cells, short fits.

        Its figures show that the study works; they are too few to compare methods.
        """
        task = TASKS[self.task]
        small = task.quick(self)
        middle = sorted(small.epsilons, key=lambda epsilon: abs(math.log(min(epsilon, 1e6))))
        # A row with budgets of its own would otherwise bring in a second one.
        shared = [c for c in small.methods if not c.epsilons or middle[0] in c.epsilons] or [*small.methods]
        dataset = with_rows(_first_here(small.datasets), _QUICK_ROWS)
        # What a study of binnings asks is their difference, which two methods show as well as five.
        most = _QUICK_CELLS // min(len(small.preprocessing), _QUICK_BINNINGS)
        rows = without_long([*shared], task.quick_steps)[:most]
        if not task.methods:
            with _any_budget():
                rows = tuple(candidate.quicker(dataset, middle[0], task.quick_steps) for candidate in rows)
        scores = scores_of(small, dataset) or small.scores
        small = replace(
            small,
            methods=rows,
            datasets=(dataset,),
            scores=scores,
            score_options={name: given for name, given in small.score_options.items() if name in scores},
            epsilons=tuple(middle[:1]),
            seeds=small.seeds[:1],
            seconds=min(small.seconds, _QUICK_SECONDS),
        )
        few = max(1, _QUICK_CELLS // len(small.methods))
        return replace(small, preprocessing=spread(small.preprocessing, few))


@contextmanager
def _any_budget() -> Iterator[None]:
    """Make methods without a warning that a budget is weak, which is what a study is about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntabulaWarning)
        yield


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def _seeds(value: object) -> tuple[int, ...]:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return tuple(range(value))
    if isinstance(value, list | tuple) and all(type(s) is int and s >= 0 for s in value):
        return tuple(value)
    raise refusal("seeds", "a number of seeds of at least 1, or a list of seeds", value)


def _first_here(datasets: Sequence[str]) -> str:
    """Return the first table that is here, or the first if none is."""
    from syntabula.bench.table_source import check_table

    for name in datasets:
        with suppress(SyntabulaError, OSError):
            check_table(name)
            return name
    return datasets[0]


_FILE = (".yaml", ".yml")

_NOT_IN_FILES = ("reported",)


def study_of(text: str, *, default_name: str) -> Study:
    """Return the study of a YAML text, whose fields are those of `Study`.

    Args:
        text: The text.
        default_name: Its name, if the text has none.

    Raises:
        ArgumentError: If a field is unknown (suggests similar names), missing or wrong.
        SchemaError: If the text is not YAML.
    """
    read: Any = read_yaml(text)
    if not isinstance(read, Mapping):
        raise ArgumentError(
            "a study file must have named fields, such as `datasets: [bank]` and `methods: [mst]`"
        )
    known = tuple(f.name for f in fields(Study) if f.name not in _NOT_IN_FILES)
    for name in read:
        if name not in known:
            raise ArgumentError(
                f"a study has no field {name!r}{near(name, known) or ';'} fields are {', '.join(known)}"
            )
    given = {"name": default_name, **read}
    needed = [f.name for f in fields(Study) if f.default is MISSING and f.default_factory is MISSING]
    if missing := [name for name in needed if name not in given]:
        raise ArgumentError(f"the study {given['name']!r} must have {' and '.join(map(repr, missing))}")
    if "figure" in given:
        drawn = fields_of(given["figure"], "the figure", tuple(f.name for f in fields(Figure)))
        given["figure"] = Figure(**drawn)
    return Study(**given)


def read_study(path: str | Path) -> Study:
    """Read a study from a YAML file; its fields are those of `Study`.

    Raises:
        ArgumentError: If a field is unknown (suggests similar names), missing or wrong.
        OSError: If the file cannot be read.
    """
    place = Path(path)
    if place.suffix.lower() not in _FILE:
        raise ArgumentError(f"the study file {str(path)!r} must end in .yaml")
    try:
        return study_of(place.read_text(encoding="utf-8"), default_name=place.stem)
    except (SchemaError, UnicodeDecodeError) as error:
        problem = str(error) if isinstance(error, SchemaError) else "is not a text file in UTF-8"
        raise ArgumentError(f"the study file {str(path)!r}: {problem}") from None


_Value = TypeVar("_Value")
_LONG = 4
"""A row that sets more than so many times the length of a quick fit is left out, if its method has another."""


def without_long(rows: Sequence[Candidate], steps: int) -> tuple[Candidate, ...]:
    """Return the rows without those that set a long fit, where another row of the method is short.

    Args:
        rows: Rows of a study.
        steps: Most steps of training of a quick fit.
    """
    few = {**FEW, "steps": steps}
    long = [any(row.options.get(name, 0) > _LONG * most for name, most in few.items()) for row in rows]
    short = {row.method for row, is_long in zip(rows, long, strict=True) if not is_long}
    return tuple(
        row for row, is_long in zip(rows, long, strict=True) if not is_long or row.method not in short
    )


def spread(binnings: Sequence[Binning], most: int) -> tuple[Binning, ...]:
    """Return at most so many binnings: as many of each discretizer and domain, from the first number of bins to the last.

    If there are more kinds than `most`, one binning of kinds that lie evenly among them.
    """
    if len(binnings) <= most:
        return tuple(binnings)
    kinds: dict[tuple[str, ...], list[Binning]] = {}
    for binning in binnings:
        options = sorted(map(str, binning.options.items()))
        kinds.setdefault((binning.discretizer, binning.domain, binning.within, *options), []).append(binning)
    chosen = _evenly([*kinds.values()], most)
    return tuple(binning for kind in chosen for binning in _evenly(kind, max(1, most // len(chosen))))


def _evenly(values: Sequence[_Value], most: int) -> list[_Value]:
    """Return at most so many values at even distances, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    if most == 1:
        return [values[0]]
    return [values[round(i * (len(values) - 1) / (most - 1))] for i in range(most)]
