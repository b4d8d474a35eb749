"""Draws the table of the study parities.yaml: ten fair coins, and the parities of two, three and five of them.

    python benchmarks/parities.py

Writes parities.csv here: 20,000 rows of 13 columns. No coin is in two parities.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

PARITIES = {"odd_of_two": range(2), "odd_of_three": range(2, 5), "odd_of_five": range(5, 10)}


def main() -> None:
    """Write the table."""
    coins = np.random.default_rng(0).integers(0, 2, size=(20_000, 10))
    columns = {f"coin_{i}": coins[:, i] for i in range(10)}
    columns |= {name: coins[:, [*of]].sum(axis=1) % 2 for name, of in PARITIES.items()}
    sides = np.array(["even", "odd"])
    pd.DataFrame({name: sides[values] for name, values in columns.items()}).to_csv(
        "parities.csv", index=False
    )


if __name__ == "__main__":
    main()
