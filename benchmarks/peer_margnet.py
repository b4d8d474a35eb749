"""One run of the public MargNet on a coded table, from a checkout of KaiChen9909/margnet.

    git clone https://github.com/KaiChen9909/margnet
    MARGNET=margnet python benchmarks/peer_margnet.py TABLE DOMAIN OUT EPSILON SEED [ITERATIONS]

It needs torch, tomli, tqdm and networkx. Settings are the repository's own for Adult: 512 rows, two blocks of 256
units, 200 iterations per round unless ITERATIONS is given.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import tempfile
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
    # It reports GPU memory, which fails with a torch build without GPU support.
    torch.cuda.reset_peak_memory_stats = lambda *_, **__: None
    torch.cuda.max_memory_allocated = lambda *_, **__: 0
    sys.path.insert(0, str(Path(os.environ["MARGNET"]).resolve()))
    import tomli
    from method.MargDL.main import MargDLGen

    sizes = json.loads(Path(domain_path).read_text())
    frame = pd.read_parquet(table)[list(sizes)].astype("int64")
    configurations = Path(os.environ["MARGNET"]) / "method" / "MargDL" / "config" / "gan" / "adult.toml"
    configuration = tomli.loads(configurations.read_text())["1.0"]
    if iterations:
        configuration["train"] |= dict.fromkeys(
            ("selection_iterations", "final_iterations"), int(iterations[0])
        )
    arguments = SimpleNamespace(iter=None, lr=None, batch=None, test=False, resample=False)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        generator = MargDLGen(arguments, frame, sizes, "cpu", configuration, folder, "gan")
        measured = generator.fit_adaptive(float(Budget(epsilon=float(epsilon), delta=1e-5).total))
        rows = generator.model.sample(len(frame))
    pd.DataFrame(np.asarray(rows), columns=list(sizes)).to_parquet(out)
    cost = {
        "seconds": time.perf_counter() - started,
        "processor_seconds": sum(os.times()[:2]),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "rounds": len(measured) - len(sizes),
    }
    print(json.dumps(cost))


if __name__ == "__main__":
    main()
