"""One run of the public PrivSyn on a coded table, from a checkout of KaiChen9909/margnet.

    git clone https://github.com/KaiChen9909/margnet
    MARGNET=margnet python benchmarks/peer_privsyn.py TABLE DOMAIN OUT EPSILON SEED

It needs networkx. Settings are the repository's own (501 rounds of consistency, 50 updates), except for the
threshold of its selection: 0 as in the paper, because with its 20,000 it fails if no pair improves that
much. The last column is passed as the label, under the name that it expects.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    """Read a Parquet file of codes and a domain, fit, write a Parquet file of codes."""
    table, domain_path, out, epsilon, seed = sys.argv[1:6]
    started = time.perf_counter()
    import numpy as np
    import pandas as pd

    from syntabula.privacy.budget import Budget

    vars(np)["product"] = np.prod  # it uses a name that numpy 2 has removed
    np.random.seed(int(seed))  # noqa: NPY002  it draws from the global generator
    sys.path.insert(0, str(Path(os.environ["MARGNET"]).resolve()))
    from method.privsyn.lib_synthesize.converge_imp import append_attrs
    from method.privsyn.PrivSyn.privsyn import PrivSyn

    logging.disable(logging.CRITICAL)
    sizes = json.loads(Path(domain_path).read_text())
    names = [*list(sizes)[:-1], "y_attr"]
    frame = pd.read_parquet(table)[list(sizes)].astype("int64").set_axis(names, axis=1)
    settings = {
        "dataset": "table", "dataset_name": "table", "method": "privsyn", "epsilon": epsilon,
        "num_preprocess": "none", "rare_threshold": 0, "is_cal_marginals": True, "is_cal_depend": True,
        "is_combine": True, "marg_add_sensitivity": 1.0, "marg_sel_threshold": 0, "non_negativity": "N3",
        "consist_iterations": 501, "initialize_method": "singleton", "update_method": "S5", "append": True,
        "sep_syn": False, "update_rate_method": "U4", "update_rate_initial": 1.0, "update_iterations": 50,
    }  # fmt: skip
    rho = float(Budget(epsilon=float(epsilon), delta=1e-5).total)
    target, here = Path(out).resolve(), Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path(f"exp/table/privsyn/{epsilon}_none_0").mkdir(parents=True)
        method = PrivSyn(settings, frame, dict(zip(names, sizes.values(), strict=True)), rho)
        method.run_main()
        method.synthesize_records(len(frame))
        made = method.synthesized_df
        append_attrs(
            logging.getLogger(),
            method.filtered_dataset.dataset.domain,
            method.clip_layers,
            made,
            method.marg_dict,
        )
        os.chdir(here)
    made[names].set_axis(list(sizes), axis=1).to_parquet(target)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cost = {"seconds": seconds, "processor_seconds": sum(os.times()[:2]), "peak_mb": peak}
    print(json.dumps(cost))


if __name__ == "__main__":
    main()
