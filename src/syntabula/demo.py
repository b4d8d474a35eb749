"""A complete example: a table, a private release, a synthetic table, and a plot of how close it is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from syntabula import Release, Schema

EPSILON = 1.0
MOST_INTERVIEWS = 3
SAMPLE_SEED = 0


@dataclass(frozen=True, kw_only=True)
class Demo:
    """The results of the demo; the distances are computed from the real table and are not private.

    Attributes:
        table: Name of the table.
        method: The method, and which it chose.
        n_rows: Number of rows of the real table.
        n_drawn: Number of synthetic rows.
        fit_seconds: Time of the fit.
        seconds: Total time, reading and plotting included.
        one_way: Mean total variation distance over columns.
        two_way: Mean total variation distance over pairs of columns.
        two_way_untied: The same if the synthetic columns were independent, as a baseline.
        n_rules: Number of rules in the schema.
        n_broken: Number of synthetic rows that break one.
        statement: The privacy statement, shortened to its verdict and spending.
        paths: The files written, by their purpose.
    """

    table: str
    method: str
    n_rows: int
    n_drawn: int
    fit_seconds: float
    seconds: float
    one_way: float
    two_way: float
    two_way_untied: float
    n_rules: int
    n_broken: int
    statement: str
    paths: dict[str, str]

    def describe(self) -> str:
        """Return the result as plain text."""
        whom = f"one person is protected, with all of up to {MOST_INTERVIEWS} rows"
        broken = f"{self.n_broken:,} synthetic rows break" if self.n_broken else "no synthetic row breaks"
        files = [f"  {what:<18} {path}" for what, path in self.paths.items()]
        return "\n".join(
            [
                f"{self.method} at epsilon = {EPSILON:g} on {self.table}",
                f"{self.n_drawn:,} rows; fitted in {self.fit_seconds:.1f} s, {self.seconds:.1f} s in all",
                "",
                f"  rules    {broken} any of the {self.n_rules} rules of the schema",
                f"  persons  {whom}; rows of one synthetic key are drawn apart",
                "",
                self.statement,
                "",
                "How close (total variation distance, 0 is alike, 1 is disjoint)",
                "NOT PRIVATE: computed from the real table, like the picture; do not release",
                f"  mean over columns            {self.one_way:.4f}",
                f"  mean over pairs of columns   {self.two_way:.4f}",
                f"  the same without any ties    {self.two_way_untied:.4f}   (independent columns)",
                "",
                "Files",
                *files,
            ]
        )

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON-able facts."""
        return {
            "table": self.table,
            "method": self.method,
            "epsilon": EPSILON,
            "n_rows_drawn": self.n_drawn,
            "fit_seconds": self.fit_seconds,
            "seconds": self.seconds,
            "n_rules": self.n_rules,
            "n_rows_that_break_a_rule": self.n_broken,
            "rows_per_unit": MOST_INTERVIEWS,
            "not_private": {
                "n_rows_real": self.n_rows,
                "mean_one_way_tvd": self.one_way,
                "mean_two_way_tvd": self.two_way,
                "mean_two_way_tvd_untied": self.two_way_untied,
            },
            "files": self.paths,
        }


def run_demo(out: str | os.PathLike[str], *, progress: Callable[[str, float], None] | None = None) -> Demo:
    """Fit the default method to a table at epsilon 1 and write a CSV file, the release, and a plot.

    The table is a simulated census, in which persons have up to three rows and each row follows rules.

    Args:
        out: Folder for the results; created if it does not exist.
        progress: Called with the name of a step and the fraction of all work that is done.

    Returns:
        Distances, times and paths.

    Raises:
        MissingExtraError: If matplotlib or pandas is not installed; raised before anything is computed.
        OSError: If the folder cannot be written to.
    """
    import syntabula
    from syntabula.metrics.reading import compare
    from syntabula.metrics.rules import BrokenRules
    from syntabula.metrics.total_variation import TotalVariation
    from syntabula.report.marginal_picture import draw_marginals, require_matplotlib

    require_matplotlib()
    report = progress or (lambda step, done: None)
    started = time.perf_counter()
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    csv, saved, picture = folder / "synthetic.csv", folder / "release.syn", folder / "marginals.png"

    report("load the table", 0.0)
    name, frame, schema = _table()
    fit_started = time.perf_counter()
    method = syntabula.Auto(epsilon=EPSILON, progress=lambda step, done: report(step, 0.05 + 0.75 * done))
    release = method.fit(frame, schema)
    fit_seconds = time.perf_counter() - fit_started
    choice = release.privacy.choice
    named = release.method if choice is None else f"{release.method} ({choice.method})"

    report("write the release and the rows", 0.8)
    release.save(saved)
    n_drawn = release.sample_to(csv, seed=SAMPLE_SEED)

    report("compare with the real table (not private)", 0.85)
    tables = compare(frame, release.sample(n_drawn, seed=SAMPLE_SEED), schema=schema)
    title = f"{named} at epsilon = {EPSILON:g}: {name}"
    times = [column for column, kind in schema.columns.items() if kind.kind in ("date", "datetime")]
    distances = draw_marginals(picture, tables, title=title, times=times)
    rng = np.random.default_rng(SAMPLE_SEED)
    broken = BrokenRules()(tables, rng).value
    untied = TotalVariation()(tables.histogram(rng), rng).value
    report("done", 1.0)
    return Demo(
        table=name,
        method=named,
        n_rows=tables.real.n_rows,
        n_drawn=n_drawn,
        fit_seconds=fit_seconds,
        seconds=time.perf_counter() - started,
        one_way=distances.mean_one_way,
        two_way=distances.mean_two_way,
        two_way_untied=untied,
        n_rules=0 if schema.rules is None else len(schema.rules),
        n_broken=round(broken * n_drawn),
        statement=_summary(release),
        paths={"synthetic table": str(csv), "release": str(saved), "picture": str(picture)},
    )


def _table(n_rows: int = 30_000) -> tuple[str, Any, Schema]:
    """Return a table as users have them: it has atoms, a tail, missing cells, rules, and several rows of a person."""
    from syntabula import Rules, Schema, datasets

    schema = Schema(
        datasets.census_schema().columns,
        unit="person_id",
        rows_per_unit=MOST_INTERVIEWS,
        rules=Rules(
            order=[["last_visit", "interview_date"]],
            require=[
                "employed or (occupation is null and hours_per_week is null and commute_minutes is null)",
                "not employed or occupation is not null",
                "age >= 18 or marital_status = 'never_married'",
            ],
        ),
    )
    return "a simulated census", datasets.census(n_rows, most_interviews=MOST_INTERVIEWS), schema


def _summary(release: Release) -> str:
    """Return the first part of the privacy statement: its verdict and the budget spent."""
    text = release.privacy.text()
    return text.split("\n\nWhat is taken as public")[0].rstrip()
