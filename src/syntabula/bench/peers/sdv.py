"""One run of SDV's Gaussian copula, CTGAN or TVAE on rows, in an environment where sdv is installed; see `adapter`.

python sdv.py METHOD TABLE.parquet COLUMNS.json OUT.parquet EPSILON DELTA RHO SEED

Neither is private, and epsilon is not used. Settings are the library's. SDV and CTGAN are not open source.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> None:
    """Read a table and what is known of its columns, fit, write as many rows."""
    method, table, columns, out, _, _, _, seed = sys.argv[1:9]
    import numpy
    import pandas
    import torch
    from sdv import single_table
    from sdv.metadata import Metadata

    frame = pandas.read_parquet(table)
    metadata = Metadata.detect_from_dataframes({"table": frame})
    for name, facts in json.loads(Path(columns).read_text()).items():
        if "categories" in facts:
            frame[name] = frame[name].astype(object)
        metadata.update_column(name, sdtype="categorical" if "categories" in facts else "numerical")
    numpy.random.seed(int(seed))  # noqa: NPY002 - the library draws from this generator
    torch.manual_seed(int(seed))
    kinds = {"copula": "GaussianCopula", "ctgan": "CTGAN", "tvae": "TVAE"}
    model = getattr(single_table, f"{kinds[method]}Synthesizer")(metadata)
    model.fit({"table": frame})
    drawn = model.sample(len(frame))
    drawn = drawn["table"] if isinstance(drawn, dict) else drawn
    drawn[list(frame.columns)].to_parquet(out)


if __name__ == "__main__":
    main()
