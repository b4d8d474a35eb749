"""Which options of a method do nothing as it is used."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Idle:
    """Options of a part that do nothing.

    Attributes:
        part: The part's name.
        names: Its options that do nothing.
        when: Where they do nothing, such as "with a finite budget".
        instead: Options that hold there, as a sentence names them.
        unless: Options by part that hold there alone: whoever has set one of them too has set options for either use, as
            those of a study with several budgets are.
    """

    part: str
    names: Collection[str]
    when: str
    instead: str
    unless: Mapping[str, Collection[str]] = field(default_factory=dict)
