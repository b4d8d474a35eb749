"""The type that a declared column has in a synthetic table: it follows from the declaration and the kind of table.

How the original stored the column has no part in it, as one cell may decide that: a blank makes floats of the whole
numbers of a pandas column, and objects of its flags.
"""

from __future__ import annotations

from dataclasses import replace

from syntabula.table.files.declared_cells import declared_type
from syntabula.table.raw import Container, PhysicalType
from syntabula.table.schema.columns import Column


def output_type(column: Column, container: Container) -> PhysicalType:
    """Return the type of a declared column in a data frame or file.

    Whole numbers have 64 bits. In pandas they are int64, flags are bool, and both are of the nullable types Int64 and
    boolean where cells may be missing; texts are what pandas makes of texts, and days are points in time at
    midnight, as pandas has no type for days. Elsewhere each kind has a type of its own that knows missing cells.

    Args:
        column: The declaration.
        container: Library or file format.
    """
    stored, pandas = declared_type(column), container == "pandas"
    match stored.kind:
        case "integer":
            name = {"BIGINT": "int64", "UBIGINT": "uint64"}[stored.name]
            if container == "polars" or (pandas and column.nullable):
                name = {"int64": "Int64", "uint64": "UInt64"}[name]
            return replace(stored, name=name)
        case "boolean" if container not in ("csv", "tsv"):
            # How text spells flags is of no account elsewhere.
            return replace(stored, name="boolean" if pandas and column.nullable else "bool")
        case "date" if pandas:
            return PhysicalType("datetime", "datetime64[us]")
    return stored
