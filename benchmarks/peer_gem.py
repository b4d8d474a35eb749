"""One run of the public GEM on a coded table, from a checkout of KaiChen9909/margnet, which took it from its authors.

    git clone https://github.com/KaiChen9909/margnet
    MARGNET=margnet python benchmarks/peer_gem.py TABLE DOMAIN OUT EPSILON SEED [ITERATIONS]

It needs torch, tomli, tomli-w, tqdm, scikit-learn and category-encoders. Settings are the repository's own for Adult,
those of tab_bench's table 8: all pairs, five rounds a column, 1,024 rows, two blocks of 512 units, 500 iterations
per round unless ITERATIONS is given. The files that it writes in every round are left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import time
from pathlib import Path
from types import SimpleNamespace


def main() -> None:
    """Read a Parquet file of codes and a domain, fit, write a Parquet file of codes."""
    table, domain_path, out, epsilon, seed, *iterations = sys.argv[1:7]
    started = time.perf_counter()
    import numpy as np
    import pandas as pd
    import torch

    from syntabula.privacy.budget import Budget

    np.random.seed(int(seed))  # noqa: NPY002  it draws from the global generator
    torch.manual_seed(int(seed))
    torch.set_num_threads(1)
    vars(np)["infty"] = np.inf  # it uses names that numpy 2 and torch have removed
    sys.path.insert(0, str(Path(os.environ["MARGNET"]).resolve()))
    from method.GEM.gem import GEM
    from method.GEM.mbi import Dataset, Domain
    from method.GEM.Util import util_general
    from method.GEM.Util.data_pub_sampling import randomKwayData
    from method.GEM.Util.qm import QueryManager

    sizes = json.loads(Path(domain_path).read_text())
    frame = pd.read_parquet(table)[list(sizes)].astype("int64")
    rho = float(Budget(epsilon=float(epsilon), delta=1e-5).total)
    n_rounds = 5 * len(sizes)
    with contextlib.redirect_stdout(sys.stderr):
        data = Dataset(frame, Domain(list(sizes), list(sizes.values())))
        queries = QueryManager(data.domain, randomKwayData(data, 100_000, 2, seed=0))
        answers = np.concatenate(queries.get_answer(data, concat=False))
        gem = GEM(
            embedding_dim=sum(sizes.values()),
            gen_dim=(512, 512),
            batch_size=1024,
            device="cpu",
            save_dir="",
            args=SimpleNamespace(test=False),
        )
        gem.save = lambda path: None
        made_tables = _counted(gem)
        gem.setup_data(data.df, list(sizes), data.domain, overrides=["transformer"])
        gem.fit(
            T=n_rounds,
            eps0=util_general.get_eps0_simple(rho, n_rounds, alpha=0.5),
            sensitivity=1 / len(frame),
            qm=queries,
            real_answers=answers,
            lr=1e-3,
            eta_min=None,
            max_iters=int(iterations[0]) if iterations else 500,
            save_num=0,
        )
        steps = len(made_tables) - 1  # one was made before the first step
        soft = gem.generate_fake_data(gem.mean, gem.std)
        batches = [gem.get_onehot(soft) for _ in range(-(-len(frame) // gem.batch_size))]
        made = gem.transformer.inverse_transform(torch.cat(batches), None).head(len(frame))
    made.astype("int64").to_parquet(out)
    cost = {
        "seconds": time.perf_counter() - started,
        "processor_seconds": sum(os.times()[:2]),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "rounds": n_rounds,
        "steps": steps,
    }
    print(json.dumps(cost))


def _counted(gem):
    """Record each table that the network makes in a list, which is returned."""
    made, make = [], gem.generate_fake_data

    def noted(*arguments, **options):
        made.append(None)
        return make(*arguments, **options)

    gem.generate_fake_data = noted
    return made


if __name__ == "__main__":
    main()
