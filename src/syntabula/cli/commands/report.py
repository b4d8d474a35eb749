"""`syntabula report`: one page about a synthetic table, to read, print or mail to a colleague who may see it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from syntabula.cli import options
from syntabula.cli.console import Console
from syntabula.cli.outputs import check_outputs, write_text


def report(
    context: typer.Context,
    real: Annotated[
        Path, typer.Argument(help="The table that the synthetic one was made from.", metavar="REAL")
    ],
    synthetic: Annotated[Path, typer.Argument(help="The table to show.", metavar="SYNTHETIC")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page (.html).", metavar="FILE")],
    release: Annotated[
        Path | None,
        typer.Option(
            "--release",
            help="Release that SYNTHETIC was drawn from, for its statement and rules.",
            metavar="FILE",
        ),
    ] = None,
    holdout: Annotated[
        Path | None,
        typer.Option("--holdout", help="Real records that the synthesizer has not seen.", metavar="FILE"),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", help="Column to predict, for utility scores.")
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            "-s",
            help="Schema with the kinds of columns (numeric, categorical, time, identifier); default: read off REAL.",
            metavar="FILE",
        ),
    ] = None,
    evaluation: Annotated[
        Path | None,
        typer.Option(
            "--evaluation",
            help="Output of `syntabula evaluate --json` for these tables. Default: compute a few quick "
            "scores.",
            metavar="FILE",
        ),
    ] = None,
    attacks: Annotated[
        list[Path] | None,
        typer.Option("--attacks", help="Output of `syntabula attack --out`; repeatable.", metavar="FILE"),
    ] = None,
    plane: Annotated[
        str, typer.Option("--plane", help="Projection of rows onto a plane: pca or tsne.")
    ] = "pca",
    title: Annotated[str | None, typer.Option("--title", help="Title of the page.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of samples, splits and queries.")] = 0,
    force: options.Force = False,
) -> None:
    """Write an HTML page with plots and scores of a SYNTHETIC table. The page itself is NOT private."""
    console: Console = context.obj
    from syntabula import Schema, make_report
    from syntabula.report.page import check_name

    check_name(out)
    inputs = (real, synthetic, release, holdout, schema, evaluation, *(attacks or ()))
    check_outputs({"--out": out}, inputs=inputs, force=force)
    given: dict[str, Any] = {} if title is None else {"title": title}
    with console.progress() as progress:
        page = make_report(
            real,
            synthetic,
            holdout=holdout,
            target=target,
            schema=None if schema is None else Schema.from_yaml(schema),
            release=release,
            evaluation=evaluation,
            attacks=attacks or (),
            plane=plane.lower(),  # type: ignore[arg-type]
            seed=seed,
            progress=progress,
            **given,
        )
    write_text(out, page.html, force=force)
    size = len(page.html.encode())
    facts = {"page": str(out), "bytes": size, "title": page.title, "overview": [*page.overview]}
    lines = [
        *page.overview,
        "",
        f"{out}: {size / 1024:,.0f} KB. NOT private: keep it as you keep the real table.",
    ]
    console.result("\n".join(lines), facts)
