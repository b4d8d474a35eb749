"""What Arrow's libraries note in a Parquet file of the types that Parquet lacks: zones of times, and durations.

Parquet stores zoned times as moments, and durations as whole numbers. pyarrow, pandas and polars note the schema of Arrow
beside them, as a message of Arrow in base64. It is read here without these libraries; pyarrow writes it.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from syntabula._extras import require
from syntabula.errors import SchemaError

KEY = "ARROW:schema"
_CONTINUES = b"\xff\xff\xff\xff"
# Numbers of types, and places of fields, in the definition of Arrow's messages (format/Message.fbs and Schema.fbs).
_TIMESTAMP, _DURATION = 10, 18
_HEADER, _FIELDS, _NAME, _KIND, _TYPE, _ZONE = 2, 1, 0, 2, 3, 1


@dataclass(frozen=True)
class Noted:
    """What is noted of some columns.

    Attributes:
        zones: The zone of each zoned time, if this machine knows it.
        durations: Names of durations.
    """

    zones: Mapping[str, str]
    durations: tuple[str, ...]

    @classmethod
    def of(cls, note: bytes | None) -> Noted:
        """Read the note of a file; one that is absent or damaged says nothing."""
        zones: dict[str, str] = {}
        durations: list[str] = []
        try:
            for column in _Message.of(base64.b64decode(note or b"", validate=True)).columns():
                name, kind = column.text(_NAME), column.byte(_KIND)
                if kind == _DURATION:
                    durations.append(name)
                elif kind == _TIMESTAMP and (zone := column.table(_TYPE).text(_ZONE)):
                    zones[name] = zone
        except (struct.error, binascii.Error, UnicodeDecodeError):
            return cls({}, ())
        return cls({name: zone for name, zone in zones.items() if _is_known(zone)}, tuple(durations))


def note_of(empty: str, zones: Mapping[str, str]) -> str:
    """Return the note of a Parquet file with zones of some of its columns.

    Args:
        empty: A file of the same columns and types, without rows.
        zones: Zone of each column that has one.

    Raises:
        MissingExtraError: If pyarrow is not installed.
    """
    arrow, parquet = require("pyarrow", "arrow"), require("pyarrow.parquet", "arrow")
    schema = parquet.read_schema(empty)
    for i, field in enumerate(schema):
        if field.name in zones:
            schema = schema.set(i, field.with_type(arrow.timestamp(field.type.unit, zones[field.name])))
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def _is_known(zone: str) -> bool:
    from syntabula.table.schema.columns import time_zone

    try:
        time_zone(zone)
    except SchemaError:
        return False
    return True


@dataclass(frozen=True)
class _Message:
    """A table of a flat buffer: numbers by their offsets, from `at` on."""

    content: bytes
    at: int

    @classmethod
    def of(cls, content: bytes) -> _Message:
        """Return the message that some bytes hold, after its length and, since Arrow 0.15, a mark before that."""
        begins = 8 if content.startswith(_CONTINUES) else 4
        return cls(content[begins:], 0)._referred(0)

    def columns(self) -> list[_Message]:
        """Return the fields of a schema."""
        fields = self.table(_HEADER)._referred(self.table(_HEADER)._place(_FIELDS))
        (number,) = struct.unpack_from("<I", self.content, fields.at)
        # Each takes four bytes at least, whatever a damaged note says.
        struct.unpack_from(f"{number}I", self.content, fields.at + 4)
        return [fields._referred(4 + 4 * i) for i in range(number)]

    def table(self, field: int) -> _Message:
        """Return the table that a field holds."""
        return self._referred(self._place(field))

    def byte(self, field: int) -> int:
        """Return a number of one byte, 0 by default."""
        place = self._place(field)
        return struct.unpack_from("<B", self.content, self.at + place)[0] if place else 0

    def text(self, field: int) -> str:
        """Return a text, empty by default."""
        if not (place := self._place(field)):
            return ""
        text = self._referred(place)
        (length,) = struct.unpack_from("<I", self.content, text.at)
        return self.content[text.at + 4 : text.at + 4 + length].decode()

    def _place(self, field: int) -> int:
        """Return where a field is, counted from this table; 0 if it is left out."""
        (back,) = struct.unpack_from("<i", self.content, self.at)
        fields = self.at - back
        (size,) = struct.unpack_from("<H", self.content, fields)
        place = 4 + 2 * field
        return struct.unpack_from("<H", self.content, fields + place)[0] if place < size else 0

    def _referred(self, place: int) -> _Message:
        (further,) = struct.unpack_from("<I", self.content, self.at + place)
        return _Message(self.content, self.at + place + further)
