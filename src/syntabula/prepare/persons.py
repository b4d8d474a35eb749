"""Reads whom each row is about, and drops rows beyond the most that a schema keeps of one unit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from syntabula.errors import DataError
from syntabula.privacy.units import Units
from syntabula.table.frames.retyping import distinct_values, text_of
from syntabula.table.raw import RawColumn, RawTable

if TYPE_CHECKING:
    from syntabula.table.files.delimited import DelimitedFile
    from syntabula.table.schema.schema import Schema


def limited(
    source: RawTable | DelimitedFile, schema: Schema | None
) -> tuple[RawTable | DelimitedFile, Units | None]:
    """Keep at most `rows_per_unit` rows of each unit.

    Args:
        source: The table; for a text file whose types have to be found, its texts, of which rows are dropped in place.
        schema: The declared columns.

    Returns:
        The table and the units of its rows; the same table and None where the schema names no unit.

    Raises:
        DataError: If a row does not say whom it is about. That depends on the data, and the guarantee does not cover it.
    """
    if schema is None or schema.unit is None or schema.rows_per_unit is None:
        return source, None
    if not isinstance(source, RawTable):
        units = units_of(source.texts(schema.unit), schema)
        rows = units.kept(schema.rows_per_unit)
        source.keep(rows)
        return source, units.take(rows)
    units = units_of(source.columns[schema.unit], schema)
    rows = units.kept(schema.rows_per_unit)
    columns = {name: column.take(rows) for name, column in source.columns.items()}
    return replace(source, columns=columns, n_rows=rows.size), units.take(rows)


def units_of(raw: RawColumn, schema: Schema) -> Units:
    """Return the units of a table's rows from the column that names them; keys are equal if their texts in a file are.

    One cell may make a library store all keys in another type, which changes no key's text.
    """
    assert schema.unit is not None
    values, places = distinct_values(raw)
    texts = [*map(text_of(schema[schema.unit]), values)]
    if raw.missing.any() or any(text is None or not text.strip() for text in texts):
        raise DataError(
            f"column {schema.unit!r} names the unit, but has cells that are empty or cannot be read as a key; fill "
            "them, or leave their rows out. This failure depends on the data and is not covered by the privacy guarantee"
        )
    keys = {text: number for number, text in enumerate(dict.fromkeys(text for text in texts if text))}
    numbers = np.fromiter((keys[text] for text in texts if text), np.intp, count=len(texts))
    return Units.of(numbers[places], [*keys])
