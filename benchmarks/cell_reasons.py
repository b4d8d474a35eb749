"""Why a cell of a paper is behind, level or not run here, with the number that shows it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula.bench.store import Record
from syntabula.bench.summary import Row

if TYPE_CHECKING:
    from cells import PaperCell

GROUPS = {
    "digits": "Equal to the digits that the paper prints.",
    "seeds": "Within two standard errors of our mean over seeds, so that these seeds cannot tell them apart.",
    "half": "The paper's figure is at or below what a half of the real rows (HALF) reaches here, and it discloses "
    "more of its members than ours does; ours is above both.",
    "tree": "MST keeps d - 1 pairs of columns, whichever hold the label; the paper's PGM measures 10 to 50 pairs "
    "and 5 to 20 triples (its table A1). Measured here, one seed, three learners: the pairs of every "
    "column with the label take bean without privacy from .354 to .037 (the paper .035) and magic from "
    ".189 to .103 (.073), and magic at epsilon 1 from .197 to .110 (.093); on bean at 1 the tree is level "
    "with them (.042 and .043). So without noise MST can be worse than at epsilon 1. On obesity and "
    "faults at 1 it is not the tree alone, as PrivSyn is behind the paper's PGM too: of what a learner "
    "sees our methods keep little there (columns drawn apart have .87 and .71). This is what MST is; "
    "PrivSyn, AIM and `auto` are for tables whose rows are to train a learner.",
    "emphasis": "TVAE counts the reconstruction twice here (`emphasis`), as public code does; the paper searches "
    "factors of 1 to 5. No factor is best on all tables: by one seed and three learners once and twice had 1.46 and "
    ".42 on insurance, .21 and .13 on abalone, .16 and .23 on wine. Ours takes 3,000 steps, the paper 100 to 500 passes. "
    "On shoppers the modes of numbers with spikes take what columns tell of each other: with one mode it is .016 in "
    "seed 0 (`modes=1`), where pairs of other tables are farther. Cells of tuned evaluators are of earlier code.",
    "network": "Ours has default settings (4,000 steps for TabDDPM, and a small network trained anew for GReaT); the "
    "paper's is tuned (TabDDPM with 5,000 to 30,000 steps) or begins from a language model. Where both "
    "are known, theirs also discloses more of its members (Table 5). Five times the steps (20,000, seed 0, "
    "`longer_fits.yaml`) explain a part: TabDDPM's affinity goes from .071 to .048 on obesity (the paper .021), "
    "from .059 to .049 on wine (.047) and from .045 to .032 on robot (.011), in 1,110 to 1,190 processor seconds "
    "in place of 50 to 170; fidelity stays (.035 and .034, .014 and .015, .037 and .032). What is left is not known. "
    "`auto` is ahead of the paper's TabDDPM on most of these tables "
    "([studies.md](studies.md#the-default-without-privacy-beside-tabddpm)).",
    "weights": "CTGAN's rows are drawn again by weights with which columns have the table's marginals "
    "(`follow_marginals`). Where the network's own are far off, weights are uneven, and rows tell a learner less: on "
    "adult .049 where rows as the network draws them had .035, while fidelity came from .042 to .028.",
    "weaker": "Our TableDiffusion is weaker there for a learner, though nearer in fidelity on the same table; its "
    "settings are not tuned.",
    "models": "The score is the largest of thousands of records and falls with the number of shadow models, of "
    "which the paper has 80 with 100 tables each (its code 20): on insurance ten models have .153 for MST "
    "and .285 for PrivSyn, 80 have .067 and .232. On adult and shoppers 40 models of PrivSyn have .169 "
    "and .154, as much as memberships at random ([papers.md](papers.md#tables-synmeter)). So these are "
    "bounds from above.",
    "copies": "PrivSyn without noise is nearer to the rows that it learned than the paper's and discloses twice "
    "what chance does; the paper's figure is within its error.",
    "evaluators": "Learners have fixed settings here and are tuned in the paper, which shows on real rows: .736 and .76 "
    "with four of them, .733 with MargNet's three. As a part of what real rows reach, ours is no less "
    "than the paper's.",
    "fit": "One fit says little: the same selection and model in table 17 reach the paper's part of what real "
    "rows do.",
    "bins": "Real rows in the same bins have most of it already (`tab_bench-t16`).",
    "learner": "Nearer than the paper's in fidelity, and worse to learn from; one seed.",
    "other": "No reason is known.",
}
"""What each group of cells says; figures in it are of `affinity_reasons.jsonl`, `longer_fits.jsonl` and the stores."""

_NO_TABLE = {
    "News": "27 % of News alone is at hand (`news_part`), which is not comparable",
    "Loan": "no such data: Loan is not at hand",
    "Higgs-small": "no such data: Higgs-small is not at hand",
    "ACSincome": "no such data: the Alabama part alone is at hand, which is not comparable",
    "ACSEmploy": "no such data: the Alabama part alone is at hand, which is not comparable",
}
_TOO_LONG = {
    "affinity-tuned": "too long: tuning eight evaluators took 240 processor seconds on the smallest table and 2,400 "
    "on obesity; fixed ones stand for it",
}
_SELECTIONS = {"aim": "adaptive+pgm", "privmrf": "privmrf+pgm"}


@dataclass(frozen=True, kw_only=True)
class Known:
    """What the stores hold.

    Attributes:
        cells: All cells.
        rows: Rows of studies by store, table, label and budget.
        parts: Results of tab_bench's other studies.
        papers: The papers' figures.
    """

    cells: Sequence[PaperCell]
    rows: Mapping[tuple[str, str, str, float], Row]
    parts: Sequence[Record]
    papers: Mapping[str, Any]

    def mean(self, cell: PaperCell, label: str, score: str = "") -> float:
        """Return the mean of another row of the same table and budget; baselines have none."""
        epsilon = math.inf if label.isupper() else cell.epsilon
        row = self.rows.get((cell.source.store, cell.dataset, label, epsilon))
        return math.nan if row is None else row.means.get(score or cell.source.score, math.nan)

    def same(self, cell: PaperCell, score: str) -> PaperCell | None:
        """Return another score of the same table, method and budget."""
        at = (cell.source.paper, cell.title, cell.method, cell.epsilon, score)
        return next(
            (c for c in self.cells if (c.source.paper, c.title, c.method, c.epsilon, c.source.score) == at),
            None,
        )

    def of_bank(self, label: str, epsilon: float, keys: Sequence[str]) -> float:
        """Return the mean of scores of a row of tab_bench's tables 16 and 17 on bank."""
        for r in self.parts:
            if (r.cell.dataset, r.cell.label, r.cell.epsilon) == ("bank", label, epsilon):
                return float(np.mean([r.scores[key] for key in keys]))
        return math.nan


def reason(cell: PaperCell, known: Known) -> tuple[str, str]:
    """Return the group of the reason, and the number that shows it; for a cell that was not run, why."""
    if cell.status == "not run":
        return "not run", _why_not(cell, known)
    if cell.status == "level":
        return "digits", ""
    if cell.source.score == "membership-disclosure":
        return _of_disclosure(cell, known)
    apart = abs(cell.ours - cell.theirs) / cell.error if cell.n > 1 else math.inf
    if apart <= 2:
        return "seeds", f"{apart:.1f} standard errors of {cell.n} seeds"
    half = known.mean(cell, "HALF")
    if cell.source.paper == "SynMeter" and cell.theirs <= half:
        return "half", f"HALF {half:.4f}" + _disclosures(cell, known)
    if cell.source.paper == "SynMeter":
        return _of_synmeter(cell, known)
    return _of_bank(cell, known)


def _why_not(cell: PaperCell, known: Known) -> str:
    if not cell.dataset:
        return _NO_TABLE.get(cell.title, "no such data")
    if cell.source.score == "efficacy" and cell.title == "Adult":
        return "Adult as MargNet codes it has no held-out rows here, and so no F1"
    if cell.source.score in _TOO_LONG:
        return _TOO_LONG[cell.source.score]
    took = [
        row.processor_seconds
        for (store, _, label, _), row in known.rows.items()
        if (store, label) == (cell.source.store, cell.label) and not math.isnan(row.processor_seconds)
    ]
    return (
        f"no time: a cell of this method took up to {max(took):,.0f} processor seconds"
        if took
        else "not reached"
    )


def _of_disclosure(cell: PaperCell, known: Known) -> tuple[str, str]:
    chance, others = cell.facts["by_chance"], cell.facts["others"]
    said = [f"{(cell.ours - cell.theirs) / cell.error:.1f} standard errors of {cell.runs} above"]
    said += [] if math.isnan(chance) else [f"by chance {chance:.3f}"]
    if cell.facts["shadows"] >= 80 and cell.label == "privsyn":
        near = known.same(cell, "wasserstein [learned]")
        said += (
            [] if near is None else [f"fidelity to learned rows {near.ours:.4f}, the paper's {near.theirs}"]
        )
        return "copies", "; ".join(said)
    return "models", "; ".join(said + others[:1])


def _disclosures(cell: PaperCell, known: Known) -> str:
    found = known.same(cell, "membership-disclosure")
    if found is None:
        return ""
    ours = "not run here" if math.isnan(found.ours) else f"{found.ours:.3f} here"
    return f"; membership disclosure {found.theirs} in the paper, {ours}"


def _of_synmeter(cell: PaperCell, known: Known) -> tuple[str, str]:
    learners = [v for k, v in cell.facts.items() if k.startswith(f"{cell.source.score} ") and v == v]
    spread = f"single learners {min(learners):.3f} to {max(learners):.3f}" if learners else ""
    if cell.source.score not in ("affinity", "affinity-tuned"):
        half = f"HALF {known.mean(cell, 'HALF'):.4f}"
        return (
            ("network", half + _disclosures(cell, known))
            if cell.label in ("tabddpm", "great")
            else ("other", half)
        )
    if cell.label == "mst":
        return "tree", f"PrivSyn here {known.mean(cell, 'privsyn'):.3f}; {spread}"
    if cell.label == "tvae":
        return "emphasis", f"columns apart {known.mean(cell, 'HISTOGRAM'):.3f}" + (
            f"; {spread}" if spread else ""
        )
    if cell.label in ("tabddpm", "great"):
        return "network", f"HALF {known.mean(cell, 'HALF'):.4f}; {spread}" + _disclosures(cell, known)
    if cell.label == "ctgan":
        return "weights", spread
    near = known.same(cell, "wasserstein")
    if cell.label == "tablediffusion" and near is not None:
        return "weaker", f"{spread}; fidelity {near.ours:.3f}, the paper's {near.theirs}"
    return "other", spread


def _of_bank(cell: PaperCell, known: Known) -> tuple[str, str]:
    if cell.source.score != "efficacy":
        score = cell.source.score
        return "bins", f"real rows in bins {known.of_bank('Full Preprocessing', 1.0, [score]):.4f}"
    three = cell.source.paper == "MargNet"
    keys = [f"efficacy {k}" for k in ("catboost", "xgboost", "forest")] if three else ["efficacy"]
    real, theirs = known.of_bank("Raw", math.inf, keys), _ground_truth(known)
    parts = cell.ours / real, cell.theirs / theirs
    said = f"{parts[0]:.3f} of real rows, the paper's {parts[1]:.3f}"
    if parts[0] >= parts[1]:
        return "evaluators", said
    again = known.of_bank(_SELECTIONS.get(cell.label, ""), cell.epsilon, ["efficacy"])
    if again / real >= parts[1]:
        return "fit", f"{said}; in table 17 {again:.3f}"
    near = known.same(cell, "tvd-2")
    return "learner", said + (
        "" if near is None else f"; fidelity error {near.ours:.3f}, the paper's {near.theirs}"
    )


def _ground_truth(known: Known) -> float:
    figures = known.papers["tab_bench"]["tables"]["Table 1"]["ml_efficiency_f1"]["Bank"]["Ground Truth"]
    return float(figures["1"])
