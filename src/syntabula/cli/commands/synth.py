"""`syntabula synth`: a table in, a synthetic table and its privacy statement out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from syntabula.cli import options
from syntabula.cli.console import Console
from syntabula.cli.exits import CommandError, Exit
from syntabula.cli.outputs import Keeper, check_outputs, write_text
from syntabula.cli.request import Request, takes_request
from syntabula.errors import DataError

if TYPE_CHECKING:
    from syntabula import PrivacyStatement, Release


@takes_request
def synth(
    context: typer.Context,
    table: options.Table,
    out: Annotated[Path, typer.Option("--out", "-o", help="File for the synthetic table, such as x.csv.")],
    *,
    request: Request,
    rows: options.Rows = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", help="Keep the release, to draw more rows later.", metavar="RELEASE"),
    ] = None,
    statement: Annotated[
        Path | None,
        typer.Option("--statement", help="Write the privacy statement (.json or text).", metavar="FILE"),
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option("--journal", help="Log each spend here before its noise is drawn.", metavar="FILE"),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on with the run that broke off in --journal: nothing is drawn twice."
        ),
    ] = False,
    seed: options.NoiseSeed = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail on values outside the schema; that failure is NOT private.")
    ] = False,
    force: options.Force = False,
) -> None:
    """Learn a sensitive TABLE once and write a synthetic one."""
    console: Console = context.obj
    request = replace(request, seed=seed, journal=journal, resume=resume)
    check_rows(rows)
    check_table_file(out)
    outputs = {"--out": out, "--save": save, "--statement": statement}
    check_outputs(outputs, inputs=(table, request.schema_file, journal), force=force)

    schema = request.schema()
    with console.progress() as progress:
        release: Release = request.synthesizer(progress).fit(table, schema, strict=strict)
        progress("write", 1.0)
        with Keeper(release=release, out=out, rows=rows, seed=seed) as keeper:
            if save is not None:
                release.save(save)
                keeper.saved = save
            drawn = write_rows(release, out, rows, seed)
            if statement is not None:
                _write_statement(release.privacy, statement)

    if resume:
        console.note(
            f"resumed: {release.privacy.replayed} of the noisy answers came from {journal}, the others were drawn"
        )
    facts = {
        "out": str(out),
        "rows": drawn,
        "release": None if save is None else str(save),
        "statement": release.privacy.to_json(),
    }
    console.result(release.privacy.text(), facts)
    if schema is not None and schema.others:
        console.note(_of_others([name for name in release.schema if name not in schema], request.observed))
    console.note(f"wrote {drawn} rows to {out}" + (f" and the release to {save}" if save else ""))


def write_rows(
    release: Release,
    out: Path,
    rows: int | None,
    seed: int | None,
    *,
    where: dict[str, Any] | None = None,
    given: Any = None,
) -> int:
    """Draw rows into a file, see `Release.sample`; a file that cannot be written is exit code 6."""
    try:
        return release.sample_to(out, rows, where=where, given=given, seed=seed)
    except DataError as error:
        raise CommandError(str(error), Exit.FILE) from None


def check_rows(rows: int | None) -> None:
    """Refuse a negative number of rows before anything is spent."""
    if rows is not None and rows < 0:
        raise CommandError(f"--rows must be at least 0; got {rows}", Exit.ARGUMENTS)


def check_table_file(path: Path) -> None:
    """Refuse a file name whose format is unknown before anything is spent."""
    from syntabula.table.formats import file_format

    file_format(path)


def _of_others(names: list[str], observed: bool) -> str:
    """Say what became of the columns that a schema leaves out, one of which may have been forgotten."""
    if not names:
        return "note: the schema declares all columns, so that no others were found"
    shown = ", ".join(map(repr, names[:20])) + (" and others" if len(names) > 20 else "")
    how = "read off the table" if observed else "found privately, for part of the budget"
    columns = "column" if len(names) == 1 else f"{len(names)} columns"
    return f"note: not in the schema, so that domains were {how}: {columns} {shown}"


def _write_statement(privacy: PrivacyStatement, path: Path) -> None:
    if path.suffix.lower() == ".json":
        write_text(path, json.dumps(privacy.to_json(), ensure_ascii=False, indent=2) + "\n")
    else:
        write_text(path, privacy.text())
