"""One run of the authors' Private-GSD on a coded table, from a checkout of giusevtr/private_gsd.

    git clone https://github.com/giusevtr/private_gsd
    PRIVATE_GSD=private_gsd python benchmarks/peer_gsd.py TABLE DOMAIN OUT EPSILON SEED [ROWS]

It needs jax, flax and tqdm. All pairs at once, every column as categories, all moves, the default stopping rule; it
evolves 1,000 records unless ROWS is given, which are sampled with replacement.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import time
from pathlib import Path
from types import ModuleType


def main() -> None:
    """Read a Parquet file of codes and a domain, fit, write a Parquet file of codes."""
    table, domain_path, out, epsilon, seed, *n_rows = sys.argv[1:7]
    started = time.perf_counter()
    import jax
    import numpy as np
    import pandas as pd

    from syntabula.privacy.budget import Budget

    # Its first module wraps another library, which is not needed here.
    package, unused = ModuleType("genetic_sd"), ModuleType("snsynth.utils")
    package.__path__ = [str(Path(os.environ["PRIVATE_GSD"]).resolve() / "src" / "genetic_sd")]
    unused.cdp_rho = unused.gaussian_noise = None
    sys.modules |= {"genetic_sd": package, "snsynth": ModuleType("snsynth"), "snsynth.utils": unused}
    from genetic_sd.adaptive_statistics import AdaptiveChainedStatistics, Marginals
    from genetic_sd.generator.generator_genetic_sd import GeneticSD
    from genetic_sd.generator.mutation_strategies import AVAILABLE_GENETIC_OPERATORS
    from genetic_sd.utils import Dataset, Domain

    sizes = json.loads(Path(domain_path).read_text())
    frame = pd.read_parquet(table)[list(sizes)].astype("int64")
    domain = Domain({name: {"type": "string", "size": size} for name, size in sizes.items()})
    measuring, fitting = jax.random.split(jax.random.PRNGKey(int(seed)))
    with contextlib.redirect_stdout(sys.stderr):
        answers = AdaptiveChainedStatistics(Dataset(frame, domain))
        answers.add_stat_module_and_fit(
            Marginals.get_all_kway_combinations(domain, k=2, tree_query_depth=3, num_cols_thresholds={})
        )
        rho = float(Budget(epsilon=float(epsilon), delta=1e-5).total)
        answers.private_measure_all_statistics(key=measuring, rho=rho)
        evolution = GeneticSD(
            domain=domain,
            data_size=int(n_rows[0]) if n_rows else 1000,
            num_generations=1_000_000,
            genetic_operators=AVAILABLE_GENETIC_OPERATORS,
            stop_eary_threshold=1e-4,
            sparse_statistics=True,
        )
        made = evolution.fit(fitting, answers).df
    rows = made.sample(len(frame), replace=True, random_state=int(seed))
    rows[list(sizes)].astype(np.int64).reset_index(drop=True).to_parquet(out)
    cost = {
        "seconds": time.perf_counter() - started,
        "processor_seconds": sum(os.times()[:2]),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(cost))


if __name__ == "__main__":
    main()
