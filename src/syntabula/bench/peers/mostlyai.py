"""One run of MOSTLY AI's TabularARGN on rows, in an environment where mostlyai-engine is installed; see `adapter`.

python mostlyai.py METHOD TABLE.parquet COLUMNS.json OUT.parquet EPSILON DELTA RHO SEED

It runs without its privacy, and epsilon is not used. Settings are the library's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> None:
    """Read a table and what is known of its columns, fit, write as many rows."""
    _, table, columns, out, _, _, _, seed = sys.argv[1:9]
    import pandas
    from mostlyai.engine import TabularARGN

    frame = pandas.read_parquet(table)
    for name, facts in json.loads(Path(columns).read_text()).items():
        if "categories" in facts:
            frame[name] = frame[name].astype(str).where(frame[name].notna())
    model = TabularARGN(random_state=int(seed), verbose=0)
    model.fit(X=frame)
    model.sample(n_samples=len(frame))[list(frame.columns)].to_parquet(out)


if __name__ == "__main__":
    main()
