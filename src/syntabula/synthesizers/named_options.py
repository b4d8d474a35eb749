"""How a synthesizer is called: with its own arguments, and the options of its selector and model, all by name."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from syntabula.errors import ArgumentError
from syntabula.synthesizers.grid import named_part
from syntabula.synthesizers.options import method_options, parts_of, with_options

_Made = TypeVar("_Made")
_PARTS = ("selector", "model")


class TakesOptions(type):
    """Type of the classes of synthesizers: `AIM(epsilon=1.0, max_rounds=20)` sets an option of AIM's selector.

    Which options there are follows from a method's selector and model, so that its class cannot list them as
    fields. The parts may be named too, as in `Marginal(selector="adaptive", model="pgm")`.
    """

    def __call__(cls: type[_Made], *unnamed: Any, **given: Any) -> _Made:
        """Make a synthesizer; raises ArgumentError, with near misses, for what is no argument of it."""
        if unnamed:
            raise ArgumentError(
                f"the arguments of {cls.__name__} must be named, for instance {cls.__name__}(epsilon=1.0)"
            )
        for part in _PARTS:
            if isinstance(given.get(part), str):
                given[part] = named_part(part, given[part])
        own = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        options = {name: given.pop(name) for name in [*given] if name not in own}
        if options:
            parts = parts_of(cls) | {part: given[part] for part in _PARTS if part in given}
            _check_known(cls.__name__, options, own, [*method_options(parts).values()])
            given |= with_options(parts, options)
        made: _Made = type.__call__(cls, **given)
        return made

    @property
    def __signature__(cls) -> inspect.Signature:
        """Arguments as help shows them: those of the class itself."""
        signature = inspect.signature(cls.__init__)  # type: ignore[misc]
        return signature.replace(parameters=[*signature.parameters.values()][1:])


def _check_known(
    name: str, given: Iterable[str], own: Sequence[str], options: Sequence[Iterable[str]]
) -> None:
    optional = sorted({option for named in options for option in named})
    for argument in given:
        if argument in optional:
            continue
        near = difflib.get_close_matches(argument, [*own, *optional], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        of_parts = f", and of its parts {', '.join(optional)}" if optional else ""
        raise ArgumentError(
            f"{name} has no argument {argument!r}{hint}; its arguments are {', '.join(own)}{of_parts}"
        )
