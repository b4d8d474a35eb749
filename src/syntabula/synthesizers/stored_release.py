"""What a file holds of a release, and its parts as they are read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from syntabula._arguments import path as file_path
from syntabula.errors import ReleaseFileError, ResourceError, SchemaError, SyntabulaError
from syntabula.models.base import Model, model_array_bytes, model_from_state, model_state
from syntabula.privacy.statement import PrivacyStatement
from syntabula.synthesizers.release_file import LATER_FORMAT_VERSION, read_release, write_release
from syntabula.table.coding.codec import Codec
from syntabula.table.raw import Origin
from syntabula.table.rules.at_work import row_rules
from syntabula.table.schema.columns import Date, Datetime, Identifier, Ordered
from syntabula.table.schema.schema import Schema

if TYPE_CHECKING:
    from syntabula.table.rules.distances import Distance
    from syntabula.table.rules.row_rules import RowRules

_RULED = "ruled_schema"
"""Entry for the schema of whole rows, if it has rules."""
_DISTANCES = "distances"
"""Entry for what columns were learned as distances from. What is read off the text of a rule may change from one version
of this library to the next; a model does not."""


class StoredRelease(NamedTuple):
    """The parts of a release; see `Release`."""

    method: str
    codec: Codec
    model: Model
    privacy: PrivacyStatement
    origin: Origin
    rules: RowRules | None

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the parts to one file, whole or not at all; raises as `Release.save`."""
        file = file_path("path", path)
        facts, arrays = model_state(self.model)
        content = {
            "method": self.method,
            "codec": self.codec.to_json(),
            "origin": self.origin.to_json(),
            "privacy": self.privacy.to_json(),
            "model": facts,
        }
        if self.rules is not None:
            content[_RULED] = self.rules.schema.to_json()
            distances = self.rules.compiled.distances
            content[_DISTANCES] = {name: distance.to_json() for name, distance in distances.items()}
        columns = self.codec.schema.columns.values()
        texts = any(c.missing_as or (isinstance(c, Ordered) and c.beside) for c in columns)
        unique = any(isinstance(c, Date | Datetime) and c.unique for c in columns)
        # Of a character that stands for itself, this is too careful.
        mixed = any(isinstance(c, Identifier) and "|" in (c.pattern or "") for c in columns)
        later = texts or unique or mixed or self.rules is not None or bool(self.codec.rhythms)
        write_release(file, content, arrays, version=LATER_FORMAT_VERSION if later else None)


def read_parts(path: str | os.PathLike[str]) -> StoredRelease:
    """Read the parts of a release from its file; raises as `load`."""
    content, arrays = read_release(file_path("path", path), lambda facts: model_array_bytes(facts["model"]))
    try:
        model = model_from_state(content["model"], arrays)
        origin = Origin.from_json(content["origin"])
        codec = Codec.from_json(content["codec"], learned=model.domain.columns)
        return StoredRelease(
            method=str(content["method"]),
            codec=codec,
            model=model,
            privacy=_stated(content["privacy"], origin),
            origin=origin,
            rules=_rules(content, codec),
        )
    except (ReleaseFileError, ResourceError):
        raise
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, IndexError, SyntabulaError):
        raise ReleaseFileError(f"{str(path)!r} is a release file with missing or malformed content") from None


def _stated(facts: Mapping[str, Any], origin: Origin) -> PrivacyStatement:
    """Return a release's statement; earlier versions did not state that all columns keep their stored types."""
    statement = PrivacyStatement.from_json(facts)
    if "stored_types" in facts or origin.is_text:
        return statement
    return replace(statement, stored_types=tuple(origin.physical))


def _rules(content: Mapping[str, Any], codec: Codec) -> RowRules | None:
    """Return the rules of a release's rows; raises ReleaseFileError or SchemaError if they do not fit its codec."""
    if _RULED not in content:
        return None
    schema = _ruled_schema(content[_RULED])
    read = (row_rules(schema, distances) for distances in _readings(content, schema))
    rules = next(
        (r for r in read if r and dict(r.learned_schema.columns) == dict(codec.schema.columns)), None
    )
    if rules is None:
        raise ReleaseFileError(
            "the rules of a release do not fit what it learned; load it with the version of syntabula that saved it, or "
            "get the file again from where it was made"
        )
    return rules


def _ruled_schema(document: Mapping[str, Any]) -> Schema:
    """Return the schema of whole rows; raises SchemaError. Earlier versions let rules name categories of no column."""
    try:
        return Schema.from_json(document)
    except SchemaError:
        from syntabula.table.rules.rules import EarlierRules

        without = Schema.from_json({name: part for name, part in document.items() if name != "rules"})
        return replace(without, rules=EarlierRules.from_json(document["rules"]))


def _readings(content: Mapping[str, Any], schema: Schema) -> Iterator[dict[str, Distance]]:
    """Yield what columns may have been learned as distances from.

    A file that does not say is of a version that learned orders one by one. Of orders that cross, this one would read
    other distances with the same bounds, and draw rows that the release never learned. Nor did it make distances shorter.
    """
    if schema.rules is None:
        return
    from syntabula.table.rules.distances import (
        Distance,
        check_distances,
        distances_of,
        earlier_distances,
    )
    from syntabula.table.rules.stated_windows import StatedWindows

    if _DISTANCES in content:
        found = {name: Distance.from_json(facts) for name, facts in content[_DISTANCES].items()}
        check_distances(found, schema.rules, schema.columns)
        yield found
        return
    compiled = schema.compiled_rules
    assert compiled is not None
    required = {c.rule: c.expression for c in compiled.conditions if c.rule in schema.rules.require}
    windows = StatedWindows.of(schema.columns, required, compiled.derived)
    yield earlier_distances(schema.rules, schema.columns, windows)
    yield distances_of(schema.rules, schema.columns, windows)
