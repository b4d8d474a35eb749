"""One run of AIM with the mbi library (version 2) on a coded table: the paper's mechanism and mbi's estimation.

Workload, constants, size limit and number of iterations are those of the authors' public mechanism: all
pairs, 16 d planned rounds, 80 MB, 1,000 steps of mirror descent per round from the last model.
"""

from __future__ import annotations

import json
import math
import sys
import time
from itertools import combinations
from pathlib import Path

from figures import print_figures


def main() -> None:
    """Read a Parquet file of codes and a domain, fit, write a Parquet file of codes."""
    table, domain_path, out, epsilon, seed = sys.argv[1:6]
    started = time.perf_counter()
    import jax

    jax.config.update("jax_enable_x64", True)
    import numpy as np
    import pandas as pd
    from mbi import Domain, LinearMeasurement, junction_tree
    from mbi.estimation import MirrorDescent

    from syntabula import Budget

    sizes = json.loads(Path(domain_path).read_text())
    frame = pd.read_parquet(table)[list(sizes)].astype("int64")
    domain = Domain(tuple(sizes), tuple(sizes.values()))
    rng = np.random.default_rng(int(seed))
    rho = float(Budget(epsilon=float(epsilon), delta=1e-5, accounting="zcdp").total)
    pairs = list(combinations(sizes, 2))
    candidates = [(c,) for c in sizes] + pairs
    weight = {r: sum(len(set(r) & set(p)) for p in pairs) for r in candidates}

    def counts(clique: tuple[str, ...]) -> np.ndarray:
        shape = tuple(sizes[c] for c in clique)
        cells = np.ravel_multi_index(tuple(frame[c].to_numpy() for c in clique), shape)
        return np.bincount(cells, minlength=math.prod(shape)).astype(float)

    exact = {r: counts(r) for r in candidates}

    def measure(clique: tuple[str, ...], sigma: float) -> LinearMeasurement:
        return LinearMeasurement(exact[clique] + rng.normal(0, sigma, exact[clique].size), clique, sigma)

    def believed(model: object, clique: tuple[str, ...]) -> np.ndarray:
        return np.asarray(model.project(clique).datavector())

    n_rounds = 16 * len(sizes)
    sigma, step_epsilon = math.sqrt(n_rounds / (2 * 0.9 * rho)), math.sqrt(8 * 0.1 * rho / n_rounds)
    measurements = [measure((c,), sigma) for c in sizes]
    used = len(sizes) * 0.5 / sigma**2
    estimator = MirrorDescent()
    model = estimator.estimate(domain, measurements, iters=1000)
    finished = False
    while not finished:
        jax.clear_caches()  # every new structure is compiled again; keeping the programs exhausts memory maps and crashes
        if rho - used < 2 * (0.5 / sigma**2 + step_epsilon**2 / 8):
            left = rho - used
            sigma, step_epsilon = math.sqrt(1 / (2 * 0.9 * left)), math.sqrt(8 * 0.1 * left)
            finished = True
        used += 0.5 / sigma**2 + step_epsilon**2 / 8
        measured = list(dict.fromkeys(m.clique for m in measurements))
        now = junction_tree.hypothetical_model_size(domain, measured)
        affordable = [
            r
            for r in candidates
            if junction_tree.hypothetical_model_size(domain, [*measured, r]) <= max(80 * used / rho, now)
        ]
        bias = math.sqrt(2 / math.pi) * sigma
        scores = np.array(
            [
                weight[r] * (np.abs(exact[r] - believed(model, r)).sum() - bias * exact[r].size)
                for r in affordable
            ]
        )
        logits = 0.5 * step_epsilon / max(weight.values()) * scores + rng.gumbel(size=len(affordable))
        chosen = affordable[int(np.argmax(logits))]
        before = believed(model, chosen)
        measurements.append(measure(chosen, sigma))
        model = estimator.estimate(domain, measurements, iters=1000, warm_start=model)
        if np.abs(believed(model, chosen) - before).sum() <= bias * exact[chosen].size:
            sigma, step_epsilon = sigma / 2, step_epsilon * 2
    synthetic = model.synthetic_data(len(frame))
    pd.DataFrame({c: np.asarray(synthetic.data[c]) for c in sizes}).to_parquet(out)
    print_figures(started)


if __name__ == "__main__":
    main()
