"""The register of named parts: methods, selectors, models, discretizers, metrics and attacks.

Built-in parts are listed in `_entries`. Other packages add theirs through entry points in the group of the kind, such
as `syntabula.models`: the entry point's name is the key, and its value is the class ("package.module:Class"). A session
adds its own classes with `register`. Listing parts does not import them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, lru_cache
from importlib import import_module, metadata
from typing import Any, TypeVar

from syntabula._arguments import near, shown
from syntabula._entries import BUILT_IN, KINDS, UNLISTED, Entry, Kind
from syntabula._memory import ran_out
from syntabula.errors import ArgumentError, MissingExtraError, PluginWarning, warn_caller

_WORDS: dict[str, str] = {
    "synthesizer": "method", "record_model": "model of records", "study_collection": "collection of studies"
}  # fmt: skip
"""The word for a kind in messages, if it is not the kind's own name."""

_SHOWN = 200
"""Most characters of a plug-in's error that a message repeats."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}")
_METHODS: dict[Kind, tuple[str, ...]] = {
    "synthesizer": ("plan", "fit"),
    "selector": ("plan", "select", "learn", "within"),
    "model": (
        "over", "memory_mb", "fit", "marginals", "sample", "state", "from_state", "restricted", "memory_with_each_mb",
    ),
    "record_model": ("training_cost", "trained", "sample", "state", "from_state", "restricted"),
    "discretizer": ("fit", "auto_count"),
    "attack": ("features",),
    "study_collection": ("studies",),
}  # fmt: skip
"""The methods that a class of each kind must have."""
_ATTRIBUTES: dict[Kind, tuple[str, ...]] = {
    "metric": ("group", "direction"), "discretizer": ("needs_count",), "attack": ("learns",),
}  # fmt: skip
"""The class attributes that a class of each kind must have, beside its name."""

_MODELS = ("model", "record_model")

PartT = TypeVar("PartT", bound=type)
EntryT = TypeVar("EntryT", bound=Entry)


_of_session: dict[tuple[Kind, str], tuple[Entry, type]] = {}


def group(kind: Kind) -> str:
    """Return the group of entry points of a kind."""
    return f"syntabula.{kind}s"


def entries(kind: Kind, *, asked: object = None) -> list[Entry]:
    """Return the parts of a kind: built-in first, then plug-ins and this session's; nothing heavy is imported.

    A PluginWarning tells, once in a process, of each plug-in that is ignored because its name is taken.

    Args:
        kind: The kind.
        asked: The one name that is looked up, if the parts are not listed for themselves. No other plug-in is told of,
            as nothing depends on it, and a warning may be an error.
    """
    ours = [entry for entry in BUILT_IN if entry.kind == kind]
    plugged = _plugged(kind, asked)
    session = [entry for (own, _), (entry, _) in _of_session.items() if own == kind]
    return [*{entry.key: entry for entry in reversed([*ours, *plugged, *session])}.values()][::-1]


def entry(kind: Kind, key: object) -> Entry:
    """Return a part by its key, an alias, its class name or its paper's spelling; case does not matter.

    Raises:
        ArgumentError: If there is none, with near misses.
    """
    return find(kind, key, entries(kind, asked=str(key)))


def find(kind: Kind, key: object, among: Sequence[EntryT]) -> EntryT:
    """Return the entry that a name stands for; see `entry`."""
    known = {e.key: e for e in among}
    wanted = _plain(key) if isinstance(key, str) else ""
    if exact := [e for e in among if wanted in map(_plain, (e.key, *e.aliases))]:
        return exact[0]
    named = [e for e in among if wanted in (_plain(e.name), _plain(e.home.partition(":")[2]))]
    if len(named) == 1:  # several metrics are of one class
        return named[0]
    word = _WORDS.get(kind, kind)
    first, space, rest = word.partition(" ")
    several = f"{first}s{space}{rest}"
    # Users may give the name of a method, which the summary of its part mentions.
    of_method = [e.key for e in known.values() if _plain(str(key)) in _words(e.summary)]
    hint = near(of_method[0] if of_method else str(key).lower(), known) or ";"
    others = [
        _WORDS.get(k, k) for k in KINDS if any(_plain(e.key) == wanted for e in entries(k, asked=wanted))
    ]
    but = f", but a {' and a '.join(others)} of that name" if others else ""
    raise ArgumentError(f"there is no {word} {shown(key)}{but}{hint} {several} are {', '.join(known)}")


def load(kind: Kind, key: object) -> Any:
    """Import the class of a part by its key.

    Raises:
        ArgumentError: If there is none (the message suggests similar names), or if a plug-in's class cannot be loaded
            or lacks what its kind needs.
        MissingExtraError: If a library that the part needs is missing.
    """
    found = entry(kind, key)
    session = _of_session.get((kind, found.key))
    if session is not None and session[0] == found:
        return session[1]
    return found.load() if found in BUILT_IN else _of_plug_in(found)


def package_of(kind: Kind, key: str) -> str | None:
    """Return the origin of a part from outside this package, in words for users who lack it; None if built in."""
    found = entry(kind, key)
    if found in BUILT_IN or found.home.startswith("syntabula."):
        return None
    points = [p for p in _points(kind) if (p.name, p.value) == (key, found.home)]
    packages = [p.dist.name for p in points if p.dist is not None]
    return ", ".join([*packages, found.home])


def register(kind: Kind, key: str | None = None) -> Callable[[PartT], PartT]:
    """Register a class under a name for this session, as a plug-in's entry point does for every session.

    Args:
        kind: What sort of part it is: "synthesizer", "selector", "model", "record_model", "discretizer", "metric",
            "attack" or "study_collection".
            `syntabula.plugins` holds the base class of each kind.
        key: Its name; by default the class attribute `kind` (of a model) or `key`.

    Returns:
        A decorator that returns the class unchanged. It replaces a class of the same name and module, so that a
        notebook cell can run again.

    Raises:
        ArgumentError: If the kind is unknown, the class lacks what its kind needs, or the name is malformed or taken.

    Examples:
        >>> import syntabula
        >>> from syntabula.models.pgm import PGM
        >>> @syntabula.register("model")
        ... class CautiousPGM(PGM):
        ...     kind = "cautious-pgm"
        >>> syntabula.Marginal(selector="one_way", model="cautious-pgm").name
        'one_way+cautious-pgm'
    """
    if not isinstance(kind, str):
        raise ArgumentError(
            f'the kind of a part must be text, as in @syntabula.register("selector"); got {shown(kind)}'
        )
    if kind not in KINDS:
        raise ArgumentError(f"there is no kind of part {shown(kind)}; kinds are {', '.join(KINDS)}")
    word, attribute = _WORDS.get(kind, kind), _naming(kind)
    second = "" if kind in _MODELS else " or a name as the second argument of register"

    def decorate(part: PartT) -> PartT:
        if not isinstance(part, type):
            raise ArgumentError(
                f"register takes the class of a {word}, not an object of type {type(part).__name__}"
            )
        _check_kind(kind, part, part.__name__)
        name = part.__dict__.get(attribute) if key is None else key
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ArgumentError(
                f"{part.__name__} needs its own attribute `{attribute}`{second}, made of letters, digits and the "
                "characters _.+-"
            )
        home = f"{part.__module__}:{part.__qualname__}"
        taken = _of_ours(kind).get(_plain(name)) or next(
            (e for e in entries(kind, asked=name) if _plain(name) == _plain(e.key)), None
        )
        if taken is not None and taken.home != home:
            raise ArgumentError(
                f"the name {name!r} belongs to {taken.home}; give {part.__name__} another `{attribute}`"
            )
        summary = (part.__doc__ or "Registered in this session.").strip().splitlines()[0]
        made = Entry(kind=kind, key=name, name=part.__name__, home=home, summary=summary)
        for known in [k for k in _of_session if k[0] == kind and _plain(k[1]) == _plain(name)]:
            del _of_session[known]
        _of_session[kind, name] = made, part
        return part

    return decorate


def list_synthesizers() -> list[Entry]:
    """Return all methods, built-in ones first; nothing heavy is imported."""
    return entries("synthesizer")


def list_selectors() -> list[Entry]:
    """Return all selectors, which decide which marginals are measured; nothing heavy is imported."""
    return entries("selector")


def list_models() -> list[Entry]:
    """Return all models that are fitted to marginals; nothing heavy is imported."""
    return entries("model")


def synthesizer(key: str) -> type[Any]:
    """Return the class of a method by its key, an alias, its class name or its paper's spelling; case does not matter.

    Raises:
        ArgumentError: If there is none, with near misses.
    """
    found: type[Any] = load("synthesizer", key)
    return found


def _plugged(kind: Kind, asked: object) -> list[Entry]:
    """Return the parts of other packages, but those whose name is taken: nobody can replace a built-in part."""
    found: list[Entry] = []
    points = _points(kind)
    taken = {name: (entry, "syntabula") for name, entry in _of_ours(kind).items()} if points else {}
    for point in points:
        package = "" if point.dist is None else point.dist.name
        entry = Entry(kind=kind, key=point.name, name=point.name, home=point.value, summary=_origin(point))
        first, owner = taken.setdefault(_plain(point.name), (entry, package))
        if first is entry:
            found.append(entry)
        elif first.home != entry.home and (asked is None or _plain(str(asked)) == _plain(point.name)):
            _tell_ignored(entry, package, first, owner)
    return found


def _of_ours(kind: Kind) -> dict[str, Entry]:
    """Return the built-in parts by each name of which there can be but one; a file names models of both kinds alike."""
    kinds: tuple[Kind, ...] = ("model", "record_model") if kind in _MODELS else (kind,)
    ours = [entry for entry in (*BUILT_IN, *UNLISTED) if entry.kind in kinds]
    if kind == "metric":
        ours += import_module("syntabula.metrics.registry").BUILT_IN
    names = {_plain(name): entry for entry in ours for name in (entry.key, *entry.aliases)}
    if kind != "metric":  # of which several are of one class
        spelled = [(name, entry) for entry in ours for name in (entry.name, entry.home.partition(":")[2])]
        names = {_plain(name): entry for name, entry in spelled} | names
    return names


@cache
def _tell_ignored(ignored: Entry, package: str, first: Entry, owner: str) -> None:
    """Warn, once in a process, that a plug-in is ignored because another part has its name."""
    of = f" of the package {package}" if package else ""
    word, by = _WORDS.get(first.kind, first.kind), f" of {owner}" if owner else ""
    where = f"{ignored.key} = {ignored.home}"
    warn_caller(
        PluginWarning(
            f"the entry point {where!r} ({group(ignored.kind)}){of} is ignored, as the {word} {first.key!r}{by} has this "
            "name; give it a name of its own in that package, or remove the package"
        )
    )


def _points(kind: Kind) -> tuple[metadata.EntryPoint, ...]:
    """Return the entry points of a kind; they are read again once a package was installed or removed."""
    finders = tuple(id(finder) for finder in sys.meta_path)
    return _read_points(group(kind), finders, tuple(map(_last_change, sys.path)))


@lru_cache(maxsize=len(KINDS))
def _read_points(name: str, *_places: object) -> tuple[metadata.EntryPoint, ...]:
    return tuple(metadata.entry_points(group=name))


def _last_change(folder: str) -> tuple[str, int]:
    """Return a folder of the import path and when a package was last added to it; -1 if there is none."""
    place = os.path.abspath(folder)
    try:
        return place, os.stat(place).st_mtime_ns
    except (OSError, ValueError):
        return place, -1


def _of_plug_in(found: Entry) -> Any:
    word = _WORDS.get(found.kind, found.kind)
    what = f"the plug-in {found.home!r}, which is the {word} {found.key!r},"
    try:
        part = found.load()
    except MissingExtraError:
        raise
    except Exception as error:
        # An import runs the package's own code, which can raise anything.
        if ran_out(error):
            raise
        # No table has been handed to it, so that its words show no cell.
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:_SHOWN]}".removesuffix(": ")
        raise ArgumentError(
            f"{what} cannot be loaded ({why}); repair it or its installation, or remove it"
        ) from None
    # An object may describe a metric, because several metrics are of one class.
    if isinstance(part, type):
        _check_kind(found.kind, part, what)
    elif found.kind != "metric":
        raise ArgumentError(f"{what} is not a class, but an object of type {type(part).__name__}")
    attribute = _naming(found.kind)
    name = getattr(part, attribute, None)
    if isinstance(name, str) and name != found.key:
        raise ArgumentError(
            f"{what} has the `{attribute}` {name!r}; give the entry point and the `{attribute}` the same name"
        )
    return part


def _naming(kind: Kind) -> str:
    """Return the class attribute that names a part."""
    return "kind" if kind in _MODELS else "key"


def _check_kind(kind: Kind, part: type, what: str) -> None:
    """Raise ArgumentError unless a class has what its kind needs; says what other kind it is, if any."""
    word = _WORDS.get(kind, kind)
    if missing := _lacking(kind, part):
        others = [other for other in _METHODS if other != kind and not _lacking(other, part)]
        hint = f"; it has those of a {_WORDS.get(others[0], others[0])}" if others else ""
        raise ArgumentError(f"{what} lacks the methods of a {word}: {', '.join(missing)}{hint}")
    # A metric whose class cannot be called is said beside the scores of others.
    if kind != "metric" and (undecided := _without_default(part)):
        raise ArgumentError(
            f"{what} has fields without a default: {', '.join(undecided)}; give each one, as a {word} is made by its "
            "name alone"
        )
    if unsaid := [name for name in _ATTRIBUTES.get(kind, ()) if not hasattr(part, name)]:
        raise ArgumentError(f"{what} lacks the class attributes of a {word}: {', '.join(unsaid)}")


def _lacking(kind: Kind, part: object) -> list[str]:
    """Return the methods that are missing, or that a class has from its interface alone, where they do nothing."""
    unwritten = getattr(part, "__abstractmethods__", ())
    needed = dict.fromkeys([*_METHODS.get(kind, ()), *sorted(unwritten)])
    return [n for n in needed if n in unwritten or not callable(getattr(part, n, None))]


def _without_default(part: type) -> list[str]:
    """Return the fields of a dataclass that an object cannot be made without."""
    listed = fields(part) if is_dataclass(part) else ()
    return [f.name for f in listed if f.init and f.default is MISSING and f.default_factory is MISSING]


def _origin(point: metadata.EntryPoint) -> str:
    """Say which package a plug-in is from; what it does is unknown until it is imported."""
    return "Plug-in." if point.dist is None else f"Plug-in of the package {point.dist.name}."


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def _words(summary: str) -> set[str]:
    return {_plain(word) for word in re.findall(r"[\w+-]+", summary)}
