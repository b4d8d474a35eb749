"""`syntabula plan`: what a fit would cost, before any budget is spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from syntabula.cli import options
from syntabula.cli.console import Console
from syntabula.cli.exits import CommandError, Exit
from syntabula.cli.request import Request

if TYPE_CHECKING:
    from syntabula import Plan


def plan(
    context: typer.Context,
    table: Annotated[
        Path | None,
        typer.Argument(help="The sensitive table; not opened if there is a schema.", metavar="[TABLE]"),
    ] = None,
    method: options.Method = None,
    selector: options.Selector = None,
    model: options.Model = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    pure: options.Pure = False,
    accounting: options.Accounting = None,
    schema: options.SchemaFile = None,
    observed_domain: options.Observed = False,
    assume_rows: Annotated[
        int | None,
        typer.Option("--assume-rows", help="Public or guessed number of records, for memory and time."),
    ] = None,
    bins: options.Bins = None,
    discretizer: options.Discretizer = None,
    within: options.Within = None,
    preprocessing_share: options.PreprocessingShare = None,
    option: options.MethodOption = None,
    memory: options.Memory = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", hidden=True)] = None,
    rows: Annotated[int | None, typer.Option("--rows", "-n", hidden=True)] = None,
    save: Annotated[Path | None, typer.Option("--save", hidden=True)] = None,
    statement: Annotated[Path | None, typer.Option("--statement", hidden=True)] = None,
    journal: Annotated[Path | None, typer.Option("--journal", hidden=True)] = None,
    seed: Annotated[int | None, typer.Option("--seed", hidden=True)] = None,
    strict: Annotated[bool, typer.Option("--strict", hidden=True)] = False,
    force: Annotated[bool, typer.Option("--force", hidden=True)] = False,
) -> None:
    """Show memory, time and budget of each step of `synth`; takes the same options and spends nothing."""
    # The options of `synth` that change nothing here are accepted, so that one word turns one into the other.
    del out, rows, save, statement, journal, seed, strict, force
    console: Console = context.obj
    request = Request(
        method=method,
        selector=selector,
        model=model,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        pure=pure,
        accounting=accounting,
        schema_file=schema,
        observed=observed_domain,
        bins=bins,
        discretizer=discretizer,
        within=within,
        preprocessing_share=preprocessing_share,
        options=tuple(option or ()),
        memory_mb=memory,
    )
    planned = _planned(request, table, assume_rows)
    console.result(planned.describe(), planned.to_json())


def _planned(request: Request, table: Path | None, assume_rows: int | None) -> Plan:
    schema = request.schema()
    synthesizer = request.synthesizer()
    if schema is None and table is None:
        raise CommandError("name the table, or give its schema with --schema", Exit.ARGUMENTS)
    if schema is None and request.observed:
        from syntabula import draft_schema

        schema = draft_schema(table)[0]
    if schema is not None:
        planned: Plan = synthesizer.plan(schema, assume_rows)
        return planned
    # Only the names and stored types of the columns are used.
    from syntabula.table.read import read

    physical = {name: column.physical for name, column in read(table).columns.items()}
    guessed: Plan = synthesizer.plan(None, assume_rows, physical=physical)
    return guessed
