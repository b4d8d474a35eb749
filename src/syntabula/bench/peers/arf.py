"""One run of adversarial random forests on rows, in an environment where arfpy is installed; see `adapter`.

python arf.py METHOD TABLE.parquet COLUMNS.json OUT.parquet EPSILON DELTA RHO SEED

It is not private, and epsilon is not used. Settings are the library's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> None:
    """Read a table and what is known of its columns, fit, write as many rows."""
    _, table, columns, out, _, _, _, seed = sys.argv[1:9]
    import numpy
    import pandas
    from arfpy import arf

    frame = pandas.read_parquet(table)
    for name, facts in json.loads(Path(columns).read_text()).items():
        if "categories" in facts:
            frame[name] = frame[name].astype(str).astype("category")
        else:
            frame[name] = frame[name].astype(float)
    numpy.random.seed(int(seed))  # noqa: NPY002 - the library draws from this generator
    model = arf.arf(x=frame, random_state=int(seed), verbose=False)
    model.forde()
    drawn = model.forge(n=len(frame))[list(frame.columns)]
    for name in drawn.columns[drawn.dtypes == "category"]:
        drawn[name] = drawn[name].astype(str)
    drawn.to_parquet(out)


if __name__ == "__main__":
    main()
