"""One run of the grid as a separate process: a named method, or a pair "selector+model", on a prepared table.

A name may be followed by "@" and a number of iterations that replaces the model's own, as in "margnet@20".

    python benchmarks/grid_cell.py TABLE SCHEMA OUT METHOD EPSILON SEED DISCRETIZER BINS

The noise is secure; the seed is only that of the sample. Prints time, memory and the accounting.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from dataclasses import replace


def main() -> None:
    """Read a Parquet file, fit, write a Parquet file, print seconds, memory, accounting and what was chosen."""
    table, schema, out, method, epsilon, seed, discretizer, bins = sys.argv[1:9]
    started = time.perf_counter()
    import syntabula

    settings = {
        "epsilon": float(epsilon),
        "bins": int(bins),
        "preprocessing": syntabula.Preprocessing(discretizer=discretizer),
        "allow_observed": True,
    }
    method, _, iterations = method.partition("@")
    selector, _, model = method.partition("+")
    if model.strip("+"):  # and not a name such as rap++
        synthesizer = syntabula.Marginal(selector=selector, model=model, **settings)
    else:
        synthesizer = syntabula.synthesizer(method)(**settings)
    if iterations:
        fewer = replace(synthesizer.model, iterations=int(iterations))
        synthesizer = replace(synthesizer, model=fewer)
    release = synthesizer.fit(table, syntabula.Schema.from_yaml(schema))
    release.sample_to(out, seed=int(seed))
    chosen = release.privacy.choice
    cost = {
        "seconds": round(time.perf_counter() - started, 2),
        "processor_seconds": round(sum(os.times()[:2]), 2),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "accounting": release.privacy.budget.currency,
    }
    print(json.dumps(cost if chosen is None else cost | {"chosen": chosen.method}))


if __name__ == "__main__":
    main()
