"""`syntabula sample`: more rows from a release, at no further privacy cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from syntabula.cli import options
from syntabula.cli.commands.synth import check_rows, check_table_file
from syntabula.cli.console import Console
from syntabula.cli.exits import CommandError, Exit
from syntabula.cli.outputs import check_outputs, output
from syntabula.cli.where import read_where


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
