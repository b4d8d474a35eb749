"""One run of our method, or of a pair "selector+model", on a coded table, as a separate process.

The noise is secure; the seed is only that of the sample. "aim@20" is AIM with a model of at most 20 MB.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from figures import print_figures


def main() -> None:
    """Read a Parquet file of codes, fit, write a Parquet file, print time and memory."""
    method, table, domain, out, epsilon, seed = sys.argv[1:7]
    started = time.perf_counter()
    import syntabula

    sizes = json.loads(Path(domain).read_text())
    schema = syntabula.Schema(
        {name: syntabula.Numeric(0, size - 1, integer=True) for name, size in sizes.items()}
    )
    budget = syntabula.Budget(float(epsilon), 1e-5, accounting="zcdp")  # as the peers count theirs
    settings = {"budget": budget, "bins": max(sizes.values()), "rare": None}
    method, _, most_mb = method.partition("@")
    if most_mb:
        from syntabula.select.adaptive import Adaptive

        settings["selector"] = Adaptive(max_model_mb=float(most_mb))
    selector, _, model = method.partition("+")
    if model.strip("+"):  # and not a name such as rap++
        synthesizer = syntabula.Marginal(selector=selector, model=model, **settings)
    else:
        synthesizer = syntabula.synthesizer(method)(**settings)
    release = synthesizer.fit(table, schema)
    release.sample_to(out, seed=int(seed))
    print_figures(started, currency=release.privacy.budget.currency)


if __name__ == "__main__":
    main()
