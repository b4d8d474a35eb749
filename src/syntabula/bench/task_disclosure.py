"""A cell that scores membership disclosure (Du and Li, SynMeter)."""

from __future__ import annotations

from typing import Any

from syntabula.attacks.baselines import BASELINES
from syntabula.attacks.disclosure import membership_disclosure
from syntabula.bench.candidate import Candidate
from syntabula.bench.cell import Cell
from syntabula.bench.splits import Split, declared, table_of_synmeter
from syntabula.bench.task_tables import settings_of
from syntabula.bench.tasks import Outcome


def run(cell: Cell) -> Outcome:
    """Fit shadow models to halves of the table and score how much nearer members' synthetic records are."""
    table, schema = table_of_synmeter(cell.dataset)
    split = Split(fit=table, learned=table, held_out=None, schema=schema, target=None)
    options: dict[str, Any] = {"shadows": 20, "draws": 10, "records": None, **cell.task_options}
    # Copies need no repetition, as each of their draws is the same.
    draws = 1 if cell.method in ("SELF", "HALF") else int(options["draws"])
    score = membership_disclosure(
        table,
        synthesizer_of(cell, split),
        declared(split, cell.binning),
        n_shadows=int(options["shadows"]),
        n_draws=draws,
        max_records=options["records"],
        seed=cell.seed,
        baselines=False,
    )
    facts = {
        name: score.facts[name] for name in ("standard_error", "by_chance", "records") if name in score.facts
    }
    mean = float(score.facts["mean"])
    return Outcome(scores={"membership-disclosure": score.value, "mean-disclosure": mean}, facts=facts)


def synthesizer_of(cell: Cell, split: Split) -> Any:
    """Return what shadow models are fits of: the cell's method without a seed, or a table of known quality."""
    if cell.method in BASELINES:
        return BASELINES[cell.method]()
    given = settings_of(cell, split)
    given.pop("seed")  # each shadow model has its own
    return Candidate(method=cell.method, options=cell.options).synthesizer(**given)
