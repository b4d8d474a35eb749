"""US3 of Ganev et al., "The Importance of Being Discrete": real tables, with given and found domains.

The scores are MPD, QS and CS, the study's scores that need no classifier. Queries are 1,000 random intervals between two
records (or random values of a category) over 1, 2 or 3 columns; CS is over numeric columns.
"""

from __future__ import annotations

import itertools
import json
import math
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from discretization_columns import (
    DISCRETIZERS,
    FITTED,
    RULES,
    Row,
    percentile_similarity,
    smaller_share,
)

import syntabula as st
from syntabula.table.schema.columns import Numeric

TABLES = ("wine", "gas", "adult")
COUNTS = (5, 10, 20, 50, 100, "auto")
EPSILONS = (0.1, 1.0)
KEY = ("table", "model", "method", "bins", "epsilon", "seed")


def table_scores(real: Any, made: Any, rng: np.random.Generator) -> dict[str, float]:
    """Return MPD and CS over numeric columns and QS over random queries of 1 to 3 columns."""
    numeric = [c for c in real.columns if real[c].dtype.kind in "iuf" and real[c].nunique() > 20]
    a, b = (f[numeric].to_numpy(dtype=float) for f in (real, made))
    mpd = np.mean([percentile_similarity(a[:, i], b[:, i]) for i in range(a.shape[1])])
    with np.errstate(invalid="ignore"):
        cors = [np.nan_to_num((np.corrcoef(x, rowvar=False) + 1) / 2, nan=0.5) for x in (a, b)]
    qs = []
    for _ in range(1000):
        picked = rng.choice(real.columns, int(rng.integers(1, 4)), replace=False)
        inside = [np.ones(len(f), dtype=bool) for f in (real, made)]
        for c in picked:
            if c in numeric:
                low, high = np.sort(rng.choice(real[c].to_numpy(), 2))
                tests = [((f[c] >= low) & (f[c] <= high)).to_numpy() for f in (real, made)]
            else:
                value = rng.choice(real[c].to_numpy())
                tests = [(f[c] == value).to_numpy() for f in (real, made)]
            inside = [i & t for i, t in zip(inside, tests, strict=True)]
        shares = [i.mean() for i in inside]
        qs.append(float(smaller_share(np.array(shares[0]), np.array(shares[1]))))
    return {"mpd": float(mpd), "cs": float(smaller_share(*cors).mean()), "qs": float(np.mean(qs))}


def fit_real(
    frame: Any, schema: st.Schema | None, method: str, discretizer: str, bins: Any, epsilon: float, seed: int
) -> Row:
    """Fit, sample and score one table; `bins` is a number, "auto" or a rule of `RULES` that reads each column."""
    if bins in RULES and schema is not None:
        schema, bins = _with_rule(frame, schema, RULES[bins], epsilon), "auto"
    preprocessing = st.Preprocessing(discretizer=FITTED.get(discretizer, discretizer))
    options = {"preprocessing": preprocessing, "bins": bins}
    started, used = time.perf_counter(), _processor_seconds()
    maker = st.synthesizer(method)(epsilon=epsilon, seed=seed, allow_observed=schema is not None, **options)
    made = maker.fit(frame, schema).sample(len(frame), seed=seed)
    times = {"seconds": time.perf_counter() - started, "processor_seconds": _processor_seconds() - used}
    scores = table_scores(frame, made, np.random.default_rng(seed))
    return {**scores, "utility": float(np.mean(list(scores.values()))), **times}


def us3(
    results: Path,
    *,
    models: Sequence[str],
    tables: Sequence[str] = TABLES,
    methods: Sequence[str] = DISCRETIZERS,
    counts: Sequence[int | str] = COUNTS,
    seeds: int = 1,
    total: float = math.inf,
) -> Iterator[Row]:
    """Run the cells missing from the file, table by table, until `total` seconds have passed; yield every new row."""
    ends = time.monotonic() + total
    done = {tuple(row[k] for k in KEY) for row in read_rows(results)}
    for table in tables:
        frame = st.datasets.load(table).frame
        schema = st.draft_schema(frame)[0]
        for key in itertools.product((table,), models, methods, counts, EPSILONS, range(1, seeds + 1)):
            if key in done:
                continue
            if time.monotonic() > ends:
                return
            row = dict(zip(KEY, key, strict=True)) | fit_real(frame, schema, *key[1:])
            rounded = {k: round(v, 5) if isinstance(v, float) else v for k, v in row.items()}
            with results.open("a") as file:
                file.write(json.dumps(rounded) + "\n")
            yield rounded


def read_rows(results: Path) -> list[Row]:
    """Return the rows of a file of JSON lines, or no rows if there is no such file."""
    lines = results.read_text().splitlines() if results.exists() else []
    return [json.loads(line) for line in lines]


def domains(seeds: int) -> list[Row]:
    """Figure 14: utility with the domain given and found privately; text columns have given categories."""
    rows = []
    for table, discretizer, epsilon in itertools.product(("wine", "gas"), DISCRETIZERS, (1.0, 10.0)):
        frame = st.datasets.load(table).frame
        for domain, seed in itertools.product(("given", "found"), range(2, seeds + 2)):
            schema = st.draft_schema(frame)[0] if domain == "given" else None
            facts = {
                "table": table,
                "method": discretizer,
                "epsilon": epsilon,
                "domain": domain,
                "seed": seed,
            }
            try:
                row = fit_real(frame, schema, "mst", discretizer, 35, epsilon, seed)
            except st.errors.PrivateDomainError:
                row = {"utility": math.nan}
            rows.append(facts | row)
    return rows


def _with_rule(
    frame: Any, schema: st.Schema, rule: Callable[[np.ndarray, float], int], epsilon: float
) -> st.Schema:
    for name in schema:
        column = schema[name]
        if isinstance(column, Numeric):
            count = min(rule(frame[name].to_numpy(dtype=float), epsilon), 1000)
            schema = schema.with_column(name, replace(column, bins=count))
    return schema


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
