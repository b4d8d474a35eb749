"""Reproduces PS1 of Ganev et al., "The Importance of Being Discrete": what observed domains reveal of an outlier.

    python benchmarks/attacks.py [--shadows N] [--workers N] [--folder FOLDER] [--out FILE]

Needs SYNTABULA_DATA. It attacks the record of wine whose sulfur dioxide (289 and 440) lies outside the range of all
others (146.5 and 366.5), with epsilon 1 for bins and domain and 1 for the model: given, the domain of the whole
table is declared public; observed, every fit reads it off its table; found, it is found privately for half of the
first epsilon. Uniform bins of a given or observed domain cost nothing, so that only the model's epsilon is spent.
Prints a table of AUCs in Markdown.

Departures from the paper: budgets are approximate (delta 1e-5), models are ours, and `quality` is left out, which
leaves the paper's 11 columns. An interrupted run resumes from --folder.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import syntabula as st

DISCRETIZERS = ("uniform", "quantile", "kmeans", "privtree")
DOMAINS = ("given", "observed", "found")
MODELS = ("mst", "privbayes")
TARGET_VALUE = 440.0


def ps1(shadows: int, workers: int, folder: Path | None) -> list[dict[str, Any]]:
    """Return AUC and success of three attacks by model, discretiser and domain."""
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


def table(rows: list[dict[str, Any]]) -> str:
    """Return the AUCs in Markdown, one line per model, bins and domain."""
    attacks = list(dict.fromkeys(row["attack"] for row in rows))
    lines = [f"| model | bins | domain | {' | '.join(attacks)} | right guesses, mean | claims refuted |"]
    lines.append("|---" * (5 + len(attacks)) + "|")
    for key in dict.fromkeys((row["model"], row["bins"], row["domain"]) for row in rows):
        mine = [row for row in rows if (row["model"], row["bins"], row["domain"]) == key]
        areas = " | ".join(f"{row['auc']:.2f}" for row in mine)
        right = sum(row["success"] for row in mine) / len(mine)
        refuted = sum(row["refutes_claim"] for row in mine)
        lines.append(f"| {' | '.join(key)} | {areas} | {right:.0%} | {refuted} of {len(mine)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shadows", type=int, default=400, help="shadow models, as many as in the paper")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--out", type=Path, help="also write all facts as JSON")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", st.errors.SyntabulaWarning)
    if "SYNTABULA_DATA" not in os.environ:
        parser.error("this needs the folder SYNTABULA_DATA")
    rows = ps1(chosen.shadows, chosen.workers, chosen.folder)
    print(table(rows))
    if chosen.out is not None:
        chosen.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
