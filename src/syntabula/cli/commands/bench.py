"""`syntabula bench`: list, run, show and compare studies."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from syntabula.cli import options
from syntabula.cli.console import CommandError, Console, Exit, code_of, in_yaml, printable
from syntabula.cli.outputs import check_outputs, write_text

if TYPE_CHECKING:
    from syntabula.bench import Record, Study

HELP = "Compare methods on tables at budgets: studies of the papers, and your own."
QUICK_SECONDS = 240.0

StudyName = Annotated[
    str, typer.Argument(help="Name of a study, as `bench list` has it, or a YAML file.", metavar="STUDY")
]
StoreFile = Annotated[
    Path | None,
    typer.Option("--store", help="File of results; default: STUDY.jsonl here.", metavar="FILE.jsonl"),
]
Quick = Annotated[
    bool, typer.Option("--quick", help="One table of 1,000 rows, one seed, few cells: a few minutes.")
]


def list_(
    context: typer.Context,
    collection: Annotated[
        str | None, typer.Argument(help="Only those of a paper, such as synmeter.", metavar="COLLECTION")
    ] = None,
) -> None:
    """List the studies by name: every numbered table and figure of the papers, and why some are not run."""
    console: Console = context.obj
    from syntabula import bench
    from syntabula.bench.words import listed

    studies = bench.list_studies(collection)
    facts = [
        {"name": s.name, "title": s.title, "why_not": s.why}
        if isinstance(s, bench.NotRun)
        else {"name": s.name, "title": s.title, "cells": len(s.cells), "datasets": [*s.datasets]}
        for s in studies
    ]
    console.result(listed(studies), facts)


def run(
    context: typer.Context,
    study: StudyName,
    store: StoreFile = None,
    quick: Quick = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say which cells would run and how long; run nothing.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Cells at a time; default: one per processor.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="Most seconds of a cell; default: the study's.")
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option("--memory", help="Most memory of a cell; default: the study's.", metavar="MB"),
    ] = None,
    total: Annotated[
        float | None,
        typer.Option(
            "--total",
            help=f"Most seconds of all cells; the rest is left for the next run. With --quick: {QUICK_SECONDS:g}.",
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also run cells that failed or were cut off.")
    ] = False,
) -> None:
    """Run the cells of a STUDY that its store lacks, each in a process of its own; a killed run goes on where it was.

    Ends with exit code 8 if no cell has a result, or with --dry-run if none would have one.
    """
    console: Console = context.obj
    from syntabula import bench
    from syntabula.bench.words import planned, step, table

    if workers is not None and workers < 1:
        raise CommandError(f"--workers must be an integer of at least 1; got {workers}", Exit.ARGUMENTS)
    chosen = _study(study, quick=quick, seconds=seconds, memory=memory)
    with _named_as_written(study):
        chosen.check()
    place = _store(chosen, store, quick=quick)
    if not place.parent.is_dir():
        raise CommandError(f"the folder of the store {str(place)!r} does not exist; make it first", Exit.FILE)
    work = bench.work_of(chosen, place, again=again)
    at_a_time = workers or os.cpu_count() or 1
    if dry_run:
        facts = {
            "cells": len(work.cells),
            "known": work.n_known,
            "seconds": work.timing.seconds,
            "timed_by": vars(work.timing),
            "missing": work.missing,
            "changed": work.changed,
            "of_other_code": work.n_of_other_code,
        }
        console.result(planned(work, at_a_time), facts)
        if not work.cells:
            known = bench.Store(place).records()
            found = {cell.key: known[cell.key] for cell in chosen.cells if cell.key in known}
            _check_any_done(chosen, found, work.missing)
        return
    console.note(planned(work, at_a_time))
    with console.if_interrupted(f"finished cells are in {str(place)!r}, and the same command goes on there"):
        records = bench.run(
            chosen,
            place,
            workers=workers,
            again=again,
            total_seconds=QUICK_SECONDS if quick and total is None else total,
            tell=console.note,
            progress=lambda done: console.note(step(done)),
        )
    console.note(f"results are in {str(place)!r}")
    console.result(table(bench.summarize(chosen, records)), _facts(chosen, records))
    _check_any_done(chosen, records, work.missing)


def show(
    context: typer.Context,
    study: StudyName,
    store: StoreFile = None,
    quick: Quick = False,
    page: Annotated[
        Path | None, typer.Option("--page", help="Write one HTML page with pictures.", metavar="FILE.html")
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option("--parquet", help="Write all scores as a tidy table.", metavar="FILE.parquet"),
    ] = None,
    force: options.Force = False,
) -> None:
    """Show the results of a STUDY: mean, spread and rank, with the paper's figure beside."""
    console: Console = context.obj
    from syntabula import bench
    from syntabula.bench.matching import results_of
    from syntabula.bench.words import table

    chosen = _study(study, quick=quick)
    place = _store(chosen, store, quick=quick)
    if not place.is_file():
        raise CommandError(_no_store(study, chosen, place, store, quick=quick), Exit.FILE)
    check_outputs({"--page": page, "--parquet": parquet}, inputs=(place,), force=force)
    records = bench.Store(place).records()
    summary = bench.summarize(chosen, records)
    if page is not None:
        from syntabula.report.study_page import make_study_page

        write_text(page, make_study_page(summary), force=force)
    if parquet is not None:
        found = [record for _, record in results_of(chosen, records) if record is not None]
        bench.export_parquet(found, parquet)
    console.result(table(summary), _facts(chosen, records))


def compare(
    context: typer.Context,
    first: Annotated[Path, typer.Argument(help="A store.", metavar="FIRST.jsonl")],
    second: Annotated[
        Path, typer.Argument(help="Another, of another version or machine.", metavar="SECOND.jsonl")
    ],
) -> None:
    """Set two stores side by side: every score, processor seconds and memory of the rows that both have."""
    console: Console = context.obj
    from syntabula import bench
    from syntabula.bench.cell import plain
    from syntabula.bench.words import compared

    for path in (first, second):
        if not path.is_file():
            raise CommandError(f"there is no store {str(path)!r}", Exit.FILE)
    found = bench.compare(first, second)
    if not found:
        raise CommandError("the stores have no row in common that is done in both", Exit.DATA)
    console.result(compared(found), [plain(vars(item)) for item in found])


bench = {"list": list_, "run": run, "show": show, "compare": compare}
"""The commands of the group."""


def _study(name: str, *, quick: bool, seconds: float | None = None, memory: float | None = None) -> Study:
    from dataclasses import replace

    from syntabula import bench

    with _named_as_written(name):
        found = bench.read_study(name) if _is_file(name) else bench.find_study(name)
        found = found.quick() if quick else found
    given: dict[str, Any] = {"seconds": seconds, "memory_mb": memory}
    return replace(found, **{key: value for key, value in given.items() if value is not None})


def _is_file(name: str) -> bool:
    return Path(name).suffix.lower() in (".yaml", ".yml")


@contextmanager
def _named_as_written(study: str) -> Iterator[None]:
    """Keep names of fields in messages about a study file; elsewhere they would become options of the command line."""
    from syntabula.errors import SyntabulaError

    try:
        yield
    except SyntabulaError as error:
        if not _is_file(study):
            raise
        raise CommandError(in_yaml(str(error)), code_of(error)) from error


def _check_any_done(study: Study, records: Mapping[str, Record], missing: Mapping[str, str]) -> None:
    """Raise an error if no cell of a study has a result though some ended or cannot run; the reason of one is named."""
    ended = [record for record in records.values() if record.status != "done"]
    if len(ended) < len(records) or not (ended or missing):
        return
    why = f"{ended[0].status}: {ended[0].reason}" if ended else next(iter(missing.values()))
    raise CommandError(f"no cell of {study.name!r} has a result; {why}", Exit.NO_RESULT)


def _no_store(written: str, study: Study, place: Path, store: Path | None, *, quick: bool) -> str:
    """Return the message that a store is missing, and what to do; a store of the other size of study is named."""
    command, text = printable(written), f"there is no store {str(place)!r}"
    option = "" if quick else " --quick"
    other = _store(study, None, quick=not quick)
    if store is None and other.is_file():
        return f"{text}, but {str(other)!r}; show that with `syntabula bench show {command}{option}`"
    return f"{text}; make it with `syntabula bench run {command}{' --quick' if quick else ''}`"


def _store(study: Study, store: Path | None, *, quick: bool) -> Path:
    return store or Path(f"{study.name}{'-quick' if quick else ''}.jsonl")


def _facts(study: Study, records: Any) -> dict[str, Any]:
    """Return the rows of a study as values of JSON."""
    from syntabula import bench
    from syntabula.bench.cell import plain

    summary = bench.summarize(study, records)
    rows = [plain({**vars(row), "binning": row.binning}) for row in summary.rows]
    return {
        "study": study.name,
        "scores": [*summary.scores],
        "rows": rows,
        "versions": [*summary.versions],
    } | {
        "codes": dict(summary.codes),
        "changed": dict(summary.changed),
    }
