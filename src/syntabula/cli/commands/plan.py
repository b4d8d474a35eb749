"""`syntabula plan`: the cost of a fit, before any budget is spent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from syntabula.cli.console import CommandError, Console, Exit
from syntabula.cli.request import Request, takes_request

if TYPE_CHECKING:
    from syntabula import Plan


@takes_request
def plan(
    context: typer.Context,
    table: Annotated[
        Path | None,
        typer.Argument(
            help="The sensitive table; not opened if a schema declares all columns.", metavar="[TABLE]"
        ),
    ] = None,
    *,
    request: Request,
    assume_rows: Annotated[
        int | None,
        typer.Option("--assume-rows", help="Public or guessed number of records, for memory and time."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", hidden=True)] = None,
    rows: Annotated[int | None, typer.Option("--rows", "-n", hidden=True)] = None,
    save: Annotated[Path | None, typer.Option("--save", hidden=True)] = None,
    statement: Annotated[Path | None, typer.Option("--statement", hidden=True)] = None,
    journal: Annotated[Path | None, typer.Option("--journal", hidden=True)] = None,
    resume: Annotated[bool, typer.Option("--resume", hidden=True)] = False,
    seed: Annotated[int | None, typer.Option("--seed", hidden=True)] = None,
    strict: Annotated[bool, typer.Option("--strict", hidden=True)] = False,
    force: Annotated[bool, typer.Option("--force", hidden=True)] = False,
) -> None:
    """Show memory, time and budget of each step of `synth`. Takes the same options and spends nothing."""
    # Options of `synth` without effect here are accepted, so that changing one word turns one command into the other.
    del out, rows, save, statement, journal, resume, seed, strict, force
    console: Console = context.obj
    planned = _planned(request, table, assume_rows, console)
    console.result(planned.describe(), planned.to_json())


def _planned(request: Request, table: Path | None, assume_rows: int | None, console: Console) -> Plan:
    from syntabula.table.schema.schema import is_whole

    schema = request.schema()
    synthesizer = (request if table is None else request.for_table(table)).synthesizer()
    if is_whole(schema):
        from syntabula.table.files.delimited import is_delimited
        from syntabula.table.read import may_have_parts

        in_parts = table is not None and may_have_parts(table)
        # No type is left to find, but texts take longer to read.
        of_text = table is not None and not in_parts and is_delimited(table)
        planned: Plan = synthesizer.plan(schema, assume_rows, types_found=of_text, in_parts=in_parts)
        return planned
    if table is None:
        raise CommandError(
            "name the table, or give a schema that declares all its columns with --schema", Exit.ARGUMENTS
        )
    from syntabula.table.draft import whole_schema
    from syntabula.table.files.delimited import delimited_file, is_delimited
    from syntabula.table.frames.text_numbers import with_texts_read
    from syntabula.table.parts.text_parts import TextParts
    from syntabula.table.raw import PhysicalType
    from syntabula.table.read import is_json_lines, may_have_parts, parts_of, read
    from syntabula.table.schema.schema import undeclared

    in_parts = may_have_parts(table)
    # All cells of JSON have to be seen, and memory need not hold them.
    if not request.observed and (in_parts or is_json_lines(table)):
        parts = parts_of(table, schema)
        declared = PhysicalType("other", "declared")
        physical = {n: parts.stored[n].physical if n in parts.stored else declared for n in parts.names}
        types_found = isinstance(parts, TextParts)
        planned = synthesizer.plan(
            schema, assume_rows, physical=physical, types_found=types_found, in_parts=in_parts
        )
        if not types_found:
            _note_types(undeclared(physical, schema), console)
        return planned
    if is_delimited(table) and not request.observed:
        with delimited_file(table, schema) as file:
            planned = synthesizer.plan(schema, assume_rows, physical=file.physical, types_found=True)
        return planned
    raw = read(table, schema)
    if request.observed:
        planned = synthesizer.plan(whole_schema(with_texts_read(raw, schema), schema), assume_rows)
        return planned
    physical = {name: column.physical for name, column in raw.columns.items()}
    planned = synthesizer.plan(schema, assume_rows, physical=physical)
    _note_types(undeclared(physical, schema), console)
    return planned


def _note_types(found: Sequence[str], console: Console) -> None:
    """Say that a plan is not private if it shows the types of these columns."""
    from syntabula.table.schema.schema import listed

    if found:
        console.note(
            f"note: this plan shows which of {listed(found)} are numbers. It is not private unless their stored types "
            "are public: a single record may have decided them"
        )
