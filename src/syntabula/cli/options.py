"""Arguments and options that several commands share."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer


def real_number(text: str) -> float:
    """Parse a number; refuse one too large for a float, which would become infinity."""
    if not text.isascii() or "_" in text:
        raise typer.BadParameter(f"{text!r} is not a number; write it with the digits 0 to 9 and a point.")
    try:
        number = float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a valid float.") from None
    if math.isinf(number) and "inf" not in text.lower():
        shown = text if len(text) <= 20 else f"{text[:20]}..."
        raise typer.BadParameter(f"{shown!r} is too large; only --epsilon inf switches privacy off.")
    return number


Table = Annotated[
    Path,
    typer.Argument(help="The sensitive table: CSV, JSON lines, Parquet, Arrow or .xlsx.", metavar="TABLE"),
]
LargeTable = Annotated[
    Path,
    typer.Argument(
        help="The sensitive table: CSV, JSON lines, Parquet, Arrow or .xlsx; also a folder, or a quoted "
        "pattern such as 'parts/*.parquet'.",
        metavar="TABLE",
    ),
]
ReleaseFile = Annotated[
    Path, typer.Argument(help="Release file that `synth --save` wrote.", metavar="RELEASE")
]
Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        help="Synthesizer, or a pair such as adaptive+neural; default auto. See `syntabula methods`.",
    ),
]
Selector = Annotated[
    str | None,
    typer.Option(
        "--selector", help="With --model, instead of --method: what selects the marginals to measure."
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", help="With --selector, instead of --method: what is fitted to them and sampled."),
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        "-e",
        help="Privacy budget epsilon; default 1. `inf` switches privacy off.",
        parser=real_number,
        metavar="FLOAT",
    ),
]
Delta = Annotated[
    float | None,
    typer.Option(
        "--delta", help="Delta of the privacy budget; default 1e-5.", parser=real_number, metavar="FLOAT"
    ),
]
Rho = Annotated[
    float | None,
    typer.Option(
        "--rho", help="Privacy budget in zCDP, instead of --epsilon.", parser=real_number, metavar="FLOAT"
    ),
]
Pure = Annotated[bool, typer.Option("--pure", help="Pure differential privacy: delta is 0.")]
Accounting = Annotated[
    str | None,
    typer.Option(
        "--accounting",
        help="How the costs of steps compose: gdp (default) needs less noise for the same epsilon and delta; "
        "zcdp is what most papers use.",
        metavar="gdp|zcdp",
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        "-s",
        help="Schema file with public bounds and categories. Without one they are found privately. With "
        "`others: find` in the file, those of undeclared columns are found privately.",
        metavar="FILE",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        help="Encoding of a CSV or TSV table, such as cp1252, if it is not UTF-8; the synthetic table has it too.",
        metavar="NAME",
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
        help="Maximum number of bins of a numeric or date column; default: auto, a rule based on the budget.",
        metavar="N|auto",
    ),
]
Discretizer = Annotated[
    str | None,
    typer.Option(
        "--discretizer",
        help="How numbers are binned: usual (default: privtree, or fine without privacy), privtree, quantile, "
        "kmeans, uniform (free), or a plug-in's; see `syntabula methods`.",
    ),
]
Within = Annotated[
    str | None,
    typer.Option(
        "--within",
        help="How values lie within a bin: round (at round numbers, as the column's), even (free), normal, or auto "
        "(default: round if bins cost anything).",
    ),
]
Atoms = Annotated[
    str | None,
    typer.Option(
        "--atoms",
        help="Frequent values, which get codes of their own: found (where the schema declares none), declared (only "
        "these), or auto (default: found if bins cost anything).",
        metavar="found|declared|auto",
    ),
]
PreprocessingShare = Annotated[
    float | None,
    typer.Option(
        "--preprocessing-share",
        help="Fraction of the budget for finding domains and bins, if they cost any; default 0.1.",
    ),
]
MethodOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        help="An option of the method's selector or model, such as max_rounds=20; repeatable. "
        "`syntabula methods METHOD` lists them.",
        metavar="NAME=VALUE",
    ),
]
OptionsFile = Annotated[
    Path | None,
    typer.Option(
        "--options",
        help="YAML file with a method and its options, as `syntabula tune --out` writes it.",
        metavar="FILE",
    ),
]
Memory = Annotated[
    float | None, typer.Option("--memory", help="Memory limit of each step in megabytes.", metavar="MB")
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        help="Processes that read a table in files; by default as many as processors, or one if it is small.",
    ),
]
NoiseSeed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        help="Seed that makes noise and rows repeatable, for experiments: the release is then NOT private.",
    ),
]
SampleSeed = Annotated[
    int | None, typer.Option("--seed", help="Seed that makes the rows repeatable; costs no privacy.")
]
Rows = Annotated[
    int | None,
    typer.Option("--rows", "-n", help="Number of rows to draw; default: a noisy estimate of the original's."),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace existing files; a link is replaced itself, not its target."),
]
