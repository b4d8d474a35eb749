"""Every figure of the papers' main tables beside ours, with the reason where ours is behind or was not run.

    python benchmarks/cells.py

Writes cells.md and cells.csv in benchmarks/results from the committed stores there. Nothing is run.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from cell_pages import page
from cell_reasons import Known, reason

from syntabula.bench import find_study
from syntabula.bench.store import Record, Store
from syntabula.bench.summary import Row, summarize
from syntabula.bench.tasks import badness

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, kw_only=True)
class Source:
    """One score of one printed table, and the studies and the store with ours."""

    paper: str
    table: str
    score: str
    words: str
    studies: tuple[str, ...]
    store: str

    @property
    def name(self) -> str:
        """Its heading."""
        return f"{self.paper}, {self.table.lower().replace(' d', ' D')}: {self.words}"


RANKS, BANK, NETWORKS = "synmeter-ranks", "tab_bench-t1-bank", "margnet-studies"
SOURCES = (
    Source(paper="SynMeter", table="Table 4", score="wasserstein [learned]", words="fidelity to learned rows",
           studies=("synmeter-t4",), store=RANKS),
    Source(paper="SynMeter", table="Table D17", score="wasserstein", words="fidelity to held-out rows",
           studies=("synmeter-t4",), store=RANKS),
    Source(paper="SynMeter", table="Table D28", score="affinity", words="affinity, fixed evaluators",
           studies=("synmeter-f2", "synmeter-f4"), store=RANKS),
    Source(paper="SynMeter", table="Table D28", score="affinity-tuned", words="affinity, tuned evaluators",
           studies=("synmeter-d28",), store="synmeter-studies"),
    Source(paper="SynMeter", table="Table D29", score="query-error-prefix", words="query error",
           studies=("synmeter-d29",), store=RANKS),
    Source(paper="SynMeter", table="Table 5", score="membership-disclosure", words="membership disclosure",
           studies=("synmeter-t5",), store=""),
    Source(paper="tab_bench", table="Table 1", score="efficacy", words="F1", studies=("tab_bench-t1",), store=BANK),
    Source(paper="tab_bench", table="Table 1", score="query-error-prefix", words="query error",
           studies=("tab_bench-t1",), store=BANK),
    Source(paper="tab_bench", table="Table 1", score="tvd-2", words="fidelity error", studies=("tab_bench-t1",),
           store=BANK),
    *(
        Source(paper="MargNet", table=f"Table {n}", score=score, words=words, studies=(f"margnet-t{n}",),
               store=NETWORKS)
        for n in (6, 8, 9)
        for score, words in (
            ("efficacy", "F1"), ("query-error-prefix", "query error"), ("tvd-2", "fidelity error"),
        )
        if n == 6 or score != "efficacy"
    ),
)  # fmt: skip
"""MargNet's Gaussian tables have no column to predict. Running times are not compared: the machines differ."""


@dataclass(frozen=True, kw_only=True)
class PaperCell:
    """One printed figure, and ours where there is one.

    Attributes:
        source: Where it is printed.
        dataset: Our name of the table; empty if it is not at hand.
        title: The paper's name of it.
        label: Our name of the method.
        method: The paper's.
        epsilon: Budget.
        theirs: The paper's figure.
        digits: Digits that the paper prints after the point.
        ours: Our mean; NaN if it was not run.
        error: Its standard error: over seeds, or over the shadow models of the record that discloses most.
        n: Seeds, or shadow models.
        runs: How often it was run, in words.
        store: The store with ours.
        facts: Means of its other scores, and facts of its result.
        status: "no more", "level" if it is so after rounding to the paper's digits, "behind", or "not run".
        reason: Group of the reason and the number that shows it; empty where ours is no worse.
    """

    source: Source
    dataset: str
    title: str
    label: str
    method: str
    epsilon: float
    theirs: float
    digits: int
    ours: float = math.nan
    error: float = math.nan
    n: int = 0
    runs: str = ""
    store: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    status: str = "not run"
    reason: tuple[str, str] = ("", "")

    @property
    def worse(self) -> float:
        """How many times as bad as the paper's it is."""
        task = "disclosure" if self.source.score == "membership-disclosure" else "tables"
        lower = badness(task, self.source.score, 1.0) > 0
        return self.ours / self.theirs if lower else self.theirs / self.ours

    def judged(self) -> PaperCell:
        """Return it with its status."""
        if math.isnan(self.ours):
            return self
        rounded = replace(self, ours=round(self.ours, self.digits)).worse
        return replace(self, status="no more" if self.worse <= 1 else "level" if rounded <= 1 else "behind")


def printed(source: Source, papers: Mapping[str, Any]) -> Iterator[PaperCell]:
    """Yield every figure of a printed score; real rows are no method."""
    places = [p for name in source.studies for p in find_study(name).reported if p.table == source.table]
    theirs = next(p.scores[source.score] for p in places if source.score in p.scores)
    figures = papers[source.paper]["tables"][source.table][theirs]
    titles = {title: name for p in places for name, title in p.datasets.items()}
    labels = {
        method: label for p in places for label, method in reversed(p.methods.items()) if "(" not in label
    }
    values = [v for x in figures.values() for y in x.values() for v in y.values()]
    digits = max(len(str(v).partition(".")[2]) for v in values)
    for title, by_method in figures.items():
        for method, by_epsilon in by_method.items():
            for epsilon, value in by_epsilon.items():
                if method != "Ground Truth":
                    yield PaperCell(
                        source=source, dataset=titles.get(title, ""), title=title, label=labels[method],
                        method=method, epsilon=float(epsilon), theirs=float(value), digits=digits,
                    )  # fmt: skip


def records(store: str) -> dict[str, Record]:
    """Return the results of a committed store."""
    return Store(RESULTS / f"{store}.jsonl").records()


def with_ours(cell: PaperCell, rows: Mapping[tuple[str, str, float], Row]) -> PaperCell:
    """Return a cell with our mean over seeds, if it was run."""
    row = rows.get((cell.dataset, cell.label, cell.epsilon))
    value = math.nan if row is None else row.means.get(cell.source.score, math.nan)
    if row is None or math.isnan(value):
        return cell
    error = row.spreads[cell.source.score] / math.sqrt(row.n)
    runs = f"{row.n} seed" + "s" * (row.n > 1)
    return replace(
        cell, ours=value, error=error, n=row.n, runs=runs, store=cell.source.store, facts=row.means
    )


@dataclass(frozen=True, kw_only=True, order=True)
class Disclosed:
    """One run of membership disclosure; that with most shadow models stands, then with most draws, then the newest."""

    shadows: int
    draws: int
    finished: str
    value: float
    error: float
    by_chance: float
    store: str

    @property
    def runs(self) -> str:
        """Its models and tables in words."""
        return f"{self.shadows} × {self.draws} models"


def disclosed() -> dict[tuple[str, str], list[Disclosed]]:
    """Return the runs of membership disclosure without privacy by table and method, that which stands first."""
    found: dict[tuple[str, str], list[Disclosed]] = {}
    for store in (RANKS, "synmeter-studies"):
        for r in records(store).values():
            if r.cell.task == "disclosure" and math.isinf(r.cell.epsilon) and r.status == "done":
                run = Disclosed(
                    shadows=int(r.cell.task_options["shadows"]), draws=int(r.cell.task_options["draws"]),
                    finished=r.finished, value=r.scores["membership-disclosure"], store=store,
                    error=r.facts["standard_error"], by_chance=r.facts.get("by_chance", math.nan),
                )  # fmt: skip
                found.setdefault((r.cell.dataset, r.cell.label), []).append(run)
    for line in (RESULTS / "synmeter.jsonl").read_text(encoding="utf-8").splitlines():
        facts = json.loads(line)
        cell = facts["cell"]
        if cell["kind"] == "disclosure" and cell["epsilon"] in ("inf", None):
            run = Disclosed(
                shadows=cell["shadows"], draws=cell["draws"], finished="", value=facts["value"],
                error=facts.get("standard_error", math.nan), by_chance=math.nan, store="synmeter",
            )  # fmt: skip
            found.setdefault((cell["table"], cell["method"]), []).append(run)
    return {place: sorted(runs, reverse=True) for place, runs in found.items()}


def with_disclosure(cell: PaperCell, runs: Sequence[Disclosed]) -> PaperCell:
    """Return a cell of table 5 with the run that stands, if there is one."""
    if not runs:
        return cell
    best, *others = runs
    said = [f"{run.value:.3f} with {run.runs}" for run in others]
    facts = {"by_chance": best.by_chance, "others": said, "shadows": best.shadows}
    return replace(
        cell, ours=best.value, error=best.error, n=best.shadows, runs=best.runs, store=best.store, facts=facts
    )


def all_cells() -> list[PaperCell]:
    """Return every cell with its status and reason."""
    text = resources.files("syntabula.bench").joinpath("reported.json").read_text(encoding="utf-8")
    papers, runs = json.loads(text), disclosed()
    stores = {source.store: records(source.store) for source in SOURCES if source.store}
    cells: list[PaperCell] = []
    rows: dict[tuple[str, str, str, float], Row] = {}
    for source in SOURCES:
        found: dict[tuple[str, str, float], Row] = {}
        for name in source.studies if source.store else ():
            found |= {
                (r.dataset, r.label, r.epsilon): r
                for r in summarize(find_study(name), stores[source.store]).rows
                if r.n
            }
        rows |= {(source.store, *place): row for place, row in found.items()}
        for cell in printed(source, papers):
            ours = (
                with_ours(cell, found)
                if source.store
                else with_disclosure(cell, runs.get((cell.dataset, cell.label), ()))
            )
            cells.append(ours.judged())
    known = Known(cells=cells, rows=rows, parts=list(records("tab_bench-studies").values()), papers=papers)
    return [replace(c, reason=reason(c, known)) if c.status != "no more" else c for c in cells]


def as_csv(cells: Sequence[PaperCell]) -> str:
    """Return one line for each cell."""
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\n")
    table.writerow(
        ["paper", "table", "score", "dataset", "method", "epsilon", "printed", "ours", "standard error", "runs",
         "times as bad", "status", "reason", "evidence", "our method", "store"]
    )  # fmt: skip
    for c in cells:
        known = [f"{v:.6g}" if not math.isnan(v) else "" for v in (c.ours, c.error)]
        worse = "" if math.isnan(c.ours) else f"{c.worse:.4g}"
        table.writerow(
            [c.source.paper, c.source.table, c.source.words, c.title, c.method, f"{c.epsilon:g}", c.theirs, *known,
             c.runs, worse, c.status, *c.reason, c.label, c.store]
        )  # fmt: skip
    return written.getvalue()


def main() -> None:
    """Write both files."""
    cells = all_cells()
    (RESULTS / "cells.md").write_text(page(cells), encoding="utf-8")
    (RESULTS / "cells.csv").write_text(as_csv(cells), encoding="utf-8")


if __name__ == "__main__":
    main()
