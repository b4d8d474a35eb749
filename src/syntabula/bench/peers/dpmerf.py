"""One run of DP-MERF on rows by its authors' code, of which the user has a checkout; see `adapter`.

python dpmerf.py METHOD TABLE.parquet COLUMNS.json OUT.parquet EPSILON DELTA RHO SEED

Their script `code_tab/single_generator_priv_all.py` gets the table as its `adult`, without undersampling, and the rows
that it trains classifiers on are taken. Settings are the defaults of its command. Its label is the last column of two
categories. Other columns of categories are codes, of which it draws the first two alone, as its generator ends in a
sigmoid. Distances of records and which label each record has it reads off the table, which its budget does not count.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

SETTINGS: dict[str, Any] = {"batch": 0.1, "features": 2000, "steps": 200}


class _Drawn(Exception):
    """Carries the rows that a classifier is to learn."""


class _Classifier:
    def fit(self, rows: Any, labels: Any) -> None:
        raise _Drawn(np.column_stack([rows, labels]))


def learned(
    codes: Any,
    categorical: list[int],
    budget: tuple[float, float] | None,
    seed: int,
    *,
    batch: float,
    features: int,
    steps: int,
) -> Any:
    """Return as many rows as it got, but for ten that its code sets aside, numbers first and the label last.

    Args:
        codes: Numbers and codes [rows, columns], the label last.
        categorical: Places of columns of codes, rising, the label's too.
        budget: Epsilon and delta; None for none.
        seed: Of what it draws.
        batch: Part of the number of rows that a step generates.
        features: Of the embedding, even.
        steps: Of the generator's training.
    """
    import torch

    np.random.seed(seed)  # noqa: NPY002 - their code draws from this generator
    torch.manual_seed(seed)
    sys.path.insert(0, str(Path(os.environ["SYNTABULA_PEER_DPMERF_CODE"]) / "code_tab"))
    stand_ins: dict[str, Any] = {
        "sdgym": SimpleNamespace(load_dataset=lambda name: (codes, categorical, [])),
        "seaborn": SimpleNamespace(set=lambda: None),
        "xgboost": SimpleNamespace(XGBClassifier=object),
    }
    sys.modules |= stand_ins
    # It reads its arguments where it is imported. The second classifier of its list is the one to be trained.
    given, sys.argv = sys.argv, [sys.argv[0], "--classifiers", "1"]
    theirs: Any = importlib.import_module("single_generator_priv_all")
    sys.argv = given
    theirs.GaussianNB = _Classifier
    # All rows are learned, as nothing is tested here.
    theirs.train_test_split = lambda rows, labels, **_: (rows, rows[:0], labels, labels[:0])
    if budget is not None:
        # Epsilon 1 and delta 1e-5 are written into its code.
        usual = theirs.privacy_calibrator.gaussian_mech
        theirs.privacy_calibrator = SimpleNamespace(gaussian_mech=lambda *_, k: usual(*budget, k=k))
    try:
        theirs.main("adult", 1.0, features, batch, steps, budget is not None, seed)
    except _Drawn as drawn:
        return drawn.args[0]
    raise RuntimeError("their code trained no classifier")


def encoded(frame: Any, facts: dict[str, Any]) -> tuple[Any, list[str], list[int]]:
    """Return numbers and codes with the label last, the names of the columns, and the places of columns of codes."""
    kinds = {name: [str(c) for c in facts[name].get("categories", ())] for name in frame.columns}
    labels = [name for name, categories in kinds.items() if len(categories) == 2]
    if not labels:
        sys.exit("no column has two categories, and DP-MERF's code for such tables needs a label")
    names = [*(name for name in frame.columns if name != labels[-1]), labels[-1]]
    columns = []
    for name in names:
        if kinds[name]:
            columns.append(frame[name].astype(str).map({c: j for j, c in enumerate(kinds[name])}).fillna(0))
        else:
            columns.append(frame[name].astype(float).fillna(frame[name].mean()))
    return np.column_stack(columns), names, [j for j, name in enumerate(names) if kinds[name]]


def main() -> None:
    """Read a table and what is known of its columns, fit, write as many rows."""
    _, table, columns, out, epsilon, delta, _, seed = sys.argv[1:9]
    import pandas

    frame = pandas.read_parquet(table)
    facts = json.loads(Path(columns).read_text())
    codes, names, categorical = encoded(frame, facts)
    budget = float(epsilon), float(delta)
    rows = learned(codes, categorical, budget, int(seed), **SETTINGS)
    order = [*(j for j in range(len(names)) if j not in categorical), *categorical]
    drawn = pandas.DataFrame(rows, columns=[names[j] for j in order])
    for name in (names[j] for j in categorical):
        categories = np.array(facts[name]["categories"], dtype=object)
        drawn[name] = categories[drawn[name].round().clip(0, len(categories) - 1).astype(int)]
    drawn[list(frame.columns)].to_parquet(out)


if __name__ == "__main__":
    main()
