"""`syntabula evaluate`: how close a synthetic table is to the real one, each score with its scale."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from syntabula.cli import options
from syntabula.cli.console import Console
from syntabula.cli.exits import CommandError, Exit
from syntabula.cli.outputs import check_outputs, output


def evaluate(
    context: typer.Context,
    real: Annotated[
        Path, typer.Argument(help="The table that the synthetic one was made from.", metavar="REAL")
    ],
    synthetic: Annotated[Path, typer.Argument(help="The table to judge.", metavar="SYNTHETIC")],
    holdout: Annotated[
        Path | None,
        typer.Option("--holdout", help="Real records that the synthesizer has not seen.", metavar="FILE"),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", help="Column to predict, for metrics of utility.")
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            "-s",
            help="Says which columns are numeric, categorical or identifiers; else read off REAL.",
            metavar="FILE",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="A metric, or the quick ones of a group: fidelity, queries, utility, privacy; may be given "
            "repeatedly. All quick ones if nothing is said. `syntabula metrics` lists them.",
        ),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            "--baseline",
            help="Scale of the scores: HALF, HISTOGRAM, SELF or none; may be given repeatedly. HALF and "
            "HISTOGRAM if nothing is said.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of samples, splits and queries.")] = 0,
    workers: Annotated[
        int | None,
        typer.Option("--workers", help="Metrics computed at a time; all cores if nothing is said."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Also write all numbers as a table, one in each row.", metavar="FILE"
        ),
    ] = None,
    force: options.Force = False,
) -> None:
    """Score a SYNTHETIC table against the REAL one. The scores themselves are NOT private."""
    console: Console = context.obj
    from syntabula import Schema
    from syntabula import evaluate as evaluate_tables

    if out is not None:
        from syntabula.table.files.formats import file_format

        file_format(out)
    check_outputs({"--out": out}, inputs=(real, synthetic, holdout, schema), force=force)
    # The library of optimal transport would load every tensor library it finds, at a second or two each.
    for tensors in ("PYTORCH", "JAX", "CUPY", "TENSORFLOW"):
        os.environ.setdefault(f"POT_BACKEND_DISABLE_{tensors}", "1")
    declared = None if schema is None else Schema.from_yaml(schema)
    baselines: Any = _baselines(baseline)
    with console.progress() as progress:
        found = evaluate_tables(
            real,
            synthetic,
            holdout=holdout,
            target=target,
            schema=declared,
            metrics=metric,
            baselines=baselines,
            seed=seed,
            workers=workers,
            progress=progress,
        )
    if out is not None:
        with output(out, force=force) as temporary:
            found.write(temporary)
    console.result(found.text(), found.to_json())


def _baselines(given: list[str] | None) -> tuple[str, ...]:
    if given is None:
        return ("HALF", "HISTOGRAM")
    named = tuple(name.upper() for name in given)
    if "NONE" in named:
        if len(named) > 1:
            raise CommandError("--baseline none excludes any other baseline", Exit.ARGUMENTS)
        return ()
    return named
