"""One run of dpmm's MST, AIM or PrivBayes on a coded table, in a separate environment.

dpmm pins old versions of numpy and pandas, so it cannot share ours, and needs an older pyarrow:
    python3 -m venv ../peers/dpmm
    ../peers/dpmm/bin/pip install dpmm "pyarrow<20"
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from figures import print_figures


def main() -> None:
    """Read a Parquet file of codes and a domain, fit, write a Parquet file of codes."""
    method, table, domain_path, out, epsilon, seed = sys.argv[1:7]
    started = time.perf_counter()
    import pandas as pd
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM
    from dpmm.models.priv_bayes import PrivBayesGM
    from numpy.random import RandomState

    domain = json.loads(Path(domain_path).read_text())
    frame = pd.read_parquet(table)[list(domain)].astype("int64")
    kind = {"mst": MSTGM, "aim": AIMGM, "privbayes": PrivBayesGM}[method]
    options = {"mst": {"compress": True}, "aim": {"degree": 2, "max_model_size": 80}, "privbayes": {}}[method]
    model = kind(epsilon=float(epsilon), delta=1e-5, domain=domain, n_jobs=1, **options)
    model.set_random_state(RandomState(int(seed)))
    model.set_domain(domain)
    model.fit(frame)
    model.generate(n_records=len(frame)).to_parquet(out)
    print_figures(started)


if __name__ == "__main__":
    main()
