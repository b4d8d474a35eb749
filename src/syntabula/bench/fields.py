"""Rules for the fields of a study and of its parts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from syntabula._arguments import Rule, count, even, flag, names, near, not_negative, one_of, real, shown
from syntabula.errors import ArgumentError


def check_names(what: str, given: Iterable[Any], known: Collection[str]) -> None:
    """Refuse a name that is not known, with similar ones; `what` says what the names are of."""
    for name in given:
        if not isinstance(name, str) or name not in known:
            listed = ", ".join(known) or "none"
            raise ArgumentError(
                f"there is no {what} {shown(name)}{near(name, known) or ';'} there are {listed}"
            )


def _words(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise TypeError
    # A copy, so that what changes later is no option of a row that is named already.
    return {name: _copied(inner) for name, inner in value.items()}


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _copied(inner) for name, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def _target(value: object) -> object:
    return value if value in ("outlier", "extreme", "inside") else count(0).read(value)


def _space(value: object) -> object:
    return value if isinstance(value, str) else _mapping(value)


def _some_names(value: object) -> object:
    found: tuple[str, ...] = names.read(value)
    if not found:
        raise TypeError
    return found


WORDS = Rule("text", _words)
"""Text that may be empty."""
NAMED = Rule("names with values, such as {bins: 20}", _mapping)
DELTA = real("a number above 0 and below 1", lambda number: 0 < number < 1)
OPTIONS: Mapping[str, Rule] = {
    "holdout": real(
        "a fraction of the rows, above 0 and below 1, or a number of rows",
        lambda number: 0 < number < 1 or (number >= 1 and number == int(number)),
    ),
    "levels": Rule("a list of fixed and joint, at least one", _some_names),
    "accounting": one_of("gdp", "zcdp"),
    "keep": names,
    "trials": count(),
    "space": Rule("usual, synmeter, or names of options with what to try", _space),
    "spaces": Rule("keys of methods, each with names of options and what to try", _mapping),
    "finalists": count(0),
    "fits": count(),
    "relative": flag,
    "shadows": even(2),
    "draws": count(),
    "records": count().or_none,
    "target": Rule("outlier, extreme, inside or the number of a row, counted from 0", _target),
    "bins_epsilon": not_negative,
    "without": names,
}
"""Rules for the options of tasks, by name."""


def check_axis(name: str, value: object, known: Collection[str]) -> str:
    """Return what an axis of a figure shows; refuse what none can, with similar names."""
    check_names(f"{name} of a figure named", [value], known)
    return str(value)


def one_or_several(given: Any) -> tuple[Any, ...]:
    """Return a list as a tuple, and a single value as a tuple of it."""
    return tuple(given) if isinstance(given, list | tuple) else (given,)
