"""Checks of arguments and options: one rule for each kind of value, and one message for each mistake.

A rule returns the value as one of Python's own types, so that numpy numbers, decimals and fractions work wherever a
number does. A value that is not allowed raises an ArgumentError that says what is allowed and what was given.
"""

from __future__ import annotations

import datetime as dt
import math
import numbers
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from syntabula.errors import ArgumentError

_Value = TypeVar("_Value")
_MOST_SHOWN = 60
_MOST_PARTS = 3
_SHOWN = (str, bytes, bool, int, float, complex, Decimal, Fraction, dt.date, dt.time, type(None), type(...))


@dataclass(frozen=True)
class Rule:
    """The values that an argument may have.

    Attributes:
        allowed: The allowed values, in words that follow "must be".
        read: Returns the value as Python's own type; raises ValueError or TypeError for one that is not allowed.
    """

    allowed: str
    read: Callable[[Any], Any]

    def __call__(self, name: str, value: object) -> Any:
        """Return the value of an argument; raises ArgumentError, which names it, if the value is not allowed."""
        try:
            return self.read(value)
        except (TypeError, ValueError, OverflowError):
            raise refusal(name, self.allowed, value) from None

    @property
    def or_none(self) -> Rule:
        """The same rule, which also accepts None."""
        return Rule(f"{self.allowed}, or None", lambda value: None if value is None else self.read(value))

    def or_word(self, word: str) -> Rule:
        """Return the same rule, which also accepts one word."""
        return Rule(
            f"{self.allowed}, or {word!r}",
            lambda value: word if isinstance(value, str) and value == word else self.read(value),
        )


def normalise(instance: object, **rules: Rule) -> None:
    """Check fields of a frozen dataclass and store the values that their rules return; raises ArgumentError."""
    for name, rule in rules.items():
        object.__setattr__(instance, name, rule(name, getattr(instance, name)))


def count(least: int = 1, most: int | None = None) -> Rule:
    """Return the rule for integers of at least `least`, and at most `most` if it is given."""

    def read(value: object) -> int:
        whole = int(_typed(value, numbers.Integral))
        return _accepted(whole, whole >= least and (most is None or whole <= most))

    return Rule(f"an integer {f'of at least {least}' if most is None else f'from {least} to {most}'}", read)


def even(least: int) -> Rule:
    """Return the rule for even integers of at least `least`."""
    any_count = count(least)

    def read(value: object) -> int:
        whole: int = any_count.read(value)
        return _accepted(whole, whole % 2 == 0)

    return Rule(f"an even integer of at least {least}", read)


def real(allowed: str, accepts: Callable[[float], bool]) -> Rule:
    """Return the rule for real numbers that satisfy a condition, described by `allowed`; they become floats."""

    def read(value: object) -> float:
        number = float(_typed(value, numbers.Real, Decimal))
        return _accepted(number, accepts(number))

    return Rule(allowed, read)


positive = real("a finite number above 0", lambda number: 0 < number < math.inf)
not_negative = real("a finite number of at least 0", lambda number: 0 <= number < math.inf)
megabytes = real("a number of megabytes, above 0 and at most 1e12", lambda size: 0 < size <= 1e12)


def _share(value: object) -> Fraction:
    number = _typed(value, numbers.Real, Decimal)
    exact = Fraction(number if isinstance(number, numbers.Rational | Decimal) else float(number))
    return _accepted(exact, 0 < exact < 1)


share = Rule("a fraction of the budget, above 0 and below 1", _share)
"""Shares of the budget become exact fractions, so that they add up exactly."""

flag = Rule("True or False", lambda value: bool(_only(value, bool, np.bool_)))
"""Truth values only; no text and no number."""


def one_of(*choices: str | bool | None) -> Rule:
    """Return the rule for a choice among texts, True, False and None; the numbers 1 and 0 are not accepted."""

    def read(value: object) -> object:
        given = bool(value) if isinstance(value, np.bool_) else value
        for choice in choices:
            # In Python 1 equals True, and text equals numpy text.
            if given is choice or (isinstance(given, str) and given == choice):
                return choice
        raise ValueError

    return Rule(f"one of {', '.join(map(repr, choices))}", read)


def _names(value: object) -> tuple[str, ...]:
    listed = tuple(_only(value, Sequence))
    return _accepted(listed, not isinstance(value, str) and all(isinstance(name, str) for name in listed))


names = Rule("a list of names", _names)


def words(allowed: str) -> Rule:
    """Return the rule for texts of at least one character, described by `allowed`."""
    return Rule(allowed, lambda value: _accepted(str(_only(value, str)), value != ""))


text = words("text of at least one character")


def instance_of(kind: type, allowed: str = "") -> Rule:
    """Return the rule for objects of a class or runtime protocol, described by `allowed`."""
    return Rule(allowed or f"a syntabula.{kind.__name__}", lambda value: _only(value, kind))


def with_method(name: str, allowed: str) -> Rule:
    """Return the rule for objects (not classes) that have a method of this name, described by `allowed`."""

    def read(value: object) -> object:
        return _accepted(value, not isinstance(value, type) and callable(getattr(value, name, None)))

    return Rule(allowed, read)


def several(allowed: str) -> Rule:
    """Return the rule for one text or an iterable of values, described by `allowed`; they become a tuple."""
    return Rule(allowed, lambda value: (value,) if isinstance(value, str) else tuple(_only(value, Iterable)))


def function(allowed: str) -> Rule:
    """Return the rule for functions, described by `allowed`."""
    return Rule(allowed, lambda value: _accepted(value, callable(value)))


def _path(value: object) -> object:
    name = os.fspath(_only(value, str, os.PathLike))
    accepted = _accepted(value, isinstance(name, str) and name != "" and "\0" not in name)
    os.fsencode(name)  # raises for text that cannot be a file name
    return accepted


path = Rule("the path of a file", _path)


def _only(value: object, *types: type) -> Any:
    if not isinstance(value, types):
        raise TypeError
    return value


def _typed(value: object, *types: type) -> Any:
    """Return a number of one of these types; True and False are not numbers."""
    return _only(None if isinstance(value, bool) else value, *types)


def _accepted(value: _Value, satisfied: bool) -> _Value:
    if not satisfied:
        raise ValueError
    return value


def refusal(name: str, allowed: str, value: object) -> ArgumentError:
    """Return the error for an argument whose value is not allowed."""
    return ArgumentError(f"{name} must be {allowed}; got {shown(value)}")


def near(wrong: object, known: Iterable[Any], most: int = 1) -> str:
    """Return "; did you mean ...?" with the known names that a wrong one may stand for; empty if there is none."""
    import difflib

    names = [str(name) for name in known]
    close = difflib.get_close_matches(str(wrong), names, n=most)
    close = close or [name for name in names if name.casefold() == str(wrong).casefold()][:most]
    return f"; did you mean {', '.join(map(repr, close))}?" if close else ""


def shown(value: object) -> str:
    """Return what was given for a message: short values as Python writes them, of all others only the type."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, tuple) and len(plain) <= _MOST_PARTS:
        return f"({', '.join(map(shown, plain))})"
    if not isinstance(plain, _SHOWN):
        # A table or an array that is given by mistake must not show its cells.
        return f"a value of type {type(value).__name__}"
    try:
        written = repr(plain)
    except ValueError:
        # Python refuses to write integers of thousands of digits.
        return "an integer of thousands of digits"
    return written if len(written) <= _MOST_SHOWN else f"{written[:_MOST_SHOWN]}..."


_CLIQUES = "a list of tuples of column names, such as [('age',), ('age', 'sex')]"


def check_cliques(cliques: object) -> None:
    """Refuse anything but a sequence of sequences of names; raises ArgumentError."""
    if not isinstance(cliques, Sequence) or isinstance(cliques, str):
        raise refusal("cliques", _CLIQUES, cliques)
    for clique in cliques:
        names = clique if isinstance(clique, Sequence) else [None]
        if isinstance(clique, str) or not all(isinstance(column, str) for column in names):
            raise refusal("cliques", _CLIQUES, clique)
