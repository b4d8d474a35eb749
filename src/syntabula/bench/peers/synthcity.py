"""One run of a plugin of synthcity on rows, in an environment where synthcity is installed; see `adapter`.

python synthcity.py PLUGIN TABLE.parquet COLUMNS.json OUT.parquet EPSILON DELTA RHO SEED

Settings are the library's. Plugins with a budget get epsilon, and delta where they take one; bounds and categories they
read off the table, which their budget does not count.
"""

from __future__ import annotations

import inspect
import json
import math
import sys
from pathlib import Path


def main() -> None:
    """Read a table and what is known of its columns, fit, write as many rows."""
    plugin, table, columns, out, epsilon, delta, _, seed = sys.argv[1:9]
    import pandas
    from synthcity.plugins import Plugins
    from synthcity.plugins.core.dataloader import GenericDataLoader

    frame = pandas.read_parquet(table)
    facts = json.loads(Path(columns).read_text())
    for name in frame.columns:
        if "categories" in facts[name]:
            frame[name] = frame[name].astype(str).where(frame[name].notna())
    library = Plugins(categories=["generic", "privacy"])
    given = {"random_state": int(seed), "workspace": Path(out).parent / "workspace"}
    if not math.isinf(float(epsilon)):
        taken = inspect.signature(library.get_type(plugin).__init__).parameters
        given |= {name: float(x) for name, x in (("epsilon", epsilon), ("delta", delta)) if name in taken}
    model = library.get(plugin, **given)
    model.fit(GenericDataLoader(frame))
    made = model.generate(count=len(frame), random_state=int(seed)).dataframe()
    made[list(frame.columns)].to_parquet(out)


if __name__ == "__main__":
    main()
