"""`syntabula evaluate`: how close a synthetic table is to the real one, with baselines for each score."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from syntabula.cli import options
from syntabula.cli.console import CommandError, Console, Exit
from syntabula.cli.outputs import check_outputs, check_table_file, output
from syntabula.errors import PrivacyWarning


def evaluate(
    context: typer.Context,
    real: Annotated[
        Path, typer.Argument(help="The table that the synthetic one was made from.", metavar="REAL")
    ],
    synthetic: Annotated[Path, typer.Argument(help="The table to score.", metavar="SYNTHETIC")],
    holdout: Annotated[
        Path | None,
        typer.Option(
            "--holdout",
            help="Real records that the synthesizer has not seen; utility metrics use a quarter of REAL without it.",
            metavar="FILE",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", help="Column to predict, for utility metrics.")
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            "-s",
            help="Schema with the kinds of columns (numeric, categorical, identifier); default: inferred from REAL.",
            metavar="FILE",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="A metric, or the quick ones of a group: rows, fidelity, queries, utility, privacy; repeatable. "
            "Default: all quick ones. `syntabula metrics` lists them.",
        ),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            "--baseline",
            help="Baseline to show beside each score: HALF, HISTOGRAM, SELF or none; repeatable. "
            "Default: HALF and HISTOGRAM.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of samples, splits and queries.")] = 0,
    workers: Annotated[
        int | None,
        typer.Option("--workers", help="Number of metrics computed in parallel; default: one per core."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Also write all numbers as a table, one per row.", metavar="FILE"),
    ] = None,
    force: options.Force = False,
) -> None:
    """Score a SYNTHETIC table against the REAL one. The scores themselves are NOT private."""
    console: Console = context.obj
    from syntabula import Schema
    from syntabula import evaluate as evaluate_tables

    if out is not None:
        check_table_file(out)
    check_outputs({"--out": out}, inputs=(real, synthetic, holdout, schema), force=force)
    # The optimal transport library would import every tensor library it finds, which takes a second or two each.
    for tensors in ("PYTORCH", "JAX", "CUPY", "TENSORFLOW"):
        os.environ.setdefault(f"POT_BACKEND_DISABLE_{tensors}", "1")
    declared = None if schema is None else Schema.from_yaml(schema)
    baselines: Any = _baselines(baseline)
    with console.progress() as progress, warnings.catch_warnings():
        # The result says it, in every form.
        warnings.simplefilter("ignore", PrivacyWarning)
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
    if found.faults:
        more = f" (and {len(found.faults) - 1} more)" if len(found.faults) > 1 else ""
        raise CommandError(f"not all scores were computed: {found.faults[0]}{more}", Exit.NO_RESULT)


def _baselines(given: list[str] | None) -> tuple[str, ...]:
    if given is None:
        return ("HALF", "HISTOGRAM")
    named = tuple(name.upper() for name in given)
    if "NONE" in named:
        if len(named) > 1:
            raise CommandError("--baseline none cannot be combined with another baseline", Exit.ARGUMENTS)
        return ()
    return named
