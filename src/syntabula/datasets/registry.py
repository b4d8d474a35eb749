"""The list of named tables; their facts are in registry.json, or in `simulated` for simulated ones."""

from __future__ import annotations

import functools
from importlib import resources

import msgspec

from syntabula._arguments import near, shown
from syntabula.datasets.info import DatasetInfo
from syntabula.datasets.simulated import simulated_tables
from syntabula.errors import DatasetError


def names() -> list[str]:
    """Return the names of all tables, sorted; `describe` says which of them can be loaded."""
    return sorted(registry())


def describe(name: str) -> DatasetInfo:
    """Return the facts about a table without loading it.

    Args:
        name: Name of the table, as in `names`.

    Returns:
        Its facts.

    Raises:
        DatasetError: If there is no such table; the message suggests similar names.
    """
    try:
        return registry()[name]
    except (KeyError, TypeError):
        raise DatasetError(unknown(name)) from None


def unknown(name: object) -> str:
    """Return the message that there is no table of this name, with similar names."""
    hint = near(str(name).lower().replace("-", "_"), registry(), 3)
    return f"there is no dataset {shown(name)}{hint}; syntabula.datasets.names() lists all"


@functools.cache
def registry() -> dict[str, DatasetInfo]:
    """Return all tables by name: those of registry.json and the simulated ones."""
    text = resources.files("syntabula.datasets").joinpath("registry.json").read_bytes()
    tables = msgspec.json.decode(text, type=list[DatasetInfo])
    return {info.name: info for info in [*tables, *simulated_tables()]}
