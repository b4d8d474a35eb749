"""What docstrings say of attributes, for those who ask a command."""

from __future__ import annotations

import inspect
import re


def attribute_notes(kind: type) -> dict[str, str]:
    """Return what a class and its bases document of each attribute, by name; nothing if docstrings were stripped."""
    notes: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        section = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")[2].partition("\n\n")[0]
        entries = re.split(r"^    (\w+): ", section, flags=re.MULTILINE)
        pairs = zip(entries[1::2], entries[2::2], strict=True)
        notes |= {name: " ".join(text.split()) for name, text in pairs}
    return notes


def description(kind: type) -> str:
    """Return what a class's docstring says before its first section, in one paragraph."""
    return " ".join((kind.__doc__ or "").partition("Attributes:\n")[0].split())
