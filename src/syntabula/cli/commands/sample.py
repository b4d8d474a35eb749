"""`syntabula sample`: more rows from a release, at no further privacy cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from syntabula.cli import options
from syntabula.cli.commands.synth import check_rows, check_table_file, write_rows
from syntabula.cli.console import Console
from syntabula.cli.outputs import check_outputs


def sample(
    context: typer.Context,
    release: options.ReleaseFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="File for the synthetic table, such as x.csv.")],
    rows: options.Rows = None,
    seed: options.SampleSeed = None,
    force: options.Force = False,
) -> None:
    """Draw a synthetic table from a RELEASE; this costs no privacy."""
    console: Console = context.obj
    check_rows(rows)
    check_table_file(out)
    check_outputs({"--out": out}, inputs=(release,), force=force)
    from syntabula import load

    loaded = load(release)
    drawn = write_rows(loaded, out, rows, seed)
    console.result(f"wrote {drawn} rows to {out}", {"out": str(out), "rows": drawn, "release": str(release)})
