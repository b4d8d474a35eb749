"""The report page: everything known about a synthetic table, in one self-contained file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from syntabula._arguments import count, refusal, text
from syntabula._extras import require
from syntabula._figures import with_spread
from syntabula._files import whole_file
from syntabula._planning import Progress
from syntabula.errors import ArgumentError, PrivacyWarning, warn_caller
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.evaluate import choose_metrics, score_tables
from syntabula.metrics.evaluation import NOT_PRIVATE, Evaluation, Result
from syntabula.metrics.plane import Method, check_method, lay_out
from syntabula.metrics.reading import compare
from syntabula.report import plots, words
from syntabula.report.cards import MOST_IN_MAP, MOST_PAIRS, Cards
from syntabula.report.differences import differences
from syntabula.report.results import (
    Facts,
    PathLike,
    check_same_tables,
    not_computed,
    read_attacks,
    read_evaluation,
)
from syntabula.table.draft import whole_schema
from syntabula.table.frames.text_numbers import with_texts_read
from syntabula.table.new_keys import MANY_VALUES
from syntabula.table.raw import RawColumn, RawTable
from syntabula.table.read import read
from syntabula.table.schema.columns import Column, Identifier
from syntabula.table.schema.schema import Schema, as_schema

if TYPE_CHECKING:
    from syntabula.synthesizers.release import Release
    from syntabula.table.schema.schema import SchemaSource


_QUICK = ("rows", "tvd-1", "tvd-2", "ks", "association", "query-error-3")
_UTILITY = ("predictive-utility",)
_DISTANCES = {"tvd-1": 1, "tvd-2": 2}
_TIES = "association"


@dataclass(frozen=True, kw_only=True)
class Report:
    """A page about a synthetic table. It is computed from the real table, so it is not private.

    Attributes:
        html: The page.
        title: Its title.
        overview: Its summary, in a few sentences.
    """

    html: str
    title: str
    overview: tuple[str, ...]

    def write(self, path: PathLike) -> None:
        """Write the page to a file, whole or not at all; a symbolic link is replaced itself, not its target.

        Raises:
            ArgumentError: If the file is not named .html.
            OSError: If it cannot be written; an existing file is left unchanged.
        """
        check_name(path)
        with whole_file(path) as temporary:
            temporary.write_text(self.html, encoding="utf-8")

    def __repr__(self) -> str:
        return f"Report({self.title!r}, {len(self.html) // 1024} KB)"


def check_name(path: PathLike) -> None:
    """Raise ArgumentError unless a file's name ends in .html."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise ArgumentError(f"{str(path)!r} must end in .html; for a PDF, open the page and print it to one")


def make_report(
    real: Any,
    synthetic: Any,
    *,
    holdout: Any = None,
    target: str | None = None,
    schema: SchemaSource | None = None,
    release: Release | PathLike | None = None,
    evaluation: Evaluation | PathLike | None = None,
    attacks: Any = (),
    plane: Method = "pca",
    title: str = "How close is the synthetic table?",
    seed: int = 0,
    progress: Progress | None = None,
) -> Report:
    """Make one HTML page that shows how close a synthetic table is to the real one, and how private.

    The page needs no network and no other file. It is computed from the sensitive table without any noise, so
    it is not private; a PrivacyWarning and the page itself say so. Categories with fewer than five real rows
    are not named, and the outermost intervals of numbers are open.

    Args:
        real: The table that the synthetic one was made from: path, data frame, Arrow table or relation.
        synthetic: The table to show.
        holdout: Real records that the synthesizer has not seen, for scores.
        target: Column to predict, for utility scores.
        schema: Which columns are numeric, categorical, times or identifiers; inferred from the real table
            if not given.
        release: Release that the synthetic table was drawn from, or its file, for its privacy statement, and its
            rules where the schema has none, whose columns are read as it declares them; a rule on a column that the
            schema declares otherwise is left out. Undeclared columns that its
            schema declared as identifiers, or of more than 1,000 values that it made anew, are left out as
            identifiers, and rows of its units are kept together, unless scores are given.
        evaluation: Scores of the same tables: the result of `evaluate`, or a file from `syntabula evaluate
            --json`. By default a few quick scores are computed.
        attacks: Results of `attack` or `membership_disclosure`, a file from `syntabula attack`, or several of these.
        plane: Projection of rows onto a plane: "pca" or "tsne".
        title: Title of the page.
        seed: Seed of the choice of rows for the plane, and of the scores computed here.
        progress: Called with the name of a step and the fraction done.

    Returns:
        The page.

    Raises:
        ArgumentError: If an argument is invalid, or results are of other tables.
        DataError: If a table cannot be read, or the tables cannot be compared.
        SchemaError: If the tables have different columns, or do not match the schema.
        ReleaseFileError: If the release cannot be read.
        MissingExtraError: If a library is missing: `pip install "syntabula[report]"`.
        OSError: If a file of results cannot be read.

    Examples:
        >>> import warnings
        >>> from syntabula import datasets, make_report
        >>> real, other = datasets.census(n_rows=300, seed=1), datasets.census(n_rows=300, seed=2)
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     report = make_report(real, other, title="Two samples")
        >>> report.title, report.html.startswith("<!doctype html>")
        ('Two samples', True)
    """
    show = progress or (lambda step, done: None)
    for library in ("matplotlib", "jinja2"):
        require(library, "report")
    check_method(plane)
    seed = count(0)("seed", seed)
    title = text("title", title)
    given = None if evaluation is None else read_evaluation(evaluation)
    findings = read_attacks(attacks)
    show("read the tables", 0.0)
    declared = None if schema is None else as_schema(schema)
    loaded = None if release is None else _loaded(release)
    original = read(real, declared)
    unchecked: Sequence[str] = ()
    if loaded is not None and given is None:
        declared, unchecked = _as_released(declared, loaded, original)
        original = read(real, declared)
    original = with_texts_read(original, declared)
    kinds = whole_schema(original, declared)
    # Scores that are given compare the columns that `evaluate` does.
    if loaded is not None and given is None:
        kinds = _with_new_keys(kinds, original, declared, loaded.schema, target)
    tables = compare(original, synthetic, holdout=holdout, target=target, schema=kinds)
    if tables.real.n_rows < 2:
        raise ArgumentError("the real table has a single row; a report needs two or more")
    if tables.real.units is not None and not tables.real.units.any():
        assert kinds.unit is not None
        raise ArgumentError(
            f"all rows of the real table have one value of {kinds.unit!r}, the unit; a report compares halves of the "
            "table without a unit in common, so it needs two or more. Give a schema without `unit` to compare single rows"
        )
    if loaded is not None and set(loaded.schema.columns) != {*tables.columns, *tables.left_out}:
        raise ArgumentError(
            "the release has different columns than the tables; give the one that the synthetic table was drawn from"
        )
    statement = None if loaded is None else loaded.privacy
    empty = {} if loaded is None else loaded.empty_categories()
    warn_caller(PrivacyWarning(NOT_PRIVATE))

    results = _results(tables, given, seed, show)
    distances = {_DISTANCES[r.score.metric]: r.score for r in results if _is_distance(r)}
    ties = next(r.score for r in results if r.score.metric == _TIES and r.against == "real")
    found = differences(tables, distances, seed)
    times = {name for name in tables.columns if kinds[name].kind in ("date", "datetime")}
    show("draw columns and pairs", 0.5)
    cards = Cards(tables=tables, times=times, found=found)
    overview = words.overview(tables, distances, ties, found)
    if unchecked:
        overview.append(words.unchecked_rules(unchecked, whole=tables.rules is None))
    content: dict[str, Any] = {
        "title": title,
        "overview": overview,
        "tiles": words.tiles(distances, ties, statement, findings),
        "worst": {way: cards.listed(parts[:MOST_PAIRS]) for way, parts in found.items()},
        "map": cards.map(),
        "map_columns": min(len(tables.columns), MOST_IN_MAP),
        "columns": cards.columns(),
        "n_columns": len(tables.columns),
        "pairs": cards.pairs(),
        "results": [(result, words.scale(result)) for result in results],
        "not_computed": [] if given is None else not_computed(given[1], results),
        "attacks": [facts for facts in findings if "auc" in facts],
        "disclosures": [(facts, words.disclosure_scale(facts)) for facts in findings if "auc" not in facts],
        "statement": statement,
        "empty": words.of_empty_categories(empty, loaded.schema.columns) if loaded and empty else "",
        "method": plane,
    }
    show("lay out the rows", 0.8)
    content["plane"] = _plane(tables, plane, seed)
    show("write the page", 0.98)
    return Report(html=_rendered(content), title=title, overview=tuple(overview))


def _loaded(release: Any) -> Release:
    from syntabula.synthesizers.release import Release, load

    loaded = load(release) if isinstance(release, str | os.PathLike) else release
    if not isinstance(loaded, Release):
        raise refusal("release", "a syntabula.Release, or the path of its file", release)
    return loaded


def _with_new_keys(
    kinds: Schema, real: RawTable, declared: Schema | None, released: Schema, target: str | None
) -> Schema:
    """Return the schema with columns of very many values as identifiers where the release made them anew.

    They would differ in all rows, and the page would be about nothing else. So do columns that its schema declared as
    identifiers; one of few values that was found to be keys remains, as it is lost.
    """
    stated = {target} if declared is None else {target, *declared.columns}
    made = {
        name: column
        for name, column in released.columns.items()
        if isinstance(column, Identifier)
        and name in kinds.columns
        and name not in stated
        and (column.provenance != "private" or _has_many_values(real.columns[name]))
    }
    return kinds.with_columns({**kinds.columns, **made}, rules=kinds.rules) if made else kinds


def _as_released(
    declared: Schema | None, release: Release, real: RawTable
) -> tuple[Schema | None, Sequence[str]]:
    """Return the schema with what a release knows of rows as a whole, where it says nothing of it itself.

    That is the unit, so that halves keep the rows of a person together, and the rules, with the columns that they are on:
    read otherwise, such as codes for numbers, their cells could not be checked.

    Returns:
        The schema, and the release's rules that are left out, as they name a column that is declared otherwise or that
        the real table lacks.
    """
    released, rules = release.schema, release.rules
    columns: dict[str, Column] = {}
    of_table: dict[str, Any] = {}
    unchecked: Sequence[str] = ()
    if declared is None and released.unit in real.columns:
        assert released.unit is not None
        columns[released.unit] = Identifier()
        of_table |= {"unit": released.unit, "rows_per_unit": released.rows_per_unit}
    if rules is not None and (declared is None or declared.rules is None):
        from syntabula.table.rules.kept_rules import kept_rules

        stated = {} if declared is None else declared.columns
        # Whoever declares a column of a rule otherwise compares it otherwise, so that the rule says nothing of it.
        otherwise = {n for n in stated if n in released and not _are_alike(stated[n], released[n])}
        kept = kept_rules(rules, otherwise | (released.columns.keys() - real.columns.keys()))
        unchecked = kept.left_out
        if kept.rules is not None:
            columns |= {name: released[name] for name in released if name in kept.columns - stated.keys()}
            of_table["rules"] = kept.rules
    if declared is not None:
        columns = {**declared.columns, **columns}
        return (replace(declared, columns=columns, **of_table) if of_table else declared), unchecked
    return (Schema(columns, others="find", **of_table) if of_table else None), unchecked


def _are_alike(one: Column, other: Column) -> bool:
    return type(one) is type(other) and one.stored.kind == other.stored.kind


def _has_many_values(column: RawColumn) -> bool:
    return len(set(column.values[~column.missing].tolist())) > MANY_VALUES


def _is_distance(result: Result) -> bool:
    return result.against == "real" and result.score.metric in _DISTANCES


def _is_needed(result: Result) -> bool:
    return _is_distance(result) or (result.against == "real" and result.score.metric == _TIES)


def _results(
    tables: Comparison, given: tuple[tuple[Result, ...], Facts] | None, seed: int, show: Progress
) -> list[Result]:
    """Return the scores to show: those given, or a few quick ones, and always those of the overview."""
    if given is not None:
        check_same_tables(given[1], tables)
        results = [*given[0]]
        complete = {
            r.score.metric
            for r in results
            if _is_needed(r) and {"HALF", "HISTOGRAM"} <= set(r.score.baselines)
        }
        wanted = [key for key in (*_DISTANCES, _TIES) if key not in complete]
        results = [r for r in results if not (_is_needed(r) and r.score.metric in wanted)]
    else:
        results, wanted = [], [*_QUICK]
        wanted += ["broken-rules"] if tables.rules is not None else []
        if tables.target is not None and tables.holdout is not None:
            wanted += _UTILITY
    if wanted:
        alone = tables if given is None else replace(tables, holdout=None)
        chosen = choose_metrics(
            wanted,
            has_target=tables.target is not None,
            has_holdout=tables.holdout is not None,
            has_rules=tables.rules is not None,
        )
        results = [
            *score_tables(
                alone,
                chosen,
                ("HALF", "HISTOGRAM"),
                seed=seed,
                workers=os.cpu_count() or 1,
                progress=lambda step, done: show(step, 0.05 + 0.45 * done),
            ),
            *results,
        ]
    return results


def _plane(tables: Comparison, method: Method, seed: int) -> dict[str, Any]:
    placed = lay_out(tables, method, seed)
    return {
        "explained": None if placed.explained is None else words.percent(placed.explained),
        "real": plots.plot_plane(placed.real, placed.limits, synthetic=False),
        "synthetic": plots.plot_plane(placed.synthetic, placed.limits, synthetic=True),
        "n_real": len(placed.real),
        "n_synthetic": len(placed.synthetic),
    }


def _rendered(content: Mapping[str, Any]) -> str:
    jinja2 = require("jinja2", "report")
    from syntabula._version import __version__

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "template"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        function.__name__: function
        for function in (words.percent, words.number, words.joined, words.paragraphs, with_spread)
    }
    page = environment.get_template("page.html").render(version=__version__, **content)
    return cast("str", page)
