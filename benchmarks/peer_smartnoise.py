"""MST of smartnoise-synth, which holds the table as a pandas frame, for big_tables.py.

    python3.11 -m venv ../peers/smartnoise && ../peers/smartnoise/bin/pip install smartnoise-synth pyarrow
    ../peers/smartnoise/bin/python benchmarks/peer_smartnoise.py FOLDER SCHEMA OUT

Numbers are put into 32 even bins before, by pandas.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import yaml

BINS = 32


def main() -> None:
    """Read, fit and write as many rows; print processor seconds by stage."""
    folder, schema, out = sys.argv[1:4]
    import numpy as np
    import pandas as pd
    from snsynth import Synthesizer

    frame = pd.read_parquet(folder)
    for name, facts in yaml.safe_load(Path(schema).read_text())["columns"].items():
        if facts["kind"] not in ("categorical", "boolean"):
            lower, upper, values = _numbers(pd, facts, frame[name])
            cell = np.floor((values - lower) * BINS / (upper - lower)).clip(0, BINS - 1)
            frame[name] = cell.fillna(BINS).astype(int)
        else:
            frame[name] = frame[name].astype("category").cat.codes.astype(int)
    stage("reading and coding")
    synthesizer = Synthesizer.create("mst", epsilon=1.0, delta=1e-9, verbose=False)
    synthesizer.fit(frame, preprocessor_eps=0.0, categorical_columns=list(frame))
    stage("fit")
    synthesizer.sample(len(frame)).to_parquet(out)
    stage("rows")


def _numbers(pd: Any, facts: dict[str, Any], cells: Any) -> tuple[float, float, Any]:
    if facts["kind"] == "numeric":
        return facts["lower"], facts["upper"], cells
    times = pd.to_datetime(cells).astype("datetime64[s]").astype("int64")
    return *(pd.Timestamp(str(facts[end])).timestamp() for end in ("lower", "upper")), times


def stage(name: str) -> None:
    """Print the processor seconds until the end of a stage."""
    print(f"stage {name} {sum(os.times()[:4]):.1f} s", flush=True)


if __name__ == "__main__":
    main()
