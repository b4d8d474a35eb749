"""One run of DP Synth's AIM, MST or SWIFT on codes, in an environment where dpsynth is installed; see `adapter`.

python dpsynth.py METHOD CODES.csv SIZES.json OUT.csv EPSILON DELTA RHO SEED

The mechanisms and their settings are the library's; AIM and SWIFT have all pairs of columns as their workload.
"""

from __future__ import annotations

import json
import sys
from itertools import combinations
from pathlib import Path


def main() -> None:
    """Read codes and the number of codes of each column, fit, write codes."""
    method, codes, sizes, out, epsilon, delta, _, seed = sys.argv[1:9]
    import jax

    jax.config.update("jax_enable_x64", True)
    import mbi
    import numpy as np
    from dpsynth import discrete_mechanisms as mechanisms

    np.random.seed(int(seed))  # noqa: NPY002 - mbi draws rows from this generator
    rows = np.loadtxt(codes, delimiter=",", skiprows=1, dtype=np.int64, ndmin=2)
    counts = [int(n) for n in json.loads(Path(sizes).read_text()).values()]
    names = tuple(f"c{place}" for place in range(len(counts)))
    table = mbi.Dataset(dict(zip(names, rows.T, strict=True)), mbi.Domain(names, tuple(counts)))
    kinds = {"aim": mechanisms.AIMConfig, "mst": mechanisms.MSTConfig, "swift": mechanisms.SWIFTConfig}
    settings = {} if method == "mst" else {"workload": list(combinations(names, 2))}
    whole = mechanisms.DiscreteConfig(mechanism=kinds[method](**settings))
    calibrated = whole.calibrate(epsilon=float(epsilon), delta=float(delta))
    model = calibrated(np.random.default_rng(int(seed)), table).model
    drawn = model.synthetic_data(len(rows))
    made = np.column_stack([np.asarray(drawn.data[name]) for name in names])
    np.savetxt(out, made, fmt="%d", delimiter=",", header=",".join(names), comments="")


if __name__ == "__main__":
    main()
