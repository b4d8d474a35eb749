"""A cell that sets three measures of disclosure side by side (Du and Li, SynMeter v2, Figure 8a)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from syntabula.attacks.membership import attack
from syntabula.bench import task_disclosure, task_tables
from syntabula.bench.cell import Cell
from syntabula.bench.splits import Split, declared, table_of_synmeter
from syntabula.bench.tasks import Outcome

_RATE = 0.1
"""False positive rate at which the attack's true positive rate is told."""


def run(cell: Cell) -> Outcome:
    """Score one method by its distance to closest records, an attack on the outlier, and membership disclosure.

    The attack is GroundHog (Stadler, Oprisanu, Troncoso 2022): `attack-accuracy` is the share of its right guesses, and
    `attack-tpr` its true positive rate where a tenth of the tables without the record are called members. Chance is one
    half and a tenth. The option `shadows` counts the models of the attack, and those of the disclosure as well.
    """
    options: dict[str, Any] = {"shadows": 20, "draws": 10, "records": None, **cell.task_options}
    near = replace(cell, task="tables", scores=("dcr",), task_options={}, against=("learned",))
    scores = {"dcr": task_tables.run(near).scores["dcr"]}
    disclosed = task_disclosure.run(replace(cell, task="disclosure", task_options=options))
    scores["membership-disclosure"] = disclosed.scores["membership-disclosure"]
    table, schema = table_of_synmeter(cell.dataset)
    split = Split(fit=table, learned=table, held_out=None, schema=schema, target=None)
    (found,) = attack(
        table,
        task_disclosure.synthesizer_of(cell, split),
        declared(split, cell.binning),
        attacks=("groundhog",),
        n_shadows=int(options["shadows"]),
        seed=cell.seed,
    ).values()
    scores |= {"attack-accuracy": found.success, "attack-tpr": found.tpr_at_fpr[_RATE]}
    facts = {**disclosed.facts, "epsilon at least": found.epsilon_lower}
    return Outcome(scores={name: float(scores[name]) for name in cell.scores}, facts=facts)
