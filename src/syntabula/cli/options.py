"""Arguments and options that several commands share."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer


def real_number(text: str) -> float:
    """Read a number; one too large for a float is refused, as it would be taken for infinity."""
    try:
        number = float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a valid float.") from None
    if math.isinf(number) and "inf" not in text.lower():
        shown = text if len(text) <= 20 else f"{text[:20]}..."
        raise typer.BadParameter(
            f"{shown!r} is too large for a number; only --epsilon inf switches privacy off."
        )
    return number


Table = Annotated[
    Path, typer.Argument(help="The sensitive table: CSV, JSON lines, Parquet or Arrow.", metavar="TABLE")
]
ReleaseFile = Annotated[
    Path, typer.Argument(help="Release file that `synth --save` wrote.", metavar="RELEASE")
]
Method = Annotated[
    str | None,
    typer.Option("--method", "-m", help="Synthesizer; mst if nothing is said. See `syntabula methods`."),
]
Selector = Annotated[
    str | None,
    typer.Option("--selector", help="With --model, instead of --method: what decides which marginals count."),
]
Model = Annotated[
    str | None,
    typer.Option("--model", help="With --selector, instead of --method: what is fitted and sampled."),
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        "-e",
        help="Privacy budget; 1 if nothing is said. `inf` switches privacy off.",
        parser=real_number,
        metavar="FLOAT",
    ),
]
Delta = Annotated[
    float | None,
    typer.Option("--delta", help="Delta; 1e-5 if nothing is said.", parser=real_number, metavar="FLOAT"),
]
Rho = Annotated[
    float | None,
    typer.Option("--rho", help="Budget in zCDP, instead of --epsilon.", parser=real_number, metavar="FLOAT"),
]
Pure = Annotated[bool, typer.Option("--pure", help="Pure privacy: delta is 0.")]
Accounting = Annotated[
    str | None,
    typer.Option(
        "--accounting",
        help="How the costs of steps add up: gdp (the default) means less noise for the same epsilon and delta, "
        "zcdp is as in most papers.",
        metavar="gdp|zcdp",
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        "-s",
        help="Schema file with public bounds and categories. Without one they are found privately, and with "
        "`others: find` in it, those of the columns that it leaves out.",
        metavar="FILE",
    ),
]
Observed = Annotated[
    bool,
    typer.Option(
        "--observed-domain", help="Allow domains read off the table. NOT protected; the statement says so."
    ),
]
Bins = Annotated[
    str | None,
    typer.Option(
        "--bins",
        help="Most codes of a wide numeric column; a rule under the budget if nothing is said.",
        metavar="N|auto",
    ),
]
Discretizer = Annotated[
    str | None,
    typer.Option(
        "--discretizer",
        help="How numbers become codes: privtree (the default), quantile, kmeans, uniform (free), or a plug-in's; "
        "see `syntabula methods`.",
    ),
]
Within = Annotated[
    str | None,
    typer.Option("--within", help="How values lie within a code: even (free; the default) or normal."),
]
PreprocessingShare = Annotated[
    float | None,
    typer.Option(
        "--preprocessing-share",
        help="Part of the budget for domains and codes, where they cost any; 0.1 if nothing is said.",
    ),
]
MethodOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        help="An option of the method's selector or model, such as max_rounds=20; may be given repeatedly. "
        "`syntabula methods METHOD` lists them.",
        metavar="NAME=VALUE",
    ),
]
Memory = Annotated[
    float | None, typer.Option("--memory", help="No step may need more megabytes.", metavar="MB")
]
NoiseSeed = Annotated[
    int | None,
    typer.Option(
        "--seed", help="Repeatable noise and rows, for experiments: the release is then NOT private."
    ),
]
SampleSeed = Annotated[
    int | None, typer.Option("--seed", help="Makes the rows repeatable; costs no privacy.")
]
Rows = Annotated[
    int | None,
    typer.Option(
        "--rows", "-n", help="Rows to draw; the noisy estimate of the original's if nothing is said."
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace files that exist, and links themselves, not what they point at."),
]
