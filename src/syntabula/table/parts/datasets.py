"""Datasets of pyarrow: many files as one table, whose types pyarrow takes from the first file unless some are given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from syntabula._extras import require
from syntabula.errors import DataError
from syntabula.table.parts.number_types import common_number
from syntabula.table.parts.raw_parts import ROWS_AT_ONCE

_MOST_NAMED = 3


def united(dataset: Any) -> Any:
    """Return a dataset in which a column has a type that holds what all files store.

    A file without any value of a column may store it as null, and one without a missing value as integers what others
    store as floats, and pyarrow takes the types of the first file. A type that the dataset was given is kept,
    if it is not that of the first file.

    Raises:
        DataError: If a file lacks a column, which pyarrow would fill with missing cells, or other files store a column
            that is null in the first as types that have none in common.
    """
    arrow = require("pyarrow", "arrow")
    _check_names(dataset)
    schema, files = dataset.schema, [stored for _, stored in _files(dataset)]
    for place, field in enumerate(schema):
        stored = [found.field(field.name).type for found in files if field.name in found.names]
        if not stored or (field.type != stored[0] and not arrow.types.is_null(field.type)):
            continue
        common = common_number(stored)
        if common is None and arrow.types.is_null(field.type):
            try:
                one = arrow.unify_schemas(
                    [arrow.schema([(field.name, kind)]) for kind in stored], promote_options="permissive"
                )
            except (arrow.ArrowInvalid, arrow.ArrowTypeError):
                raise DataError(_different(dataset, [field.name])) from None
            common = one.field(0).type
        if common is not None:
            schema = schema.set(place, field.with_type(common))
    widened = any(
        not (new.type.equals(old.type) or arrow.types.is_null(old.type))
        for new, old in zip(schema, dataset.schema, strict=True)
    )
    if widened:
        return _of_schema(dataset, schema)
    return dataset if schema.equals(dataset.schema) else dataset.replace_schema(schema)


def _of_schema(dataset: Any, schema: Any) -> Any:
    """Return a dataset of other types, which `replace_schema` refuses.

    One of several datasets, or with a filter, is returned as it is.
    """
    fragments = _fragments(dataset)
    if fragments is None or type(dataset).__name__ != "FileSystemDataset":
        return dataset
    return type(dataset)(
        fragments,
        schema,
        dataset.format,
        filesystem=dataset.filesystem,
        root_partition=dataset.partition_expression,
    )


def batches_of(dataset: Any, names: list[str] | None) -> Iterable[Any]:
    """Yield the records batch by batch, after none of them.

    Raises:
        DataError: If a column of a file cannot be read as the type that the dataset has for it.
    """
    arrow = require("pyarrow", "arrow")
    yield dataset.schema.empty_table()
    try:
        yield from _batches(dataset, names)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, arrow.ArrowNotImplementedError):
        read = dataset.schema.names if names is None else names
        others = [
            name
            for name in read
            if any(
                name in s.names and s.field(name).type != dataset.schema.field(name).type
                for _, s in _files(dataset)
            )
        ]
        if not others:
            raise
        # The message of the library may show a cell.
        raise DataError(_different(dataset, others)) from None


def _batches(dataset: Any, names: list[str] | None) -> Iterator[Any]:
    """Yield the records; integers that the dataset has as floats are rounded, as in folders.

    Pyarrow refuses those above 2^53, so that a single cell would decide whether a table is learned.
    """
    arrow = require("pyarrow", "arrow")
    reading = {"columns": names, "batch_size": ROWS_AT_ONCE, "batch_readahead": 1, "use_threads": False}
    fragments = _fragments(dataset)
    if fragments is None:
        yield from dataset.to_batches(**reading)
        return
    for fragment in fragments:
        schema, stored = dataset.schema, fragment.physical_schema
        for place, field in enumerate(schema):
            found = stored.field(field.name).type if field.name in stored.names else None
            if found is not None and arrow.types.is_floating(field.type) and arrow.types.is_integer(found):
                schema = schema.set(place, field.with_type(found))
        if schema.equals(dataset.schema):
            yield from fragment.to_batches(schema=schema, **reading)
            continue
        for batch in fragment.to_batches(schema=schema, **reading):
            wanted = arrow.schema([dataset.schema.field(name) for name in batch.schema.names])
            yield arrow.Table.from_batches([batch]).cast(wanted, safe=False)


def _check_names(dataset: Any) -> None:
    partitioning = getattr(dataset, "partitioning", None)
    keys = set() if partitioning is None else set(partitioning.schema.names)
    for place, stored in _files(dataset):
        if lacking := [n for n in dataset.schema.names if n not in stored.names and n not in keys]:
            raise DataError(
                f"the file {place!r} of the dataset has no column {', '.join(map(repr, lacking))}; add the column, or "
                "leave the file out"
            )


def _files(dataset: Any) -> Iterator[tuple[str, Any]]:
    """Yield the path of each file and its own schema; nothing for tables in memory, which have that of the dataset."""
    fragments = _fragments(dataset)
    if fragments is None:
        for place in getattr(dataset, "files", ()):
            yield place, dataset.format.inspect(place, filesystem=dataset.filesystem)
    for fragment in fragments or ():
        if (place := getattr(fragment, "path", None)) is not None:
            yield place, fragment.physical_schema


def _fragments(dataset: Any) -> list[Any] | None:
    """Return the files of a dataset as pyarrow holds them; None if it has a filter, with which it does not give them."""
    try:
        return [*dataset.get_fragments()]
    except ValueError:
        return None


def _different(dataset: Any, names: list[str]) -> str:
    """Return the message that files store columns as different types, with the first file of each type."""
    told = []
    for name in names[:_MOST_NAMED]:
        types: dict[str, str] = {}
        for place, stored in _files(dataset):
            if name in stored.names:
                types.setdefault(str(stored.field(name).type), place)
        listed = " and ".join(f"{kind} in {place!r}" for kind, place in types.items())
        told.append(f"column {name!r} is stored as {listed}")
    more = f" and {len(names) - _MOST_NAMED} more columns differ" if len(names) > _MOST_NAMED else ""
    return (
        f"the files of the dataset differ: {'; '.join(told)}{more}; store all of them alike, or give the dataset a "
        "schema whose types can hold all of their cells"
    )
