"""The values of options that a search may try, and a method with such values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from syntabula._arguments import near, shown
from syntabula._spaces import Choice, Range, Space, Value, declared_of
from syntabula.errors import ArgumentError
from syntabula.synthesizers.settings import default_of, method_options, parts_of, with_options
from syntabula.synthesizers.synthesizer import Synthesizer

_OF_METHOD = ("bins",)
_OF_PREPROCESSING = {"discretizer": "discretizer", "within": "within", "preprocessing_share": "share"}
_EPOCHS = "epochs"
_FIRST = ("preprocessing", "training")


def declared_space(method: Synthesizer | type[Synthesizer]) -> dict[str, Range | Choice]:
    """Return what the options of a method declare that a search tries, see `_spaces`.

    Args:
        method: A method, or the class of one, with its default parts.

    Returns:
        By name: bins and how they are chosen, how the method trains, options of its other parts, and at the end those for
        which the method tries something else than its part declares, as it does for some with a finite budget, for others
        without one, which a class has. The order decides which values a seed tries.
    """
    made = {f.name: f for f in fields(method)}
    prepared = default_of(made["preprocessing"]) if isinstance(method, type) else method.preprocessing
    parts = {"preprocessing": prepared, **parts_of(method)}
    of_method = declared_of(method)
    space = {name: tried for name, tried in of_method.items() if name in _OF_METHOD}
    otherwise: dict[str, Range | Choice] = {}
    for name in sorted(parts, key=lambda name: name not in _FIRST):
        declared = declared_of(parts[name])
        # What a method declares for its own part does not hold for another that it was given instead.
        changed = {n: tried for n, tried in of_method.get(name, {}).items() if hasattr(parts[name], n)}
        space |= {n: tried for n, tried in declared.items() if n not in changed}
        otherwise |= {n: tried for n, tried in changed.items() if tried is not None}
    space |= otherwise
    is_private = not isinstance(method, type) and method.whole_budget.currency != "none"
    has = {option for options in method_options(method).values() for option in options}
    for name, tried in (method.tried_with_budget if is_private else method.tried_without_budget).items():
        space.pop(name, None)
        if tried is not None and name in has:
            space[name] = tried
    return space


def space_of(document: object) -> dict[str, Range | Choice]:
    """Return a space from plain values, as a YAML file has them.

    A list is a choice; a mapping with `low`, `high` and perhaps `log` is a range. Names are those of options of the
    method's parts, `bins`, `discretizer`, `within` and `preprocessing_share`, and `epochs` for methods that train for a
    number of steps.

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


def plain_space(space: Space) -> dict[str, Any]:
    """Return a space as plain values, which `space_of` reads."""
    return {name: tried.plain for name, tried in space.items()}


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
                f"{type(method).__name__} has no option {name!r}{near(name, known) or ';'} its options are "
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
