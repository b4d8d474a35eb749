"""YAML of which nothing is read as another thing than was typed.

Versions of YAML differ: to 1.1, which most libraries read, 010 is 8, 12:30 is 750, 1_000 is 1000 and no is false;
to 1.2 they are texts and a ten. A list of categories must hold what is typed, or rows are lost in silence. So here

- whole numbers in plain digits and numbers with a point or an exponent are numbers; true, false and null, also with
  capitals, are themselves; all else without quotes is text: yes, on, 2024-01-31, 1.2.3;
- what one version or another takes for a number, and is not one of these, is refused: in quotes it is text;
- a label, whose very characters count, must be written as this library writes it: 1.1 and not 1.10, true and not
  True;
- anchors, aliases, tags, merge keys, repeated keys and deep nesting are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import yaml

from syntabula.errors import SchemaError

MAX_DEPTH = 8

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_REAL = re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, bool | None] = {
    written: value
    for word, value in {"true": True, "false": False, "null": None}.items()
    for written in (word, word.capitalize(), word.upper())
} | {"~": None, "": None}

_QUOTES = "put it in quotes if it is text"
_PLAINLY = f"{_QUOTES}, or write the number in plain digits"

# What some version of YAML takes for a number or a sign: what is odd about it, and what to do.
_AMBIGUOUS = (
    (r"[-+]?0[0-9_]+(\.[0-9_]*)?([eE][-+]?[0-9]+)?", f"begins with a zero; {_PLAINLY}"),
    (r"[-+]?0([xX][0-9a-fA-F_]+|[oO][0-7_]+|[bB][01_]+)", f"may be a number in another base; {_PLAINLY}"),
    (r"[-+]?[0-9][0-9_]*(:[0-9]+)+(\.[0-9_]*)?", f"may be a time or a number in base 60; {_PLAINLY}"),
    (r"[-+]?[0-9.][0-9_.]*_[0-9_.]*([eE][-+]?[0-9]+)?", f"has underscores between digits; {_PLAINLY}"),
    (
        r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        f"is infinite or no number; {_QUOTES}, or write a finite number",
    ),
    (r"=|<<", f"is a sign of its own in YAML 1.1; {_QUOTES}"),
)
_FIRST = frozenset("+-.0123456789=<")


# The C parser is the same safe one, some ten times faster; not every build of PyYAML has it.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def read_yaml(text: str, labels: tuple[str, ...] = ()) -> Any:
    """Read one YAML document.

    Args:
        text: The document.
        labels: Keys whose values, or the items of whose values, are labels.

    Returns:
        Dictionaries, lists, texts, numbers, truth values and None.

    Raises:
        SchemaError: If the text is no YAML, or holds what is refused; the message names the line, never a value.
    """
    try:
        reader = _Reader(yaml.parse(text, Loader=_Loader), labels)
        document = reader.document()
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f" in line {error.problem_mark.line + 1}"
        raise SchemaError(f"this is not valid YAML{line}: {error.problem}") from None
    except yaml.YAMLError:
        raise SchemaError("this is not valid YAML: it holds a character that YAML does not allow") from None
    return document


def write_yaml(document: Any) -> str:
    """Return a document as YAML that `read_yaml` reads back as it is."""
    return str(yaml.dump(document, Dumper=_PlainDumper, sort_keys=False, allow_unicode=True, width=100))


class _Reader:
    """Builds a document from the events of a parser, which can be neither too deep nor alias each other."""

    def __init__(self, events: Iterator[Any], labels: tuple[str, ...]) -> None:
        self._events = events
        self._labels = labels
        self._depth = 0

    def document(self) -> Any:
        """Return the one document; None if there is none."""
        next(self._events)  # the start of the stream
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        value = self._value(next(self._events), "the value")
        next(self._events)  # the end of the document
        if not isinstance(event := next(self._events), yaml.StreamEndEvent):
            raise SchemaError(f"line {_line(event)} begins a second document; keep one in a file")
        return value

    def _value(self, event: Any, what: str, *, of: str = "", label: bool = False) -> Any:
        """Return the value that begins with an event; `what` names it, and `of` what its parts belong to."""
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise SchemaError(
                f"line {_line(event)}: anchors and aliases are not allowed; write the values out"
            )
        if event.tag is not None:
            raise SchemaError(f"line {_line(event)}: tags are not allowed; write plain values")
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, what, label=label)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise SchemaError(f"line {_line(event)}: values are nested more than {MAX_DEPTH} deep")
        made = self._list(what, label) if isinstance(event, yaml.SequenceStartEvent) else self._mapping(of)
        self._depth -= 1
        return made

    def _list(self, what: str, label: bool) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._value(event, f"item {len(items) + 1} of {what}", label=label))
        return items

    def _mapping(self, of: str) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if getattr(event, "value", None) == "<<" and event.implicit[0]:
                raise SchemaError(
                    f"line {_line(event)}: merge keys (<<) are not allowed; write the values out"
                )
            key = self._value(event, "a name")
            if isinstance(key, list | dict):
                raise SchemaError(f"line {_line(event)}: a name must be text, not a list or a mapping")
            if key in made:
                raise SchemaError(f"line {_line(event)}: {key!r} is given twice; keep one of them")
            made[key] = self._value(
                next(self._events), f"{key!r}{of}", of=f" of {key!r}", label=key in self._labels
            )
        return made

    def _scalar(self, event: Any, what: str, *, label: bool) -> Any:
        written = str(event.value)
        # In quotes, or a block of text.
        if not event.implicit[0]:
            return written
        where = f"line {_line(event)}: {what}"
        if (odd := _oddity(written)) is not None:
            raise SchemaError(f"{where} {odd}")
        value = _plain(written)
        if label and not isinstance(value, str) and _canonical(value) != written:
            if value is None:
                raise SchemaError(f"{where} is null, which is no label; {_QUOTES}")
            kind, form = (
                ("truth value", "in small letters")
                if isinstance(value, bool)
                else ("number", "as short as can be")
            )
            raise SchemaError(
                f"{where} is a {kind} that would be written otherwise; {_QUOTES}, or write it {form}"
            )
        return value


def _oddity(written: str) -> str | None:
    """Say what is odd about a scalar without quotes that versions of YAML read in different ways; None if nothing."""
    if written[:1] not in _FIRST:
        return None
    if _INTEGER.fullmatch(written) or _REAL.fullmatch(written):
        # Numbers of thousands of digits are no numbers to Python.
        if len(written) > 1000:
            return f"has too many digits for a number; {_QUOTES}"
        # Python takes what no float holds for infinity, which nobody wrote.
        infinite = _INTEGER.fullmatch(written) is None and math.isinf(float(written))
        return f"is too large for a number; {_QUOTES}, or write a finite number" if infinite else None
    return next((odd for pattern, odd in _AMBIGUOUS if re.fullmatch(pattern, written)), None)


def _plain(written: str) -> str | int | float | bool | None:
    if written in _WORDS:
        return _WORDS[written]
    if _INTEGER.fullmatch(written):
        return int(written)
    return float(written) if _REAL.fullmatch(written) else written


def _canonical(value: int | float | bool | None) -> str:
    """Return how `write_yaml` writes a value that is no text."""
    if isinstance(value, bool):
        return str(value).lower()
    # YAML 1.1 has no exponent without a point.
    text = repr(value)
    return text if "." in text or "e" not in text else text.replace("e", ".0e")


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


class _PlainDumper(_Dumper):  # type: ignore[misc]
    """Quotes every text that would not be read back as it is."""


def _text(dumper: Any, text: str) -> Any:
    changed = _oddity(text) is not None or _plain(text) != text
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="'" if changed else None)


_PlainDumper.add_representer(str, _text)
