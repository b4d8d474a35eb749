"""The values of options that a search may try, and a method with such values."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from syntabula._arguments import near, shown
from syntabula.errors import ArgumentError
from syntabula.synthesizers.settings import method_options, with_options
from syntabula.synthesizers.synthesizer import Synthesizer

Value = bool | int | float | str | None

_OF_METHOD = ("bins",)
_OF_PREPROCESSING = {"discretizer": "discretizer", "within": "within", "preprocessing_share": "share"}
_EPOCHS = "epochs"


@dataclass(frozen=True, kw_only=True)
class Range:
    """Numbers from one bound to another, both included.

    Attributes:
        low: Least value.
        high: Largest value.
        log: Whether to search evenly in the logarithm, for values of several magnitudes.

    Raises:
        ArgumentError: If bounds are not finite numbers in order, or `log` is set and they are not above 0.
    """

    low: int | float
    high: int | float
    log: bool = False

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
                raise ArgumentError(f"{name} of a range must be a finite number; got {shown(value)}")
            object.__setattr__(
                self, name, int(value) if isinstance(value, numbers.Integral) else float(value)
            )
        if not isinstance(self.log, bool):
            raise ArgumentError(f"log of a range must be true or false; got {shown(self.log)}")
        if not self.low <= self.high:
            raise ArgumentError("low of a range is above high; swap them")
        if self.log and self.low <= 0:
            raise ArgumentError("a range in the logarithm must be above 0; raise low, or set log to false")

    @property
    def integer(self) -> bool:
        """Whether only whole numbers are tried, as both bounds are."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def suggested(self, trial: Any, name: str) -> Value:
        """Return the value that a trial of Optuna is to try."""
        suggest = trial.suggest_int if self.integer else trial.suggest_float
        value: Value = suggest(name, self.low, self.high, log=self.log)
        return value


@dataclass(frozen=True)
class Choice:
    """One of several values.

    Attributes:
        values: The values, without order.

    Raises:
        ArgumentError: If there is none, one is listed twice, or one is no text, number, truth value or None.
    """

    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if not self.values:
            raise ArgumentError("a choice needs at least one value")
        if not all(value is None or isinstance(value, bool | int | float | str) for value in self.values):
            raise ArgumentError("values of a choice must be text, numbers, true, false or null")
        if len({(type(value), value) for value in self.values}) < len(self.values):
            raise ArgumentError("a value of a choice is listed twice; keep one")

    def suggested(self, trial: Any, name: str) -> Value:
        """Return the value that a trial of Optuna is to try."""
        value: Value = trial.suggest_categorical(name, self.values)
        return value


Space = Mapping[str, Range | Choice]
"""What to try for each option, by its name. Beside the options of the method's parts there are `bins`, `discretizer`,
`within` and `preprocessing_share`, and `epochs` for methods that train for a number of steps."""


def space_of(document: object) -> dict[str, Range | Choice]:
    """Return a space from plain values, as a YAML file has them.

    A list is a choice; a mapping with `low`, `high` and perhaps `log` is a range.

    Raises:
        ArgumentError: If it is anything else.
    """
    if not isinstance(document, Mapping) or not document:
        raise ArgumentError("a space must be a mapping of names of options to a range or a list of values")
    space: dict[str, Range | Choice] = {}
    for name, values in document.items():
        if not isinstance(name, str):
            raise ArgumentError(f"the names of a space must be text; got {shown(name)}")
        try:
            space[name] = _tried(values)
        except ArgumentError as error:
            raise ArgumentError(f"option {name!r} of the space: {error}") from None
    return space


def _tried(values: object) -> Range | Choice:
    if isinstance(values, Range | Choice):
        return values
    if isinstance(values, Mapping):
        if unknown := [key for key in values if key not in ("low", "high", "log")]:
            raise ArgumentError(f"a range has low, high and log, not {shown(unknown[0])}")
        if missing := [key for key in ("low", "high") if key not in values]:
            raise ArgumentError(f"a range needs {missing[0]}")
        return Range(**values)
    if isinstance(values, list | tuple):
        return Choice(tuple(values))
    raise ArgumentError("give a range, such as {low: 5, high: 20}, or a list of values")


def check_space(method: Synthesizer, space: Space) -> None:
    """Raise ArgumentError if a method has no option of a name in the space; suggests similar names."""
    parts = method_options(method)
    known = {name for names in parts.values() for name in names} | {*_OF_METHOD, *_OF_PREPROCESSING}
    known |= {_EPOCHS} & {_EPOCHS for names in parts.values() if {"steps", "batch"} <= set(names)}
    for name in space:
        if name not in known:
            raise ArgumentError(
                f"{type(method).__name__} has no option {name!r}{near(name, known)}; its options are "
                f"{', '.join(sorted(known))}"
            )
    if _EPOCHS in space and "steps" in space:
        raise ArgumentError("the space has both epochs and steps, which say the same; keep one")


def with_values(method: Synthesizer, values: Mapping[str, Value], n_rows: int) -> Synthesizer:
    """Return a method with values for options of a space; `n_rows` says how many steps an epoch has.

    Raises:
        ArgumentError: If a value is not allowed.
    """
    options = plain_options(method, values, n_rows)
    of_method = {name: options.pop(name) for name in _OF_METHOD if name in options}
    prepared = {field: options.pop(name) for name, field in _OF_PREPROCESSING.items() if name in options}
    if prepared:
        of_method["preprocessing"] = replace(method.preprocessing, **prepared)
    changed = replace(method, **of_method) if of_method else method
    return with_options(changed, options) if options else changed


def plain_options(method: Synthesizer, values: Mapping[str, Value], n_rows: int) -> dict[str, Any]:
    """Return the values as options of the method, with epochs as steps."""
    options: dict[str, Any] = dict(values)
    epochs = options.pop(_EPOCHS, None)
    if epochs is not None:
        batch = options.get(
            "batch", next(p["batch"] for p in method_options(method).values() if "batch" in p)
        )
        options["steps"] = max(1, math.ceil(epochs * n_rows / batch))
    return options
