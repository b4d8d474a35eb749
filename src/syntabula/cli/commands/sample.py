"""`syntabula sample`: more rows from a release, at no further privacy cost."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from syntabula.cli import options
from syntabula.cli.console import Console
from syntabula.cli.exits import CommandError, Exit
from syntabula.cli.outputs import check_outputs, check_rows, check_table_file, output

if TYPE_CHECKING:
    from syntabula import Schema


def sample(
    context: typer.Context,
    release: options.ReleaseFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="File for the synthetic table, such as x.csv.")],
    rows: options.Rows = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            help="Draw only rows that satisfy this, such as sex=Female, age=30..40 or age=65.. (numbers, dates and "
            "times only; both ends included), or job= for missing. May be given repeatedly: all columns must agree, "
            "and of several values of one column any may hold.",
            metavar="COLUMN=VALUE",
        ),
    ] = None,
    given: Annotated[
        Path | None,
        typer.Option(
            "--given",
            help="A table of some columns: one row is drawn for each of its rows, which keeps its values.",
            metavar="TABLE",
        ),
    ] = None,
    seed: options.SampleSeed = None,
    force: options.Force = False,
) -> None:
    """Draw a synthetic table from a RELEASE, all of it or what satisfies conditions; this costs no privacy."""
    console: Console = context.obj
    check_rows(rows, out)
    check_table_file(out)
    check_outputs({"--out": out}, inputs=(release, given), force=force)
    if given is not None and (rows is not None or where):
        raise CommandError("--given says each row to be drawn; leave out --rows and --where", Exit.ARGUMENTS)
    from syntabula import load
    from syntabula.table.read import read

    loaded = load(release)
    conditions = read_where(where, loaded.schema) if where else None
    # Read here, so that what cannot be read differs from what cannot be written.
    table = None if given is None else read(given, loaded.schema)
    with output(out, force=force) as temporary:
        drawn = loaded.sample_to(temporary, rows, where=conditions, given=table, seed=seed)
    console.result(f"wrote {drawn} rows to {out}", {"out": str(out), "rows": drawn, "release": str(release)})


def read_where(words: Sequence[str], schema: Schema) -> dict[str, list[Any]]:
    """Return conditions as `Release.sample` takes them.

    The value is all that follows the first = after a column's name, so that it may hold any character. Nothing stands
    for missing. Of numbers, dates and times FIRST..LAST is a range, either end of which may be left out. What is said
    of one column in several words is an alternative.

    Args:
        words: Words of the form COLUMN=VALUE.
        schema: Of the release.

    Raises:
        CommandError: If a word has no =.
        SchemaError: If it begins with no column's name.
    """
    where: dict[str, list[Any]] = {}
    for word in words:
        # A name may hold = itself: the longest that fits is meant.
        name = max((c for c in schema if word.startswith(f"{c}=")), key=len, default=None)
        if name is None:
            if "=" not in word:
                raise CommandError(f"--where {word!r} must be COLUMN=VALUE", Exit.ARGUMENTS)
            name = word.partition("=")[0]
            schema[name]  # says which names are near
        where.setdefault(name, []).append(_condition(word[len(name) + 1 :], schema[name]))
    return where


def _condition(text: str, column: Any) -> Any:
    if not text:
        return None
    if column.kind in ("numeric", "date", "datetime") and ".." in text:
        first, _, last = text.partition("..")
        return (_value(first, column) if first else None, _value(last, column) if last else None)
    return _value(text, column)


def _value(text: str, column: Any) -> Any:
    """Return the value that a text writes; the text itself, to be refused with the others, if it writes none."""
    from syntabula.table.schema.columns import SPELLINGS

    kind = (
        column.label_type
        if column.kind == "categorical"
        else {"numeric": float, "boolean": bool}.get(column.kind)
    )
    if kind in (int, float):
        try:
            # Decimals would read 1_0 as ten.
            number = Decimal(text if "_" not in text else "none")
        except InvalidOperation:
            return text
        return (
            (int(number) if number == number.to_integral_value() else float(number))
            if number.is_finite()
            else text
        )
    if kind is bool:
        meant = [text == true for true, false in (s.split("/") for s in SPELLINGS) if text in (true, false)]
        return meant[0] if meant else text
    return text
