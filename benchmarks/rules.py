"""Rows that break rules, distances and seconds, with and without the rules in the schema, on tables of business columns.

    python benchmarks/rules.py [--tables bank adult ...] [--methods mst aim] [--epsilons 1 inf] [--compare] [--show]

Needs SYNTABULA_DATA. Schemas are drafts of the tables, taken as public; tables of more than 20,000 rows are cut to
20,000 drawn with seed 0. Both runs of a pair differ in the rules alone. Each finished run is a line of --results. With
--compare, orders are stated as comparisons under `require`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

import syntabula as st
from syntabula.metrics import compare
from syntabula.metrics.evaluate import choose_metrics, score_tables
from syntabula.table.read import read
from syntabula.table.rules.at_work import row_rules
from syntabula.table.rules.proposals import proposed_rules

FOUND = Path(__file__).parent / "results" / "rules.jsonl"
MOST_ROWS = 20_000
LOANS = [
    "loan_amnt", "funded_amnt", "funded_amnt_inv", "term", "int_rate", "installment", "grade", "sub_grade", "annual_inc",
    "issue_d", "last_pymnt_d", "loan_status", "purpose", "dti", "total_pymnt", "total_rec_prncp", "total_rec_int",
    "total_rec_late_fee", "recoveries",
]  # fmt: skip
LOANS_2018 = [
    "homeownership", "annual_income", "debt_to_income", "total_credit_lines", "open_credit_lines",
    "num_total_cc_accounts", "num_open_cc_accounts", "loan_purpose", "loan_amount", "term", "interest_rate",
    "installment", "grade", "sub_grade", "loan_status", "paid_total", "paid_principal", "paid_interest", "paid_late_fees",
]  # fmt: skip
PAID_2007 = "total_rec_prncp + total_rec_int + total_rec_late_fee + recoveries"
PAGES = ("Administrative", "Informational", "ProductRelated")
RULES: dict[str, dict[str, Any]] = {
    "bank": {"require": ["(pdays = -1) = (previous = 0)", "previous > 0 or poutcome = 'unknown'"]},
    "shoppers": {"require": [f"{page} > 0 or {page}_Duration = 0" for page in PAGES]},
    "adult": {},
    "california": {"order": [["households", "population"]]},
    "news_part": {
        "derive": {
            "is_weekend": "weekday::INTEGER >= 5",
            "abs_title_sentiment_polarity": "abs(title_sentiment_polarity)",
        },
        "order": [
            ["self_reference_min_shares", "self_reference_avg_sharess", "self_reference_max_shares"],
            ["num_self_hrefs", "num_hrefs"],
        ],
    },
    "lending_club_2018": {
        "derive": {"paid_total": "paid_principal + paid_interest + paid_late_fees"},
        "order": [
            ["paid_principal", "loan_amount"],
            ["num_open_cc_accounts", "num_total_cc_accounts"],
            ["open_credit_lines", "total_credit_lines"],
        ],
    },
    "lending_club_2007_2011": {
        "derive": {"total_pymnt": PAID_2007},
        "order": [["funded_amnt_inv", "funded_amnt", "loan_amnt"], ["issue_d", "last_pymnt_d"]],
    },
}


def main() -> None:
    """Parse arguments, run what is missing, and show all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=[*RULES])
    parser.add_argument("--methods", nargs="+", default=["mst", "aim"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1, math.inf])
    parser.add_argument("--compare", action="store_true", help="state orders as comparisons under require")
    parser.add_argument("--results", type=Path, default=FOUND)
    parser.add_argument("--show", action="store_true", help="print what the file holds, run nothing")
    options = parser.parse_args()
    asked = ("table", "method", "epsilon", "rules")
    done = [tuple(run[key] for key in asked) for run in found(options.results)]
    for table in [] if options.show else options.tables:
        frame, schema = ruled(table, compare_ends=options.compare)
        for method in options.methods:
            for epsilon in options.epsilons:
                for with_rules in (False, True):
                    run = (table, method, epsilon, with_rules)
                    if run in done:
                        continue
                    line = dict(zip(asked, run, strict=True)) | outcome(frame, schema, *run[1:])
                    print(json.dumps(line), flush=True)
                    with options.results.open("a") as file:
                        file.write(json.dumps(line) + "\n")
    show(found(options.results))


def ruled(name: str, *, compare_ends: bool = False) -> tuple[pd.DataFrame, st.Schema]:
    """Return a table and its schema with rules; orders as comparisons if `compare_ends`."""
    frame = st.datasets.load(name).frame
    if name == "lending_club_2007_2011":
        frame = frame[LOANS].dropna(subset=["annual_inc"])
        for day in ("issue_d", "last_pymnt_d"):
            frame[day] = pd.to_datetime(frame[day])
        paid = frame[["total_rec_prncp", "total_rec_int", "total_rec_late_fee", "recoveries"]].round(2)
        frame = frame.assign(**paid, total_pymnt=paid.sum(axis=1).round(2))
    if name == "lending_club_2018":
        frame = frame[LOANS_2018]
        frame = frame.assign(
            paid_total=frame[["paid_principal", "paid_interest", "paid_late_fees"]].sum(axis=1).round(2)
        )
    if name == "news_part":
        frame = frame.assign(is_weekend=frame["weekday"].astype(int) >= 5)
    if name == "shoppers":
        frame = frame.round(3)
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    frame = frame.reset_index(drop=True)
    drafted = st.draft_schema(frame)[0]
    columns = {n: replace(c, provenance="public") for n, c in drafted.columns.items()}
    stated = dict(RULES[name])
    if name == "adult":
        proposed = proposed_rules(read(frame), drafted)
        assert proposed is not None
        stated = {"derive": dict(proposed.derive)}
    if compare_ends:
        pairs = [pair for order in stated.pop("order", []) for pair in itertools.pairwise(order)]
        stated["require"] = [
            *stated.get("require", []),
            *(f"{a} <= {b} or {a} is null or {b} is null" for a, b in pairs),
        ]
    return frame, st.Schema(columns, rules=st.Rules(**stated))


def outcome(
    frame: pd.DataFrame, schema: st.Schema, method: str, epsilon: float, with_rules: bool
) -> dict[str, Any]:
    """Fit and draw once, and return processor seconds, shares of broken rules and distances."""
    rules = row_rules(schema)
    used = schema if with_rules else schema.with_columns(schema.columns, rules=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.process_time()
        release = st.synthesizer(method)(epsilon=epsilon, seed=0).fit(frame, used)
        fitted = time.process_time()
        drawn = release.sample(len(frame), seed=0)
        ended = time.process_time()
        tables = compare(frame, drawn, schema=schema)
        chosen = choose_metrics(
            ["broken-rules", "tvd-1", "tvd-2"], has_target=False, has_holdout=False, has_rules=True
        )
        scores = {r.score.metric: r.score for r in score_tables(tables, chosen)}
        rejected = release.rules_broken()
    assert rules is not None
    broken = scores["broken-rules"]
    return {
        "rows": len(frame),
        "columns": len(frame.columns),
        "n_rules": len(rules.rules),
        "impossible": round(broken.value, 5),
        "impossible_real": round(float(broken.facts["of the real rows"]), 5),
        "each": {rule[0]: round(share, 5) for rule, share in broken.details.items()},
        "rejected": {rule: round(share, 5) for rule, share in rejected.items()},
        "tvd-1": round(scores["tvd-1"].value, 5),
        "tvd-2": round(scores["tvd-2"].value, 5),
        "fit_seconds": round(fitted - begin, 2),
        "draw_seconds": round(ended - fitted, 2),
    }


def found(results: Path) -> list[dict[str, Any]]:
    """Return the finished runs."""
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def show(runs: list[dict[str, Any]]) -> None:
    """Print a row for each table, method and epsilon: without rules -> with rules."""
    print("| table | method | epsilon | impossible rows | rejected | tvd-1 | tvd-2 | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    pairs: dict[tuple[str, str, float], dict[bool, dict[str, Any]]] = {}
    for run in runs:
        pairs.setdefault((run["table"], run["method"], run["epsilon"]), {})[run["rules"]] = run
    for (table, method, epsilon), pair in pairs.items():
        if len(pair) < 2:
            continue
        a, b = pair[False], pair[True]
        seconds = [r["fit_seconds"] + r["draw_seconds"] for r in (a, b)]
        print(
            f"| {table} | {method} | {epsilon:g} | {a['impossible']:.1%} -> {b['impossible']:.1%} "
            f"| {sum(b['rejected'].values()):.1%} | {a['tvd-1']:.4f} -> {b['tvd-1']:.4f} "
            f"| {a['tvd-2']:.4f} -> {b['tvd-2']:.4f} | {seconds[0]:.1f} -> {seconds[1]:.1f} |"
        )


if __name__ == "__main__":
    main()
