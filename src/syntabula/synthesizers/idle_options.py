"""Warnings of options that were set and do nothing, such as those of training without noise where there is a budget."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from typing import Any

from syntabula.errors import TrainingWarning, warn_caller
from syntabula.synthesizers.idle import Idle
from syntabula.synthesizers.settings import Settings, parts_of


def tell_of_idle(method: Settings) -> None:
    """Warn of options that were set and do nothing, before anything is read or paid."""
    for idle in method.idle:
        if names := _set_in_vain(method, idle, method.idle):
            told = " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
            do, them = ("does", "it") if len(names) == 1 else ("do", "them")
            warn_caller(
                TrainingWarning(
                    f"{told} {do} nothing {idle.when}, where {idle.instead} say how {method.name} learns: set these, "
                    f"or leave {them} out"
                )
            )


def _set_in_vain(method: Settings, idle: Idle, every: Collection[Idle]) -> list[str]:
    """Return the options that were set to other values than usual, and hold in no other part of the method."""
    if any(_is_set_in(method, part, name) for part, names in idle.unless.items() for name in names):
        return []
    own, others = _values(method, idle.part), [part for part in method.parts if part != idle.part]
    asleep = {(one.part, name) for one in every for name in one.names}

    def holds_elsewhere(name: str) -> bool:
        return any(
            name in (values := _values(method, part))
            and (part, name) not in asleep
            and (values[name] == own[name] or _is_set(method, part, name, values[name]))
            for part in others
        )

    return [
        name
        for name in idle.names
        if name in own and _is_set(method, idle.part, name, own[name]) and not holds_elsewhere(name)
    ]


def _is_set_in(method: Settings, part: str, name: str) -> bool:
    values = _values(method, part)
    return name in values and _is_set(method, part, name, values[name])


def _is_set(method: Settings, part: str, name: str, value: object) -> bool:
    """Return whether an option has another value than in the method's own part, and than in any part of its class."""
    usual = _values(type(method), part)
    of_class = {f.name: f.default for f in fields(getattr(method, part))}
    return value != usual.get(name, MISSING) and value != of_class[name]


def _values(method: Any, part: str) -> Mapping[str, Any]:
    made = parts_of(method).get(part)
    return {} if made is None else {f.name: getattr(made, f.name) for f in fields(made)}
