"""Run dpmm's MST on a coded table: called by benchmarks/mst.py in an environment of its own.

dpmm pins old versions of numpy and pandas, so it cannot share ours:
    python -m venv peers && peers/bin/pip install dpmm pyarrow
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path


def main() -> None:
    """Read a Parquet file of codes and a domain, fit dpmm's MST, write a Parquet file of codes."""
    table, domain_path, out, epsilon, seed = sys.argv[1:6]
    started = time.perf_counter()
    import pandas as pd
    from dpmm.models.mst import MSTGM

    domain = json.loads(Path(domain_path).read_text())
    frame = pd.read_parquet(table)[list(domain)].astype("int64")
    from numpy.random import RandomState

    model = MSTGM(epsilon=float(epsilon), delta=1e-5, domain=domain, compress=True, n_jobs=1)
    model.set_random_state(RandomState(int(seed)))
    model.set_domain(domain)
    model.fit(frame)
    model.generate(n_records=len(frame)).to_parquet(out)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mb": peak}))


if __name__ == "__main__":
    main()
