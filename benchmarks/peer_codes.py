"""One run of a peer's adapter on a coded table, as a separate process in the peer's Python; systems.py calls it.

    python peer_codes.py ADAPTER.py METHOD RHO TABLE.parquet DOMAIN.json OUT.parquet EPSILON SEED

The adapter is that of studies, in src/syntabula/bench/peers, which reads and writes text. Its seconds include reading and
writing it beside the Parquet files, some tenths of a second for Adult.
"""

from __future__ import annotations

import json
import runpy
import sys
import tempfile
import time
from pathlib import Path

from figures import print_figures


def main() -> None:
    """Read a Parquet file of codes and a domain, let the adapter fit and draw, write a Parquet file of codes."""
    script, method, rho, table, domain, out, epsilon, seed = sys.argv[1:9]
    started = time.perf_counter()
    import pandas as pd

    names = list(json.loads(Path(domain).read_text()))
    with tempfile.TemporaryDirectory() as place:
        codes, drawn = (Path(place) / name for name in ("codes.csv", "drawn.csv"))
        frame = pd.read_parquet(table)[names].astype("int64")
        frame.set_axis([f"c{n}" for n in range(len(names))], axis=1).to_csv(codes, index=False)
        del frame
        sys.argv = [script, method, str(codes), domain, str(drawn), epsilon, "1e-5", rho, seed]
        runpy.run_path(script, run_name="__main__")
        pd.read_csv(drawn).set_axis(names, axis=1).to_parquet(out)
    print_figures(started)


if __name__ == "__main__":
    main()
