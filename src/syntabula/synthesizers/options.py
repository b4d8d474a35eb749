"""The arguments of a method and the options of its parts, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from typing import Any, TypeVar

from syntabula._arguments import near, refusal
from syntabula._register import load
from syntabula.errors import ArgumentError

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
        for name, part in _parts(method).items()
    }


def option_notes(method: Any) -> dict[str, str]:
    """Return what the options of a method's parts mean, by name, as their classes document them; see `method_options`."""
    from syntabula._docstrings import attribute_notes

    parts = _parts(method)
    notes: dict[str, str] = {}
    for part, options in method_options(method).items():
        documented = attribute_notes(type(parts[part]))
        notes |= {name: documented[name] for name in options if name in documented}
    return notes


def with_options(method: MethodT, options: Mapping[str, Any]) -> MethodT:
    """Return a method with some options of its parts changed; see `Synthesizer.with_options`."""
    parts, known = _parts(method), method_options(method)
    _check_known(type(method).__name__, options, known)
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
        f"{method.__name__} has no argument {wrong!r}{near(wrong, own)}; its arguments are {', '.join(own)}"
    )


def _check_known(name: str, given: Iterable[str], known: Mapping[str, Mapping[str, Any]]) -> None:
    every = sorted({option for options in known.values() for option in options})
    for wrong in given:
        if wrong not in every:
            listed = ", ".join(every) or "none"
            raise ArgumentError(
                f"{name} has no option {wrong!r}{near(wrong, every)}; its options are {listed}"
            )


def _is_option(part: Any, name: str) -> bool:
    # A selector or model within a part can only be given in Python, not as text.
    value = getattr(part, name)
    return not name.startswith("_") and not hasattr(value, "select") and not hasattr(value, "fit")


def _parts(method: Any) -> dict[str, Any]:
    """Return the parts of a method that have options; for a class, its default parts."""
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
