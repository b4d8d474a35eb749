"""Read the descriptions of classes and attributes from docstrings, for the command line."""

from __future__ import annotations

import inspect
import re


def attribute_notes(kind: type) -> dict[str, str]:
    """Return the docstring of each attribute of a class and its bases, by name; empty if docstrings were stripped."""
    notes: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        section = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")[2].partition("\n\n")[0]
        entries = re.split(r"^    (\w+): ", section, flags=re.MULTILINE)
        pairs = zip(entries[1::2], entries[2::2], strict=True)
        notes |= {name: " ".join(text.split()) for name, text in pairs}
    return notes


def description(kind: type) -> str:
    """Return the text of a class's docstring before its first section, as one paragraph."""
    return " ".join((kind.__doc__ or "").partition("Attributes:\n")[0].split())
