"""One HTML page of a study's results, in the style of the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from syntabula._extras import require
from syntabula.bench.summary import Summary, source_of
from syntabula.bench.words import (
    budget_of,
    changed,
    figure,
    mixed_code,
    not_run,
    number,
    over_tables,
    problems,
    without_target,
)
from syntabula.report.study_pictures import kept_figures
from syntabula.report.study_plots import rank_figures, study_figures


def make_study_page(summary: Summary) -> str:
    """Return a page with the pictures and the table of a study; it needs no network and no other file.

    Scores are computed from the tables of the study without noise, so the page is not private if they are not public.

    Raises:
        MissingExtraError: If a library is missing: `pip install "syntabula[report]"`.
    """
    jinja2 = require("jinja2", "report")
    require("matplotlib", "report")
    from syntabula._version import __version__

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "template"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    study = summary.study
    content: dict[str, Any] = {
        "study": study,
        "summary": summary,
        "several": len({row.bins for row in summary.shown} - {"none"}) > 1,
        "has_paper": any(row.paper for row in summary.rows),
        "pictures": study_figures(summary),
        "kept": kept_figures(summary),
        "ranks": rank_figures(summary),
        "over_tables": over_tables(summary),
        "problems": problems(summary),
        "lines": [*not_run(summary), *without_target(study), *changed(summary.changed), *mixed_code(summary)],
        "sources": [source_of(paper) for paper in dict.fromkeys(place.paper for place in study.reported)],
        "version": __version__,
    }
    environment.globals |= {"figure": figure, "number": number, "budget_of": budget_of}
    return cast("str", environment.get_template("study.html").render(**content))
