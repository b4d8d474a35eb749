"""`syntabula tune`: the options of a method that score best on validation rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shlex import quote as quoted
from typing import Annotated, Any

import typer

from syntabula.cli import options
from syntabula.cli.console import CommandError, Console, Exit
from syntabula.cli.outputs import check_outputs, output
from syntabula.cli.request import Request, takes_request

_NOT_PRIVATE = (
    "validation", "target", "weight", "relative", "repeats", "finalists", "seconds", "workers", "storage", "seed",
    "picture", "public",
)  # fmt: skip
"""Options without a meaning in a private search."""
_TRIALS, _PRIVATE_TRIALS = 50, 10
"""Each trial of a private search takes from the budget of all others."""


@takes_request
def tune(
    context: typer.Context,
    table: Annotated[Path, typer.Argument(help="The table to learn from.", metavar="TABLE")],
    *,
    request: Request,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            help="Synthesizer to tune; default: the one that auto chooses for TABLE. See `syntabula methods`.",
        ),
    ] = None,
    validation: Annotated[
        Path | None,
        typer.Option(
            "--validation",
            help="Rows to score against, which the method does not see. Default: a fifth of TABLE's.",
            metavar="FILE",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", help="Column to predict, for machine-learning affinity.")
    ] = None,
    space: Annotated[
        str,
        typer.Option(
            "--space",
            help="What to try: usual, synmeter (the paper's), or a YAML file with a range, such as "
            "`units: {low: 64, high: 512, log: true}`, or a list of values for each option.",
            metavar="NAME|FILE",
        ),
    ] = "usual",
    weight: Annotated[
        list[str] | None,
        typer.Option(
            "--weight",
            help="A metric and its weight in the objective, such as tvd-2=1; repeatable. Default: "
            "wasserstein-sliced, affinity and query-error-3, each 1.",
            metavar="METRIC=WEIGHT",
        ),
    ] = None,
    relative: Annotated[
        bool,
        typer.Option(
            "--relative",
            help="Divide each score by that of the method as given, so that a tenth less of any counts as much.",
        ),
    ] = False,
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials",
            help="Number of sets of options to try; default 50. With --private their average number; default 10.",
        ),
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", help="Fits of each, with other seeds.")] = 1,
    finalists: Annotated[
        int,
        typer.Option(
            "--finalists",
            help="The best so many sets are fitted three times more, as is the method as given; their means decide.",
        ),
    ] = 3,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", help="Start no trial after so many seconds; the finals still run."),
    ] = None,
    workers: Annotated[int, typer.Option("--workers", help="Number of processes.")] = 1,
    storage: Annotated[
        Path | None,
        typer.Option(
            "--storage",
            help="File that keeps the trials; the same command goes on where it was interrupted.",
            metavar="FILE",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of suggestions, fits, draws and scores.")] = 0,
    private: Annotated[
        bool,
        typer.Option(
            "--private",
            help="Draw options at random, score with noise, and release the best of about --trials fits, all within "
            "--epsilon and --delta. Needs a schema of all columns, and --release.",
        ),
    ] = False,
    release: Annotated[
        Path | None,
        typer.Option("--release", help="With --private: file for the best release.", metavar="FILE"),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="TABLE is public, so that no warning is needed.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The best options (.yaml), for `synth --options`, or all trials (.json).",
            metavar="FILE",
        ),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="A picture of the search (.png).", metavar="FILE")
    ] = None,
    force: options.Force = False,
) -> None:
    """Search the options of a method that score best on rows it has not seen. NOT private without `--private`."""
    console: Console = context.obj
    request = replace(request, method=method)
    if release is not None and not private:
        raise CommandError("--release needs --private: other searches make no release", Exit.ARGUMENTS)
    if private:
        if release is None:
            raise CommandError("--private needs --release, the file for the best release", Exit.ARGUMENTS)
        if refused := [f"--{name}" for name in _NOT_PRIVATE if _is_given(context, name)]:
            raise CommandError(f"--private has no {' or '.join(refused)}; leave it out", Exit.ARGUMENTS)
        _check_ending("--out", out, (".yaml", ".yml"))
        average = _PRIVATE_TRIALS if trials is None else trials
        _tune_privately(console, request, table, space, average, out, release, force=force)
        return
    _check_ending("--out", out, (".yaml", ".yml", ".json"))
    _check_ending("--picture", picture, (".png",))
    from syntabula.tuning.picture import draw_search
    from syntabula.tuning.search import tune as tune_method

    check_outputs(
        {"--out": out, "--picture": picture},
        inputs=(table, validation, request.schema_file, request.options_file),
        force=force,
    )
    kept = "no trial was kept; --storage FILE keeps them, and the same command then goes on"
    if storage is not None:
        kept = f"trials are in {str(storage)!r}, and the same command goes on there"
    with console.if_interrupted(kept), console.progress() as progress:
        found = tune_method(
            request.synthesizer(),
            table,
            validation,
            schema=request.schema(),
            target=target,
            space=_space(space),
            objective=_objective(weight, relative=relative),
            trials=_TRIALS if trials is None else trials,
            repeats=repeats,
            finalists=finalists,
            seconds=seconds,
            workers=workers,
            storage=storage,
            seed=seed,
            is_public=public,
            progress=progress,
        )
    if out is not None:
        # The file alone is what `synth` is given. Options of auto are none of the method that it chose.
        given = {} if found.chosen_because or out.suffix.lower() == ".json" else request.options_given()
        with output(out, force=force) as temporary:
            replace(found, options={**given, **found.options}).write(temporary)
    if picture is not None:
        with output(picture, force=force) as temporary:
            draw_search(found, temporary)
    console.result(found.text(), found.to_json())
    if out is None and found.options:
        console.note("--out FILE.yaml writes these options for `syntabula synth --options`")
    elif out is not None and out.suffix.lower() != ".json":
        words = ["synth", str(table), "--options", str(out), *request.words_of_table(but=found.options)]
        fit = " ".join(["syntabula", *map(quoted, words), "-o", "synthetic.csv"])
        console.note(f"`{fit}` fits with them, at the --epsilon that you give there")


def _tune_privately(
    console: Console,
    request: Request,
    table: Path,
    space: str,
    trials: int,
    out: Path | None,
    release: Path,
    *,
    force: bool,
) -> None:
    from syntabula.table.schema.plain_yaml import write_yaml
    from syntabula.tuning.private import tune_privately

    schema = request.schema()
    if schema is None:
        raise CommandError(
            f"--private needs --schema with all columns; draft it with `syntabula schema {quoted(str(table))} --out "
            "schema.yaml`, replace its bounds and categories with what is known without the table, and mark the columns "
            "`provenance: public`",
            Exit.ARGUMENTS,
        )
    inputs = (table, request.schema_file, request.options_file)
    check_outputs({"--out": out, "--release": release}, inputs=inputs, force=force)
    method = request.synthesizer()
    with console.progress() as progress:
        found = tune_privately(method, table, schema, space=_space(space), trials=trials, progress=progress)
    with output(release, force=force) as temporary:
        found.release.save(temporary)
    plain = {"method": method.name, "options": {**request.options_given(), **found.options}}
    if out is not None:
        with output(out, force=force) as temporary:
            temporary.write_text(write_yaml(plain), encoding="utf-8")
    lines = [f"{method.name}: the best of the trials, with noisy distance {found.distance:.4g} of pairs"]
    lines += [f"    {name} = {value}" for name, value in found.options.items()]
    lines += ["", found.release.privacy.text()]
    facts = plain | {"distance": found.distance, "privacy": found.release.privacy.to_json()}
    console.result("\n".join(lines), facts)


def _check_ending(option: str, file: Path | None, endings: tuple[str, ...]) -> None:
    """Refuse a file of another format before the search, not after hours of it."""
    if file is not None and file.suffix.lower() not in endings:
        raise CommandError(f"{option} {str(file)!r} must end in {' or '.join(endings)}", Exit.ARGUMENTS)


def _is_given(context: typer.Context, option: str) -> bool:
    """Return whether the command line has an option, whatever its value."""
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def _space(given: str) -> Any:
    if not given.endswith((".yaml", ".yml")):
        return given
    from syntabula.cli.request import read_options

    return read_options(Path(given), "--space")


def _objective(given: list[str] | None, *, relative: bool) -> Any:
    from syntabula.cli.request import named_values
    from syntabula.tuning.objective import Objective

    if not given:
        return Objective(is_relative=relative)
    weights = named_values(given, "--weight", "tvd-2=1")
    return Objective(weights=weights, metrics=Objective().metrics, is_relative=relative)
