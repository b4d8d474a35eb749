"""`syntabula sample`: draws more rows from a release, at no further privacy cost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from syntabula.cli import options
from syntabula.cli.console import CommandError, Console, Exit
from syntabula.cli.outputs import check_outputs, check_parts, check_rows, check_table_file, output, written

if TYPE_CHECKING:
    from syntabula import Schema

_ORDERED = ("numeric", "date", "datetime", "time")


def sample(
    context: typer.Context,
    release: options.ReleaseFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="File for the synthetic table, such as x.csv.")],
    rows: options.Rows = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            help="Draw only rows that satisfy this condition, such as sex=Female, or job= for missing. Numbers, dates "
            "and times may be compared, as in 'age>65', or lie in a range with both ends, as in age=30..40 or age=65.. "
            "Repeatable: values of the same column are alternatives, and the conditions on all columns must hold.",
            metavar="COLUMN=VALUE",
        ),
    ] = None,
    given: Annotated[
        Path | None,
        typer.Option(
            "--given",
            help="A table with some of the columns: draw one row for each of its rows, with these values kept.",
            metavar="TABLE",
        ),
    ] = None,
    parts: Annotated[
        int | None,
        typer.Option(
            "--parts",
            help="Write so many files to --out, a folder such as rows.parquet, whose suffix gives their format.",
            min=1,
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            "--part",
            help="Write only one of the parts: 7/200 is the seventh of 200. With the same --seed it is the same file on "
            "any machine.",
            metavar="I/N",
        ),
    ] = None,
    seed: options.SampleSeed = None,
    force: options.Force = False,
) -> None:
    """Draw a synthetic table from a RELEASE, with or without conditions; this costs no privacy."""
    console: Console = context.obj
    number, of = _part(part, parts)
    check_rows(rows, out)
    if of is None:
        check_table_file(out, rows=rows)
        check_outputs({"--out": out}, inputs=(release, given), force=force)
    else:
        check_parts(out, number, of, force=force)
    if given is not None and rows is not None:
        raise CommandError("--given already defines the rows to draw; leave out --rows", Exit.ARGUMENTS)
    from syntabula import load
    from syntabula.table.read import read

    loaded = load(release)
    conditions = read_where(where, loaded.schema) if where else None
    if given is not None:
        # Read here too, so that a reading error is not reported as a writing error; the path keeps the cells' spelling.
        read(given, loaded.schema)
    if of is None:
        with output(out, force=force) as temporary:
            drawn = loaded.sample_to(temporary, rows, where=conditions, given=given, seed=seed)
    else:
        with written():
            drawn = loaded.sample_to(
                out, rows, where=conditions, given=given, seed=seed, parts=of, part=number
            )
    console.wrote(f"wrote {drawn} rows to {out}", {"out": str(out), "rows": drawn, "release": str(release)})


def _part(part: str | None, parts: int | None) -> tuple[int | None, int | None]:
    """Return the number of the part to write, None for all, and the number of parts; None for a single file."""
    if part is None:
        return None, parts
    first, _, last = part.partition("/")
    if not all(word.isascii() and word.isdigit() and len(word) < 10 for word in (first, last)):
        raise CommandError(f"--part must be two numbers, such as 7/200; got {part!r}", Exit.ARGUMENTS)
    number, of = int(first), int(last)
    if not 1 <= number <= of:
        raise CommandError(f"--part must be from 1/{of} to {of}/{of}; got {part!r}", Exit.ARGUMENTS)
    if parts is not None and parts != of:
        raise CommandError(
            f"--part {part} is one of {of} parts and --parts says {parts}; leave out --parts", Exit.ARGUMENTS
        )
    return number, of


def read_where(words: Sequence[str], schema: Schema) -> dict[str, list[Any]]:
    """Return conditions as `Release.sample` takes them.

    The value is everything after the first = that follows a column's name, so it may contain any character. An empty
    value, or the text by which files write a missing cell, means missing. For numbers, dates and times FIRST..LAST is a
    range, and either end may be left out; and COLUMN>VALUE, with any of > >= < <=, is a comparison. Several conditions on
    one column are alternatives, but all of its comparisons must hold.

    Args:
        words: Words of the form COLUMN=VALUE.
        schema: The release's schema.

    Raises:
        CommandError: If a word has no `=`, or compares a column without an order.
        SchemaError: If a word does not begin with a column's name.
    """
    where: dict[str, list[Any]] = {}
    comparisons: dict[str, list[str]] = {}
    for word in words:
        # A name may itself contain =, so the longest match counts.
        name = max((c for c in schema if word.startswith(f"{c}=")), key=len, default=None)
        if name is None and (compared := _compared(word, schema)) is not None:
            name, comparison = compared
            comparisons.setdefault(name, []).append(comparison)
            continue
        if name is None:
            begin = re.split("[<>=]", word, maxsplit=1)
            if len(begin) == 1:
                raise CommandError(
                    f"--where {word!r} must be COLUMN=VALUE, or a comparison such as COLUMN>5", Exit.ARGUMENTS
                )
            name = begin[0].strip()
            schema[name]  # says which names are near
            raise CommandError(
                f"--where {word!r} must be {name}=VALUE, without spaces around the =", Exit.ARGUMENTS
            )
        where.setdefault(name, []).append(_condition(word[len(name) + 1 :], schema[name]))
    for name, parts in comparisons.items():
        where.setdefault(name, []).append(" and ".join(parts))
    return where


def _compared(word: str, schema: Schema) -> tuple[str, str] | None:
    """Return the column and the comparison of a word such as tenure>5; None if it is no comparison of a column."""
    names = [c for c in schema if word.startswith(c) and word[len(c) :].lstrip()[:1] in ("<", ">")]
    if not names:
        return None
    name = max(names, key=len)
    comparison = word[len(name) :].strip()
    column = schema[name]
    if column.kind not in _ORDERED:
        raise CommandError(
            f"--where {word!r} compares column {name!r}, which is {column.kind} and has no order; ask for its values, as "
            f"in {name}=VALUE",
            Exit.ARGUMENTS,
        )
    return name, comparison


def _condition(text: str, column: Any) -> Any:
    if not text or text == column.missing_as:
        return None
    if column.kind in _ORDERED and ".." in text:
        first, _, last = text.partition("..")
        return (_value(first, column) if first else None, _value(last, column) if last else None)
    return _value(text, column)


def _value(text: str, column: Any) -> Any:
    """Return the value of a text, or the text itself if it has none, to be refused with the others."""
    from syntabula.table.schema.columns import SPELLINGS
    from syntabula.table.schema.text_formats import read_number

    kind = (
        column.label_type
        if column.kind == "categorical"
        else {"numeric": float, "boolean": bool}.get(column.kind)
    )
    if kind in (int, float):
        number = read_number(text, column.format if column.kind == "numeric" else None)
        return text if number is None else number
    if kind is bool:
        meant = [text == true for true, false in (s.split("/") for s in SPELLINGS) if text in (true, false)]
        return meant[0] if meant else text
    return text
