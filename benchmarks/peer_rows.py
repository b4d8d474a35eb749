"""One run of dpmm's pipelines on a table with declared columns, in an environment of its own; rows.py calls it.

    python peer_rows.py METHOD TABLE.parquet COLUMNS.json OUT.parquet EPSILON DELTA RHO SEED

The arguments are those of the adapters of studies, of which dpmm's learns codes. It pins old versions of numpy and pandas
and needs an older pyarrow:
    python3 -m venv ../peers/dpmm
    ../peers/dpmm/bin/pip install dpmm "pyarrow<20"
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Read a Parquet file and the facts about its columns, fit, and write as many rows."""
    method, table, facts, out, epsilon, delta, _, seed = sys.argv[1:9]
    import pandas as pd

    frame = pd.read_parquet(table)
    columns = json.loads(Path(facts).read_text())
    drawn = with_dpmm(method, frame, columns, float(epsilon), float(delta), int(seed))
    drawn[list(frame.columns)].to_parquet(out, index=False)


def with_dpmm(
    method: str, frame: Any, columns: dict[str, Any], epsilon: float, delta: float, seed: int
) -> Any:
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
            # Whole numbers beside missing cells are read as floats, and are categories without decimals.
            text = frame[name].convert_dtypes().astype(str)
            frame[name] = text.where(frame[name].notna(), "missing")
    pipeline = {"mst": MSTPipeline, "aim": AIMPipeline}[method]
    model = pipeline(epsilon=0.9 * epsilon, proc_epsilon=0.1 * epsilon, delta=delta, n_jobs=1)
    model.fit(frame, domain=domain, random_state=np.random.RandomState(seed))
    drawn = model.generate(n_records=len(frame))
    for name in numbers:
        whole = columns[name]["integer"]
        drawn[name] = drawn[name].astype(float).round() if whole else drawn[name].astype(float)
    return drawn


if __name__ == "__main__":
    main()
