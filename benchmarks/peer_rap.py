"""One run of the authors' RAP++ on a coded table, from a checkout of amazon-science/relaxed-adaptive-projection.

    git clone https://github.com/amazon-science/relaxed-adaptive-projection
    RAP=relaxed-adaptive-projection python benchmarks/peer_rap.py TABLE DOMAIN OUT EPSILON SEED [PICKS]

It needs jax and matplotlib. Pairs of columns, one round per column, five pairs per round unless PICKS is given, 1,000
relaxed rows, and the learning rate of tab_bench's table 7. It gets the same budget as the others instead of its own
conversion; in every round it measures all earlier choices again without charging for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import time
from pathlib import Path


def main() -> None:
    """Read a Parquet file of codes and a domain, fit, write a Parquet file of codes."""
    table, domain_path, out, epsilon, seed, *picks = sys.argv[1:7]
    started = time.perf_counter()
    import jax.numpy
    import numpy as np
    import pandas as pd

    from syntabula.privacy.budget import Budget

    stack = jax.numpy.hstack
    jax.numpy.hstack = lambda arrays: stack(list(arrays))  # later versions of jax refuse generators
    sys.path.insert(0, str(Path(os.environ["RAP"]).resolve()))
    from dataloading.dataset import Dataset
    from dataloading.domain import Domain
    from mechanisms.rap_pp import RAPpp, RAPppConfiguration
    from modules.marginal_queries import MarginalQueryClass
    from privacy_budget_tracking import privacy_util

    sizes = json.loads(Path(domain_path).read_text())
    frame = pd.read_parquet(table)[list(sizes)].astype("int64")
    rho = float(Budget(epsilon=float(epsilon), delta=1e-5).total)
    privacy_util.get_zcdp_parameter = lambda epsilon, delta: rho
    configuration = RAPppConfiguration(
        iterations=[1],
        sigmoid_doubles=[0],
        optimizer_learning_rate=[0.003],
        top_q=int(picks[0]) if picks else 5,
        get_dp_select_epochs=lambda domain: len(domain.attrs),
    )
    with contextlib.redirect_stdout(sys.stderr):
        mechanism = RAPpp([configuration], [MarginalQueryClass(K=2, conditional=False)])
        domain = Domain(list(sizes), list(sizes.values()), [])
        mechanism.initialize(Dataset(frame, domain), int(seed))
        mechanism.train(float(epsilon), int(seed))
        soft = np.asarray(mechanism.get_dprime(), dtype=np.float64)
    rng = np.random.default_rng(int(seed))
    chosen = rng.integers(0, len(soft), len(frame))
    blocks = np.split(soft, np.cumsum(list(sizes.values()))[:-1], axis=1)
    made = {name: _drawn(block[chosen], rng) for name, block in zip(sizes, blocks, strict=True)}
    pd.DataFrame(made).to_parquet(out)
    cost = {
        "seconds": time.perf_counter() - started,
        "processor_seconds": sum(os.times()[:2]),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(cost))


def _drawn(block, rng):
    """Draw a code for each row [rows] from its distribution [rows, codes]."""
    bounds = (block / block.sum(axis=1, keepdims=True)).cumsum(axis=1)
    return (rng.random(len(block))[:, None] > bounds[:, :-1]).sum(axis=1)


if __name__ == "__main__":
    main()
