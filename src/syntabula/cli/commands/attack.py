"""`syntabula attack`: how well an attacker can tell from synthetic tables whether a record was present."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from syntabula._entries import UNLISTED
from syntabula._register import entries, find
from syntabula.cli import options
from syntabula.cli.console import CommandError, Console, Exit
from syntabula.cli.outputs import check_outputs, write_text
from syntabula.cli.request import Request, takes_request
from syntabula.errors import PrivacyWarning, warn_caller

if TYPE_CHECKING:
    from syntabula import Schema

DISCLOSURE = "disclosure"
(_SCORE,) = (entry for entry in UNLISTED if entry.key == DISCLOSURE)


@takes_request
def attack(
    context: typer.Context,
    table: options.Table,
    attacks: Annotated[
        list[str] | None,
        typer.Option(
            "--attack",
            "-a",
            help="groundhog, querybased, range, or disclosure (a score, not an attack); repeatable. "
            "Default: groundhog and querybased.",
        ),
    ] = None,
    *,
    request: Request,
    shadows: Annotated[
        int | None,
        typer.Option(
            "--shadows",
            help="Number of shadow models, even and at least 8; default 200, or 20 for disclosure.",
        ),
    ] = None,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            help="Row to attack, counted from 0, or outlier: the most remote record. If the schema has a unit, all rows "
            "of its unit are attacked. Disclosure scores all rows.",
        ),
    ] = "outlier",
    records: Annotated[
        int | None,
        typer.Option(
            "--records",
            help="Other records, or units, drawn at random for each shadow model; for disclosure, records that are "
            "scored. Default: all.",
        ),
    ] = None,
    workers: Annotated[int, typer.Option("--workers", help="Processes that train shadow models.")] = 1,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            help="Keep shadow models here, to resume after an interruption. As sensitive as TABLE.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all random choices.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the results here (.json).", metavar="FILE")
    ] = None,
    force: options.Force = False,
) -> None:
    """Attack a method on a sensitive TABLE with shadow models. The results are NOT private."""
    console: Console = context.obj
    chosen = [name.lower() for name in attacks or ("groundhog", "querybased")]
    if DISCLOSURE in chosen and len(chosen) > 1:
        raise CommandError(
            "disclosure trains its own shadow models; run it without other attacks",
            Exit.ARGUMENTS,
        )
    for name in chosen:
        find("attack", name, [*entries("attack"), _SCORE])
    row = _row(target)
    if DISCLOSURE in chosen and row != "outlier":
        raise CommandError("disclosure scores all records; leave out --target", Exit.ARGUMENTS)
    check_outputs({"--out": out}, inputs=(table, request.schema_file), force=force)
    if out is not None and out.suffix.lower() != ".json":
        raise CommandError(f"--out {str(out)!r} must end in .json", Exit.ARGUMENTS)
    warn_caller(
        PrivacyWarning(
            "attack results depend on the table and are not private; protect them as you protect the table"
        )
    )

    shared: dict[str, Any] = {"workers": workers, "folder": folder, "seed": seed}
    shared |= {} if shadows is None else {"n_shadows": shadows}
    synthesizer, declared = request.synthesizer(), request.schema()
    kept = "no shadow model was kept; --folder keeps them, and the same command then goes on"
    with console.if_interrupted(kept if folder is None else f"the same command goes on from {str(folder)!r}"):
        if chosen == [DISCLOSURE]:
            given = {"max_records": records, **shared}
            text, facts = _disclosure(console, table, synthesizer, declared, given)
        else:
            given = {"attacks": chosen, "target": row, "n_records": records, **shared}
            text, facts = _membership(console, table, synthesizer, declared, given)
    if out is not None:
        write_text(out, json.dumps(facts, indent=2, allow_nan=False) + "\n", force=force)
    console.result(text, facts)


def _membership(
    console: Console, table: Path, synthesizer: Any, schema: Schema | None, given: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    from syntabula import attack as run

    with console.progress() as progress:
        found = run(table, synthesizer, schema, progress=progress, **given)
    first = next(iter(found.values()))
    lines = [f"{key}: {result}" for key, result in found.items()]
    lines.append(f"{first.n_shadows} shadow models, {first.seconds_per_shadow:.2g} s each")
    return "\n".join(lines), {"attacks": [result.to_json() for result in found.values()]}


def _disclosure(
    console: Console, table: Path, synthesizer: Any, schema: Schema | None, given: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    from syntabula import membership_disclosure

    with console.progress() as progress:
        score = membership_disclosure(table, synthesizer, schema, progress=progress, **given)
    facts = score.facts
    text = f"membership disclosure score: {score}\n{facts['shadows']} shadow models"
    if schema is not None and schema.unit is not None:
        text += f" of halves that keep all rows with one {schema.unit!r} together"
    return f"{text}, {facts['seconds_per_shadow']:.2g} s each", {"disclosure": score.to_json()}


def _row(target: str) -> int | str:
    if target == "outlier":
        return target
    if not target.isdecimal():
        raise CommandError(
            f"--target must be outlier or the number of a row, counted from 0; got {target!r}", Exit.ARGUMENTS
        )
    return int(target)
