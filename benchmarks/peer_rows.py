"""One run of dpmm or SDV on a table with declared columns, in an environment of its own; rows.py calls it.

dpmm pins old versions of numpy and pandas and needs an older pyarrow; SDV needs nothing else:
    python3 -m venv ../peers/dpmm
    ../peers/dpmm/bin/pip install dpmm "pyarrow<20"
    python3 -m venv ../peers/sdv
    ../peers/sdv/bin/pip install sdv pyarrow
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Read a Parquet file and the facts about its columns, fit, and write as many rows."""
    peer, method, table, facts, out, epsilon, seed = sys.argv[1:8]
    import pandas as pd

    frame = pd.read_parquet(table)
    columns = json.loads(Path(facts).read_text())
    drawn = {"dpmm": with_dpmm, "sdv": with_sdv}[peer](method, frame, columns, float(epsilon), int(seed))
    drawn[list(frame.columns)].to_parquet(out)


def with_dpmm(method: str, frame: Any, columns: dict[str, Any], epsilon: float, seed: int) -> Any:
    """Fit dpmm's pipeline, with a tenth of the budget for its bins, as its documentation does."""
    import numpy as np
    from dpmm.pipelines import AIMPipeline, MSTPipeline

    domain: dict[str, Any] = {}
    numbers = [name for name, facts in columns.items() if "lower" in facts]
    for name, facts in columns.items():
        if name in numbers:
            domain[name] = {"lower": facts["lower"], "upper": facts["upper"]}
            frame[name] = frame[name].astype(float)
        else:
            domain[name] = {"categories": [str(c) for c in facts["categories"]] + ["missing"]}
            frame[name] = frame[name].astype(str).where(frame[name].notna(), "missing")
    pipeline = {"mst": MSTPipeline, "aim": AIMPipeline}[method]
    model = pipeline(epsilon=0.9 * epsilon, proc_epsilon=0.1 * epsilon, delta=1e-5, n_jobs=1)
    model.fit(frame, domain=domain, random_state=np.random.RandomState(seed))
    drawn = model.generate(n_records=len(frame))
    for name in numbers:
        whole = columns[name]["integer"]
        drawn[name] = drawn[name].astype(float).round() if whole else drawn[name].astype(float)
    return drawn


def with_sdv(method: str, frame: Any, columns: dict[str, Any], epsilon: float, seed: int) -> Any:
    """Fit SDV's Gaussian copula, which has no privacy."""
    del method, columns, epsilon, seed
    from sdv.metadata import Metadata
    from sdv.single_table import GaussianCopulaSynthesizer

    metadata = Metadata.detect_from_dataframes({"table": frame})
    model = GaussianCopulaSynthesizer(metadata)
    model.fit(frame)
    return model.sample(len(frame))


if __name__ == "__main__":
    main()
