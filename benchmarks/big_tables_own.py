"""Our side of big_tables.py: MST from a folder of Parquet files to a synthetic file.

python benchmarks/big_tables_own.py FOLDER SCHEMA OUT
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Fit with 32 bins, as the peers have them, and write as many rows; print processor seconds by stage."""
    folder, schema, out = sys.argv[1:4]
    import syntabula

    release = syntabula.MST(epsilon=1.0, delta=1e-9, bins=32).fit(folder, schema)
    stage("fit")
    release.sample_to(out)
    stage("rows")


def stage(name: str) -> None:
    """Print the processor seconds until the end of a stage."""
    print(f"stage {name} {sum(os.times()[:4]):.1f} s", flush=True)


if __name__ == "__main__":
    main()
