"""`syntabula synth`: makes a synthetic table and its privacy statement from a sensitive table."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from syntabula.cli import options
from syntabula.cli.console import CommandError, Console, Exit
from syntabula.cli.outputs import (
    FilesOfRun,
    SavedOnFailure,
    check_outputs,
    check_rows,
    check_table_file,
    output,
    sample_command,
)
from syntabula.cli.request import Request, takes_request
from syntabula.errors import SyntabulaError

if TYPE_CHECKING:
    from syntabula import PrivacyStatement, Release, Schema
    from syntabula._planning import Progress


@takes_request
def synth(
    context: typer.Context,
    table: options.LargeTable,
    out: Annotated[Path, typer.Option("--out", "-o", help="File for the synthetic table, such as x.csv.")],
    *,
    request: Request,
    rows: options.Rows = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", help="Keep the release, to draw more rows later.", metavar="RELEASE"),
    ] = None,
    statement: Annotated[
        Path | None,
        typer.Option("--statement", help="Write the privacy statement (.json or text).", metavar="FILE"),
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option("--journal", help="Log each spend here before its noise is drawn.", metavar="FILE"),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Resume the interrupted run in --journal: no noise is drawn twice, and files that the run wrote are "
            "used or replaced.",
        ),
    ] = False,
    seed: options.NoiseSeed = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Fail on values outside the schema; such a failure is NOT private."),
    ] = False,
    require_columns: Annotated[
        bool,
        typer.Option(
            "--require-columns",
            help="Fail, with nothing written, if a column without a declaration carries little or no information.",
        ),
    ] = False,
    force: options.Force = False,
) -> None:
    """Fit a synthesizer to a sensitive TABLE and write a synthetic one."""
    console: Console = context.obj
    request = replace(request.for_table(table), seed=seed, journal=journal, resume=resume)
    check_rows(rows, out)
    schema = request.schema()
    check_table_file(out, None if schema is None else schema.encoding, rows=rows)
    if rows is not None and schema is not None:
        from syntabula.table.schema.schema import check_number

        check_number(schema, rows)
    run = FilesOfRun.of(request, table, schema, strict=strict)
    outputs = {"--out": out, "--save": save, "--statement": statement}
    written = run.among(outputs.values()) if resume else set()
    finished = save if save in written else None
    if save is not None and not (force or finished):
        _check_no_release(save, run, sample_command(save, out, rows=rows, seed=seed))
    inputs = (table, request.schema_file, journal)
    check_outputs(outputs, inputs=inputs, table=table, force=force, replaceable=written)
    writing = partial(output, force=force, replaceable=written, before_naming=run.record)

    with console.progress() as progress:
        is_paid = request.epsilon is None or math.isfinite(request.epsilon)
        kept = f"without --journal FILE, what an interrupted run measured is {'paid for and ' if is_paid else ''}lost"
        if journal is not None:
            what = "was paid for" if is_paid else "it came to"
            kept = f"what {what} is in {str(journal)!r}; the same command with --resume goes on there"
        with console.if_interrupted(kept):
            release = _release(finished, request, progress, table, schema, strict=strict)
        rescue = SavedOnFailure(release=release, out=out, rows=rows, seed=seed, saved=finished)
        if require_columns:
            _check_columns(release, rescue)
        progress("write", 1.0)
        with rescue:
            if save is not None and not finished:
                with writing(save) as temporary:
                    release.save(temporary)
                rescue.saved = save
            # These are judged by rows that are drawn, which may fail as well.
            lost, coarse, others = release.lost_columns(), release.coarse_columns(), release.other_columns()
            empty, blank = release.empty_categories(), release.blank_columns()
            with writing(out) as temporary:
                drawn = release.sample_to(temporary, rows, seed=seed)
            if statement is not None:
                with writing(statement) as temporary:
                    temporary.write_text(_statement_text(release.privacy, statement), encoding="utf-8")

    if finished:
        console.note(
            f"resumed: this run had saved its release in {finished}; no noise was drawn, no budget spent"
        )
    elif resume:
        console.note(
            f"resumed: {release.privacy.replayed} of the answers came from {journal}, the others were drawn"
        )
    facts = {
        "out": str(out),
        "rows": drawn,
        "release": None if save is None else str(save),
        "lost_columns": lost,
        "blank_columns": blank,
        "coarse_columns": coarse,
        "other_columns": others,
        "empty_categories": empty,
        "statement": release.privacy.to_json(),
    }
    console.result(release.privacy.text(), facts)
    if schema and schema.others:
        console.note(
            _of_others([name for name in release.schema if name not in schema], request.observed, release)
        )
    poor = [name for name in lost if name not in blank]
    for sentence in (
        *_of_blank(blank, release),
        *_of_poor(poor, coarse, release),
        *_of_rare(others),
        *_of_empty(empty, release),
    ):
        console.note(f"note: {sentence}")
    console.note(f"wrote {drawn} rows to {out}" + (f" and the release to {save}" if save else ""))


def _release(
    finished: Path | None,
    request: Request,
    progress: Progress,
    table: Path,
    schema: Schema | None,
    *,
    strict: bool,
) -> Release:
    """Return the release that this run had saved, or else fit it."""
    synthesizer = request.synthesizer(progress)
    if finished is None:
        fitted: Release = synthesizer.fit(table, schema, strict=strict)
        return fitted
    from syntabula import load

    return load(finished)


def _check_columns(release: Release, rescue: SavedOnFailure) -> None:
    """Refuse a release of which a found column carries little or no information."""
    with rescue:
        found = release.privacy.columns_of("private")
        lost, coarse = (
            [name for name in names if name in found]
            for names in (release.lost_columns(), release.coarse_columns())
        )
    if lost or coarse:
        raise CommandError(
            f"{'; '.join(_of_poor(lost, coarse, release))}; nothing was written because of --require-columns, but "
            "the budget is spent",
            Exit.PRIVACY,
        )


def _check_no_release(save: Path, run: FilesOfRun, drawing: str) -> None:
    """Refuse to fit if the output already holds a release, perhaps this command's own, and say how to sample it."""
    if not save.is_file():
        return
    shown = f"--save {str(save)!r}"
    if run.among([save]):
        raise CommandError(
            f"{shown} holds the release of this same command, whose budget is spent; continue with --resume, or "
            f"draw the table from it at no further cost: {drawing}",
            Exit.FILE,
        )
    from syntabula import load

    try:
        found = load(save)
    except SyntabulaError:
        return
    raise CommandError(
        f"{shown} exists already and holds a release (method {found.method!r}). If this command made it before it was "
        f"interrupted, draw the table from it at no further cost: {drawing}. Otherwise choose another name, or "
        "replace it with --force",
        Exit.FILE,
    )


def _of_others(names: list[str], observed: bool, release: Release) -> str:
    """Describe how columns missing from the schema were handled; one of them may have been forgotten."""
    if not names:
        return "note: the schema declares all columns, so no domains had to be found"
    shown = ", ".join(map(repr, names[:20])) + (" and others" if len(names) > 20 else "")
    exact = release.privacy.budget.currency == "none"
    found = "found by exact counts" if exact else "found privately, at a cost in budget"
    how = "read off the table" if observed else found
    columns = "column" if len(names) == 1 else f"{len(names)} columns"
    return f"note: domains not in the schema were {how}: {columns} {shown}"


def _of_blank(blank: list[str], release: Release) -> Iterator[str]:
    """Say which columns are empty, or nearly, as they were in the table so far as noise lets that be told."""
    if not blank:
        return
    noise = "" if release.privacy.budget.currency == "none" else "; of an empty one, noise may leave a few"
    yield (
        f"{len(blank)} of {len(release.schema.columns)} columns hold no values, or one in fewer than a hundred rows: "
        f"{_shown(blank)}{noise}; leave them out, or declare them in a schema"
    )


def _of_poor(lost: list[str], coarse: list[str], release: Release) -> Iterator[str]:
    """Say how many columns carry no information, or little, which, and what to do."""
    n_columns, exact = len(release.schema.columns), release.privacy.budget.currency == "none"
    found = release.privacy.columns_of("private")
    for names, why, remedy in (
        (
            [name for name in lost if name in found],
            f"no information, as they hold {'values that hardly repeat' if exact else 'what noise hides'}, or one value",
            f"declare them in a schema{'' if exact else ', or raise epsilon'}",
        ),
        (
            [name for name in coarse if name in found],
            f"little more than {_RANGE}",
            "declare them in a schema, with fewer columns, raise epsilon, or use more records",
        ),
        (
            [name for name in lost if name not in found],
            "no information, as they hold one value, and noise hides any other",
            "use fewer columns, raise epsilon, or use more records",
        ),
        (
            [name for name in coarse if name not in found],
            f"little more than {_RANGE}",
            "use fewer columns, raise epsilon, or use more records",
        ),
    ):
        if names:
            yield f"{len(names)} of {n_columns} columns carry {why}: {_shown(names)}; {remedy}"


_RANGE = (
    "the range of their values, as noise left fewer than five parts of it to tell apart, so single values, round numbers "
    "and what depends on them are lost"
)


def _of_rare(others: dict[str, float]) -> Iterator[str]:
    """Say which columns hold "other" in many rows, and what to do."""
    if not others:
        return
    shown = [f"{name!r} ({share:.0%})" for name, share in sorted(others.items(), key=lambda item: -item[1])]
    yield (
        'the categories of many rows were too rare to be found, so that these hold "other": '
        f"{', '.join(shown[:20])}; declare their categories in a schema, or raise epsilon"
    )


def _of_empty(empty: dict[str, int], release: Release) -> Iterator[str]:
    """Say which columns have declared categories that never come out, and what to do."""
    if empty:
        from syntabula.report.words import of_empty_categories

        yield of_empty_categories(empty, release.schema.columns)


def _shown(names: list[str]) -> str:
    return ", ".join(map(repr, names[:20])) + (" and others" if len(names) > 20 else "")


def _statement_text(privacy: PrivacyStatement, path: Path) -> str:
    if path.suffix.lower() == ".json":
        return json.dumps(privacy.to_json(), ensure_ascii=False, indent=2) + "\n"
    return privacy.text()
