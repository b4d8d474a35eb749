"""Short ways to make raw columns, and to encode and decode a table of one column."""

from __future__ import annotations

import numpy as np

from syntabula.marginals.domain import EncodedTable
from syntabula.table.coding.codec import Codec
from syntabula.table.raw import PhysicalType, RawColumn, RawTable
from syntabula.table.schema.schema import Schema

DTYPES = {"boolean": bool, "float": float, "text": object, "decimal": object, "other": object}


def raw(kind, values, zone=None, dtype=None):
    """Make a column of one kind; None is missing."""
    missing = np.array([v is None for v in values], dtype=bool)
    array = np.zeros(len(values), dtype=dtype or DTYPES.get(kind, np.int64))
    for i, value in enumerate(values):
        if value is not None:
            array[i] = value
    return RawColumn(array, missing, PhysicalType(kind, kind, timezone=zone))


def table(**columns):
    """Make a table of columns."""
    return RawTable(columns, next(iter(columns.values())).missing.size, None)


def encode_one(column, raw_column, **options):
    """Encode a table of one column `x`; return codes and coercions."""
    encoded, coercions = Codec.plan(Schema({"x": column}), **options).encode(table(x=raw_column))
    return encoded.column("x").tolist(), coercions


def decode_one(column, codes, **options):
    """Decode codes of a table of one column `x`."""
    codec = Codec.plan(Schema({"x": column}), **options)
    encoded = EncodedTable(codec.domain, (np.asarray(codes),))
    return codec.decode(encoded, np.random.default_rng(0))["x"]
