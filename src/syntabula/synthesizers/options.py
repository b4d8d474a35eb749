"""Options of a method's parts by name, as a command gives them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from typing import Any

from syntabula._arguments import instance_of
from syntabula._docstrings import attribute_notes
from syntabula.errors import ArgumentError

Kind = type[Any] | Mapping[str, Any]
"""A synthesizer class, or a selector and a model by these two names, as `grid_parts` returns them."""


def method_options(kind: Kind) -> dict[str, dict[str, Any]]:
    """Return the options of a method's selector and model, with their defaults.

    Args:
        kind: A synthesizer class, or the parts of one.

    Returns:
        By part ("selector", "model"), the default of each option by its name.
    """
    return {
        name: {f.name: getattr(part, f.name) for f in fields(part) if _is_option(part, f.name)}
        for name, part in parts_of(kind).items()
    }


def option_notes(kind: Kind) -> dict[str, str]:
    """Return what the options of a method's selector and model mean, by name, as their classes document them.

    Args:
        kind: A synthesizer class, or the parts of one.
    """
    parts = parts_of(kind)
    notes: dict[str, str] = {}
    for part_name, options in method_options(kind).items():
        documented = attribute_notes(type(parts[part_name]))
        notes |= {name: documented[name] for name in options if name in documented}
    return notes


def with_options(kind: Kind, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the selector and model of a method with some options changed, as its keyword arguments.

    Args:
        kind: A synthesizer class, or the parts of one.
        options: Values by the name of an option of the selector or of the model.

    Raises:
        ArgumentError: If no part has an option of that name, or a value makes no sense to it.
    """
    instance_of(Mapping, "a dictionary of options by their names")("options", options)
    parts = parts_of(kind)
    known = method_options(kind)
    for name in options:
        if not any(name in names for names in known.values()):
            every = sorted({n for names in known.values() for n in names})
            near = difflib.get_close_matches(name, every, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            listed = ", ".join(every) or "none"
            raise ArgumentError(f"this method has no option {name!r}{hint}; its options are: {listed}")
    changed = {}
    for part_name, part in parts.items():
        mine = {n: v for n, v in options.items() if n in known[part_name]}
        if mine:
            try:
                changed[part_name] = replace(part, **mine)
            except TypeError:
                names = ", ".join(map(repr, mine))
                raise ArgumentError(f"the value of option {names} is of the wrong type") from None
    return changed


def _is_option(part: Any, name: str) -> bool:
    # A selector or model within a part is made in Python; no word can say it.
    value = getattr(part, name)
    return not name.startswith("_") and not hasattr(value, "select") and not hasattr(value, "fit")


def parts_of(kind: Kind) -> dict[str, Any]:
    """Make the default selector and model of a method, those that have options."""
    if isinstance(kind, Mapping):
        made = dict(kind)
    elif is_dataclass(kind):
        made = {f.name: _default(f) for f in fields(kind) if f.name in ("selector", "model")}
    else:
        return {}
    return {name: part for name, part in made.items() if is_dataclass(part)}


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return None if field.default is MISSING else field.default
