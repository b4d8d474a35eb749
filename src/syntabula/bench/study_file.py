"""Studies as YAML texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from syntabula._arguments import near
from syntabula.bench.candidate import fields_of
from syntabula.bench.study import Study
from syntabula.bench.study_fields import Figure
from syntabula.errors import ArgumentError, SchemaError
from syntabula.table.schema.plain_yaml import read_yaml

_FILE = (".yaml", ".yml")

_NOT_IN_FILES = ("reported",)


def study_of(text: str, *, default_name: str) -> Study:
    """Return the study of a YAML text, whose fields are those of `Study`.

    Args:
        text: The text.
        default_name: Its name, if the text has none.

    Raises:
        ArgumentError: If a field is unknown (suggests similar names), missing or wrong.
        SchemaError: If the text is not YAML.
    """
    read: Any = read_yaml(text)
    if not isinstance(read, Mapping):
        raise ArgumentError(
            "a study file must have named fields, such as `datasets: [bank]` and `methods: [mst]`"
        )
    known = tuple(f.name for f in fields(Study) if f.name not in _NOT_IN_FILES)
    for name in read:
        if name not in known:
            raise ArgumentError(
                f"a study has no field {name!r}{near(name, known)}; fields are {', '.join(known)}"
            )
    given = {"name": default_name, **read}
    needed = [f.name for f in fields(Study) if f.default is MISSING and f.default_factory is MISSING]
    if missing := [name for name in needed if name not in given]:
        raise ArgumentError(f"the study {given['name']!r} must have {' and '.join(map(repr, missing))}")
    if "figure" in given:
        drawn = fields_of(given["figure"], "the figure", tuple(f.name for f in fields(Figure)))
        given["figure"] = Figure(**drawn)
    return Study(**given)


def read_study(path: str | Path) -> Study:
    """Read a study from a YAML file; its fields are those of `Study`.

    Raises:
        ArgumentError: If a field is unknown (suggests similar names), missing or wrong.
        OSError: If the file cannot be read.
    """
    place = Path(path)
    if place.suffix.lower() not in _FILE:
        raise ArgumentError(f"the study file {str(path)!r} must end in .yaml")
    try:
        return study_of(place.read_text(encoding="utf-8"), default_name=place.stem)
    except (SchemaError, UnicodeDecodeError) as error:
        problem = str(error) if isinstance(error, SchemaError) else "is not a text file in UTF-8"
        raise ArgumentError(f"the study file {str(path)!r}: {problem}") from None
