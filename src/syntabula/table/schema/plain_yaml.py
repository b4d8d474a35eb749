"""A subset of YAML in which every value is read exactly as typed.

Versions of YAML differ: in 1.1, which most libraries read, 010 is 8, 12:30 is 750, 1_000 is 1000 and no is false; in
1.2, 010 is 10 and the others are texts. A list of categories must hold what was typed, or rows are silently lost. So
here

- integers in plain digits and numbers with a point or an exponent are numbers; true, false and null, also with
  capitals, have their usual meaning; anything else without quotes is text: yes, on, 2024-01-31, 1.2.3;
- other values that some version reads as a number are refused: in quotes they are text;
- a label, of which every character matters, must be written as this library writes it: 1.1 and not 1.10, true and
  not True;
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

# Patterns that some version of YAML reads as a number or a special sign: the problem, and what to do.
_AMBIGUOUS = (
    (r"[-+]?0[0-9_]+(\.[0-9_]*)?([eE][-+]?[0-9]+)?", f"begins with a zero; {_PLAINLY}"),
    (r"[-+]?0([xX][0-9a-fA-F_]+|[oO][0-7_]+|[bB][01_]+)", f"may be a number in another base; {_PLAINLY}"),
    (r"[-+]?[0-9][0-9_]*(:[0-9]+)+(\.[0-9_]*)?", f"may be a time or a number in base 60; {_PLAINLY}"),
    (r"[-+]?[0-9.][0-9_.]*_[0-9_.]*([eE][-+]?[0-9]+)?", f"has underscores between digits; {_PLAINLY}"),
    (
        r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        f"is infinite or not a number; {_QUOTES}, or write a finite number, or inf for an infinite epsilon",
    ),
    (r"=|<<", f"has a special meaning in YAML 1.1; {_QUOTES}"),
)
_FIRST = frozenset("+-.0123456789=<")


# The C parser is equally safe and about ten times faster; not every build of PyYAML has it.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def read_yaml(text: str, labels: tuple[str, ...] = ()) -> Any:
    """Read one YAML document.

    Args:
        text: The document.
        labels: Keys whose values are labels, or lists of labels.

    Returns:
        Dictionaries, lists, texts, numbers, truth values and None.

    Raises:
        SchemaError: If the text is not YAML, or holds something that is refused; the message names the line, never a
            value.
    """
    try:
        reader = _Reader(yaml.parse(text, Loader=_Loader), labels)
        document = reader.document()
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f" in line {error.problem_mark.line + 1}"
        if "nesting" in str(error.problem):  # newer parsers refuse it before they hand anything over
            raise SchemaError(
                f"this is not plain YAML{line}: values are nested more than {MAX_DEPTH} deep"
            ) from None
        raise SchemaError(f"this is not valid YAML{line}: {error.problem}") from None
    except yaml.YAMLError:
        raise SchemaError("this is not valid YAML: it holds a character that YAML does not allow") from None
    return document


def write_yaml(document: Any, *, short: bool = False) -> str:
    """Return a document as YAML that `read_yaml` reads back unchanged.

    Args:
        document: What `read_yaml` returns.
        short: Whether lists and mappings that hold no others are written on one line.
    """
    style = None if short else False
    return str(
        yaml.dump(
            document,
            Dumper=_PlainDumper,
            sort_keys=False,
            allow_unicode=True,
            width=100,
            default_flow_style=style,
        )
    )


def write_line(value: Any) -> str:
    """Return a value as one line of YAML that `read_yaml` reads back, if no text in it has line ends."""
    written = yaml.dump(
        value,
        Dumper=_PlainDumper,
        sort_keys=False,
        allow_unicode=True,
        width=2**30,
        default_flow_style=True,
    )
    return str(written).strip()


class _Reader:
    """Builds a document from the events of a parser; refuses deep nesting and aliases."""

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
        """Return the value that begins with an event; `what` names it, and `of` names the parent of its parts."""
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
        # Quoted, or a text block.
        if not event.implicit[0]:
            return written
        where = f"line {_line(event)}: {what}"
        if (odd := _oddity(written)) is not None:
            raise SchemaError(f"{where} {odd}")
        value = _plain(written)
        if label and not isinstance(value, str) and _canonical(value) != written:
            if value is None:
                raise SchemaError(f"{where} is null, which is not a label; {_QUOTES}")
            kind, form = (
                ("truth value", "in lower case")
                if isinstance(value, bool)
                else ("number", "as short as possible")
            )
            raise SchemaError(
                f"{where} is a {kind} in another form than this library writes; {_QUOTES}, or write it {form}"
            )
        return value


def _oddity(written: str) -> str | None:
    """Return the problem with an unquoted scalar that versions of YAML read differently; None if there is none."""
    if written[:1] not in _FIRST:
        return None
    if _INTEGER.fullmatch(written) or _REAL.fullmatch(written):
        # Python does not parse numbers of thousands of digits.
        if len(written) > 1000:
            return f"has too many digits for a number; {_QUOTES}"
        # Python turns a number that exceeds floats into infinity, which nobody wrote.
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
    """Return how `write_yaml` writes a value that is not text."""
    if isinstance(value, bool):
        return str(value).lower()
    # YAML 1.1 does not allow an exponent without a point.
    text = repr(value)
    return text if "." in text or "e" not in text else text.replace("e", ".0e")


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


class _PlainDumper(_Dumper):  # type: ignore[misc]
    """Quotes every text that would not be read back unchanged."""


def _text(dumper: Any, text: str) -> Any:
    changed = _oddity(text) is not None or _plain(text) != text
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="'" if changed else None)


_PlainDumper.add_representer(str, _text)
