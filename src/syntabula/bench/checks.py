"""Checks of a study before anything runs: what its figure, its scores and its tables must have."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syntabula._arguments import near, shown, text
from syntabula.bench.fields import check_names
from syntabula.bench.recorded import RECORDED
from syntabula.bench.table_names import table_and_rows
from syntabula.errors import ArgumentError, SyntabulaError
from syntabula.table.files.formats import file_format, is_workbook

if TYPE_CHECKING:
    from syntabula.bench.study_fields import StudyFields


def check_figure_scores(study: StudyFields) -> None:
    """Refuse a score to draw that the study does not have; parts such as `efficacy auc` count as the score.

    What results record, such as "fit seconds", every study has.
    """
    known = [*study.scores, *([study.overall] if study.overall else []), *RECORDED]
    for score in study.figure.scores:
        bare = str(score).removeprefix("gain of ")
        if not isinstance(score, str) or (score not in known and bare.partition(" ")[0] not in study.scores):
            raise ArgumentError(
                f"the figure draws the score {shown(score)}, which is none of the study's{near(score, known) or ';'} it "
                f"has {', '.join(known)}"
            )


def check_space(study: StudyFields) -> None:
    """Refuse a space to search that one of the methods has not, with similar names of options."""
    from syntabula.tuning import presets, space

    own_spaces = study.options.get("spaces", {})
    check_names("method of the study named", own_spaces, [candidate.method for candidate in study.methods])
    for candidate in study.methods if study.task == "tuning" else ():
        own = own_spaces.get(candidate.method)
        method = candidate.synthesizer(epsilon=(candidate.epsilons or study.epsilons)[0])
        wanted = presets.space_for(method, own or study.options.get("space", "synmeter"))
        space.check_space(method, wanted)


def check_rows(study: StudyFields) -> None:
    """Refuse scores that have no rows to compare with, as the split holds none out."""
    if study.split == "whole" and study.task in ("tables", "tuning") and "learned" not in study.against:
        raise ArgumentError("the split 'whole' holds no rows out; write `against: [learned]`")


def known_tables(given: Sequence[str]) -> list[str]:
    """Return the names of all tables: those given, without their numbers of rows, and all named ones."""
    from syntabula.bench.table_names import CODED_ADULT
    from syntabula.datasets.registry import registry

    return [*dict.fromkeys(table_and_rows(name)[0] for name in given), CODED_ADULT, *registry()]


def check_dataset(name: str) -> None:
    """Refuse what is neither a named table nor like the path of a file, and more rows than a named table has."""
    from syntabula.bench.table_source import SIMULATED
    from syntabula.datasets.registry import registry, unknown

    text("datasets", name)
    table, rows = table_and_rows(name)
    before, at, number = name.rpartition("@")
    if rows is None and at and before in known_tables(()):
        raise ArgumentError(
            f"the table {name!r} asks for {shown(number)} rows, which is no whole number; write one, as in {before}@2000"
        )
    if rows is not None and rows < 2:
        raise ArgumentError(f"the table {name!r} must have at least 2 rows, as in bank@2000")
    # A file may be shorter: how many rows it has is known only when it is read.
    known = None if table.startswith(SIMULATED) else registry().get(table)
    if rows is not None and known is not None and rows > known.n_rows:
        raise ArgumentError(
            f"the table {name!r} asks for {rows:,} rows, and {table!r} has {known.n_rows:,}; write {table} for all of "
            "them, or a smaller number"
        )
    if table in known_tables(()):
        return
    if Path(table).is_dir():
        raise ArgumentError(f"{table!r} is a folder, and a study reads single files; name one")
    if not Path(table).suffix:
        raise ArgumentError(f"{unknown(table)}; a table of your own is the path of its file")
    if not is_workbook(table):
        file_format(table)


def check_tables(study: StudyFields) -> None:
    """Refuse columns that the tables of a study do not have, and scores that need one to predict where none is named.

    A table that cannot be read is left out, as a run leaves out its cells.
    """
    from syntabula.bench.table_names import label_of

    named = [(study.target, "target")] if study.target is not None else []
    named += [(column, "the option without") for column in study.options.get("without", ())]
    for table in study.datasets if named else ():
        known = _columns(table)
        for column, field in named:
            if known and column not in known:
                raise ArgumentError(
                    f"{field} names the column {column!r}, which {table!r} has not{near(column, known) or ';'} its "
                    f"columns are {_few(known)}"
                )
    row: Any = study.options.get("target")
    for table in study.datasets if isinstance(row, int) else ():
        if row >= (n_rows := _n_rows(table)):
            raise ArgumentError(
                f"the option target is row {row}, counted from 0, but {table!r} has {n_rows} rows"
            )
    for score, needs in _needs(study):
        if "rules" in needs:
            raise ArgumentError(
                f"the score {score!r} needs rules of a schema, which a study does not have; leave it out"
            )
        if "target" in needs and study.target is None and not any(map(label_of, study.datasets)):
            raise ArgumentError(f"the score {score!r} needs a column to predict; name it in `target`")
        if "holdout" in needs and study.split == "whole":
            raise ArgumentError(f"the score {score!r} needs rows held out, and the split 'whole' has none")


def scores_of(study: StudyFields, table: str) -> tuple[str, ...]:
    """Return the scores of a study that a table can have: without those that predict, if it has no column for that."""
    from syntabula.bench.table_names import label_of

    if study.target is not None or label_of(table):
        return study.scores
    predicting = [score for score, needs in _needs(study) if "target" in needs]
    return tuple(score for score in study.scores if score not in predicting)


def unscored(study: StudyFields) -> dict[str, tuple[str, ...]]:
    """Return, for each table without a column to predict, the scores of a study that it cannot have."""
    left = {table: scores_of(study, table) for table in study.datasets}
    out = {table: tuple(score for score in study.scores if score not in kept) for table, kept in left.items()}
    return {table: scores for table, scores in out.items() if scores}


def _needs(study: StudyFields) -> list[tuple[str, tuple[str, ...]]]:
    """Return each metric of a study with what it needs."""
    from syntabula.bench.tasks import TASKS
    from syntabula.metrics.registry import describe_metric

    return [] if TASKS[study.task].scores else [(s, describe_metric(s).needs) for s in study.scores]


def _columns(table: str) -> tuple[str, ...]:
    """Return the columns of a table; none if it is not here or cannot be read."""
    from syntabula.bench.table_source import load_table
    from syntabula.datasets.registry import registry

    name, _ = table_and_rows(table)
    if name in registry() and (known := registry()[name].columns):
        return tuple(known)
    with suppress(SyntabulaError, OSError):
        return tuple(load_table(table).columns)
    return ()


def _n_rows(table: str) -> float:
    """Return the number of rows of a table; infinity if it is not here or cannot be read."""
    from syntabula.bench.table_source import load_table
    from syntabula.datasets.registry import registry

    name, rows = table_and_rows(table)
    if name in registry():
        return min(registry()[name].n_rows, rows or math.inf)
    with suppress(SyntabulaError, OSError):
        return load_table(table).n_rows
    return math.inf


_MOST_LISTED = 20


def _few(known: Collection[str]) -> str:
    listed = ", ".join([*known][:_MOST_LISTED])
    return listed if len(known) <= _MOST_LISTED else f"{listed} and {len(known) - _MOST_LISTED} more"
