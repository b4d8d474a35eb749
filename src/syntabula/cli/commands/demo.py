"""`syntabula demo`: one example from table to picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from syntabula.cli.console import Console


def demo(
    context: typer.Context,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the results; made if it does not exist.")
    ] = Path("demo-output"),
) -> None:
    """Make a synthetic census table at epsilon 1, and a picture of how close it is."""
    console: Console = context.obj
    from syntabula.demo import run_demo

    with console.progress() as progress:
        shown = run_demo(out, progress=progress)
    console.result(shown.describe(), shown.to_json())
