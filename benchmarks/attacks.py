"""Reproduce PS1 of Ganev et al., "The Importance of Being Discrete", and score disclosure as SynMeter does.

    python benchmarks/attacks.py ps1|disclosure [--shadows N] [--workers N] [--folder FOLDER] [--out FILE]

Both need SYNTABULA_DATA. PS1 attacks the record of wine whose sulfur dioxide (289 and 440) lies outside the range
of all others (146.5 and 366.5), with epsilon 1 for bins and domain and 1 for the model: given, the domain of the
whole table is declared public; observed, every fit reads it off its table; found, it is found privately for half
of the first epsilon. Uniform bins of a given or observed domain cost nothing, so that only the model's epsilon is
spent. Disclosure scores MST and Independent without privacy against the three baselines.

Departures from the paper: budgets are approximate (delta 1e-5), models are ours, and `quality` is left out, which
leaves the paper's 11 columns. An interrupted run goes on from --folder.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import sys
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import syntabula as st
from syntabula import attacks

DISCRETIZERS = ("uniform", "quantile", "kmeans", "privtree")
DOMAINS = ("given", "observed", "found")
MODELS = ("mst", "privbayes")
TARGET_VALUE = 440.0


def ps1(shadows: int, workers: int, folder: Path | None) -> list[dict[str, Any]]:
    """AUC and success of three attacks by model, discretiser and domain."""
    frame = st.datasets.load("wine").frame.drop(columns="quality")
    target = int((frame["total_sulfur_dioxide"] == TARGET_VALUE).to_numpy().argmax())
    drafted = st.draft_schema(frame)[0]
    public = st.Schema(
        {name: replace(column, provenance="public") for name, column in drafted.columns.items()}
    )
    rows = []
    for model, discretizer, domain in itertools.product(MODELS, DISCRETIZERS, DOMAINS):
        costs_nothing = discretizer == "uniform" and domain != "found"
        method = st.synthesizer(model)(
            epsilon=1.0 if costs_nothing else 2.0,
            bins=20,
            allow_observed=domain == "observed",
            preprocessing=st.Preprocessing(discretizer=discretizer, share=Fraction(1, 2)),
        )
        found = st.attack(
            frame,
            method,
            public if domain == "given" else None,
            attacks=("range", "groundhog", "querybased"),
            target=target,
            n_shadows=shadows,
            workers=workers,
            folder=None if folder is None else folder / f"{model}-{discretizer}-{domain}",
        )
        for key, result in found.items():
            facts = {"model": model, "bins": discretizer, "domain": domain, "attack": key}
            rows.append(facts | {k: v for k, v in result.to_json().items() if k != "attack"})
            shown = {k: rows[-1][k] for k in ("auc", "success", "epsilon_lower", "seconds_per_shadow")}
            print(json.dumps(facts | shown), file=sys.stderr, flush=True)
    return rows


def disclosure(shadows: int, workers: int, folder: Path | None) -> list[dict[str, Any]]:
    """Membership disclosure of two methods without privacy, and of the baselines."""
    rows = []
    for table, key in itertools.product(("wine", "abalone"), ("independent", "mst")):
        place = None if folder is None else folder / f"disclosure-{table}-{key}"
        score = attacks.membership_disclosure(
            st.datasets.load(table).frame,
            st.synthesizer(key)(epsilon=math.inf, allow_observed=True),
            n_shadows=shadows,
            workers=workers,
            folder=place,
        )
        rows.append({"table": table, "model": key, **score.to_json()})
        print(table, key, score, file=sys.stderr, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("experiment", choices=("ps1", "disclosure"))
    parser.add_argument("--shadows", type=int, help="400 for ps1, 20 for disclosure, as in the papers")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", st.errors.SyntabulaWarning)
    if "SYNTABULA_DATA" not in os.environ:
        parser.error("this experiment needs the folder SYNTABULA_DATA")
    run, usual = (ps1, 400) if chosen.experiment == "ps1" else (disclosure, 20)
    rows = run(chosen.shadows or usual, chosen.workers, chosen.folder)
    if chosen.out is not None:
        chosen.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
