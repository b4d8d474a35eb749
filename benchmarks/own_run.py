"""One run of a method, start to file, as a process of its own: called by the other benchmarks.

The noise is the secure one; the seed is that of the sample alone.
"""

from __future__ import annotations

import json
import resource
import sys
import time


def main() -> None:
    """Read a Parquet file (and sizes, if it is coded), fit, write a Parquet file, print seconds and memory."""
    table, out, method, epsilon, seed, sizes_text = sys.argv[1:7]
    started = time.perf_counter()
    import syntabula

    sizes = json.loads(sizes_text)
    if sizes:
        schema = syntabula.Schema(
            {name: syntabula.Numeric(0, size - 1, integer=True) for name, size in sizes.items()}
        )
    else:
        schema = syntabula.datasets.schema_of(table.rsplit("/", 1)[-1].removesuffix(".parquet"))
    release = syntabula.synthesizer(method)(epsilon=float(epsilon), bins=128 if sizes else 100).fit(
        table, schema
    )
    release.sample_to(out, seed=int(seed))
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mb": peak}))


if __name__ == "__main__":
    main()
