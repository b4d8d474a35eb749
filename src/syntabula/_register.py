"""Every part that a name can stand for: methods, selectors, models, discretizers, metrics and attacks.

Our own stand in `_entries`. Other packages add theirs by an entry point in the group of its kind, for instance
`syntabula.models`, whose name is the key and whose value is the class ("package.module:Class"); and a session adds a
class of its own by `register`. Listing imports nothing of a part.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any, TypeVar

from syntabula._entries import BUILT_IN, KINDS, Entry, Kind
from syntabula.errors import ArgumentError

_WORDS: dict[str, str] = {"synthesizer": "method"}
"""What messages call a kind where it is not its own name."""

PartT = TypeVar("PartT", bound=type)
EntryT = TypeVar("EntryT", bound=Entry)


_of_session: dict[tuple[Kind, str], tuple[Entry, type]] = {}


def group(kind: Kind) -> str:
    """Return the group of entry points of a kind."""
    return f"syntabula.{kind}s"


def entries(kind: Kind) -> list[Entry]:
    """Return the parts of a kind: ours first, then those of plug-ins and of this session; nothing heavy is imported."""
    ours = [entry for entry in BUILT_IN if entry.kind == kind]
    plugged = [
        Entry(kind=kind, key=point.name, name=point.name, home=point.value)
        for point in metadata.entry_points(group=group(kind))
    ]
    session = [entry for (own, _), (entry, _) in _of_session.items() if own == kind]
    # The first of a name counts, so that nobody takes the place of one of ours.
    return [*{entry.key: entry for entry in reversed([*ours, *plugged, *session])}.values()][::-1]


def entry(kind: Kind, key: object) -> Entry:
    """Return a part by its key, its class or the spelling of its paper, in any case of letters.

    Raises:
        ArgumentError: If there is none, with near misses.
    """
    return find(kind, key, entries(kind))


def find(kind: Kind, key: object, among: Sequence[EntryT]) -> EntryT:
    """Return the entry that a name stands for; see `entry`."""
    known = {e.key: e for e in among}
    wanted = _plain(key) if isinstance(key, str) else ""
    if exact := [e for e in among if _plain(e.key) == wanted]:
        return exact[0]
    named = [e for e in among if wanted in (_plain(e.name), _plain(e.home.partition(":")[2]))]
    if len(named) == 1:  # several metrics are of one class
        return named[0]
    word = _WORDS.get(kind, kind)
    # Users of a method know its name, which the summary of its part tells.
    of_method = [e.key for e in known.values() if _plain(str(key)) in _words(e.summary)]
    near = of_method or difflib.get_close_matches(str(key).lower(), known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ArgumentError(f"there is no {word} {key!r}; {hint}{word}s are {', '.join(known)}")


def load(kind: Kind, key: object) -> Any:
    """Import the class of a part by its key; raises ArgumentError, with near misses, if there is none."""
    found = entry(kind, key)
    session = _of_session.get((kind, found.key))
    return session[1] if session is not None and session[0] == found else found.load()


def is_registered(kind: Kind, key: object, part: type) -> bool:
    """Return whether a class is the one that a key stands for."""
    if not isinstance(key, str) or key not in {e.key for e in entries(kind)}:
        return False
    return load(kind, key) is part


def register(kind: Kind, key: str) -> Callable[[PartT], PartT]:
    """Let a class of this session be found by a name, as a plug-in's entry point does for every session.

    Args:
        kind: What sort of part it is.
        key: Its lower-case name.

    Returns:
        A decorator of the class, which returns the class as it is.

    Raises:
        ArgumentError: If the kind is unknown, or the name is malformed or taken by another class.

    Examples:
        >>> from syntabula.models.pgm import PGM
        >>> @register("model", "cautious-pgm")
        ... class CautiousPGM(PGM):
        ...     kind = "cautious-pgm"
        >>> load("model", "cautious-pgm") is CautiousPGM
        True
    """
    if kind not in KINDS:
        raise ArgumentError(f"there is no kind of part {kind!r}; kinds are {', '.join(KINDS)}")
    if not isinstance(key, str) or not re.fullmatch(r"[a-z][a-z0-9_+-]*", key):
        raise ArgumentError(
            "key must be lower-case letters, digits, '_', '+' or '-', beginning with a letter"
        )

    def decorate(part: PartT) -> PartT:
        home = f"{part.__module__}:{part.__qualname__}"
        # A cell of a notebook that runs again registers its class again.
        if key in {e.key for e in entries(kind) if e.home != home}:
            raise ArgumentError(
                f"the name {key!r} is taken by another {_WORDS.get(kind, kind)}; choose a new one"
            )
        summary = (part.__doc__ or "Of this session.").strip().splitlines()[0]
        made = Entry(kind=kind, key=key, name=part.__name__, home=home, summary=summary)
        _of_session[kind, key] = made, part
        return part

    return decorate


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def _words(summary: str) -> set[str]:
    return {_plain(word) for word in re.findall(r"[\w+-]+", summary)}


def list_synthesizers() -> list[Entry]:
    """Return all methods, ours first; nothing heavy is imported."""
    return entries("synthesizer")


def list_selectors() -> list[Entry]:
    """Return all strategies that decide which marginals are measured; nothing heavy is imported."""
    return entries("selector")


def list_models() -> list[Entry]:
    """Return all models that are fitted to marginals; nothing heavy is imported."""
    return entries("model")


def synthesizer(key: str) -> type[Any]:
    """Return the class of a method by its key, or by the name of its class or paper in any case of letters.

    Raises:
        ArgumentError: If there is none, with near misses.
    """
    found: type[Any] = load("synthesizer", key)
    return found
