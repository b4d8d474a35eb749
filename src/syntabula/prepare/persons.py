"""Reads whom each row is about, and drops rows beyond the most that a schema keeps of one unit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from syntabula.privacy.units import LateUnits, Units
from syntabula.table.parts.raw_parts import RawParts
from syntabula.table.raw import RawColumn, RawTable
from syntabula.table.unit_rows import unit_keys

if TYPE_CHECKING:
    from syntabula.table.files.delimited import DelimitedFile
    from syntabula.table.schema.schema import Schema


def limited(
    source: RawTable | DelimitedFile | RawParts, schema: Schema | None, secret: bytes, *, limit_mb: float
) -> tuple[RawTable | DelimitedFile | RawParts, Units | LateUnits | None]:
    """Keep at most `rows_per_unit` rows of each unit.

    Args:
        source: The table; for a text file whose types have to be found, its texts, of which rows are dropped in place.
        schema: The declared columns.
        secret: The secret of this run, by which rows are chosen.
        limit_mb: Largest memory for what is held of a table in parts.

    Returns:
        The table and the units of its rows; the same table and None where the schema names no unit.

    Raises:
        DataError: If a row does not say whom it is about. That depends on the data, and the guarantee does not cover it.
    """
    if schema is None or schema.unit is None or schema.rows_per_unit is None:
        return source, None
    if isinstance(source, RawParts):
        from syntabula.prepare.persons_in_parts import limited_parts

        return limited_parts(source, schema, secret, limit_mb)
    if not isinstance(source, RawTable):
        units = units_of(source.texts(schema.unit), schema, secret)
        rows = units.kept(schema.rows_per_unit)
        source.keep(rows)
        return source, units.take(rows)
    units = units_of(source.columns[schema.unit], schema, secret)
    rows = units.kept(schema.rows_per_unit)
    columns = {name: column.take(rows) for name, column in source.columns.items()}
    return replace(source, columns=columns, n_rows=rows.size), units.take(rows)


def units_of(raw: RawColumn, schema: Schema, secret: bytes) -> Units:
    """Return the units of a table's rows from the column that names them."""
    return Units.of(*unit_keys(raw, schema), secret)
