"""One run of TableDiffusion on rows by its author's code, of which the user has a checkout; see `adapter`.

python tablediffusion.py METHOD TABLE.parquet COLUMNS.json OUT.parquet EPSILON DELTA RHO SEED

Settings are its own. Bounds, quantiles and categories it reads off the table, which its budget does not
count. A missing category is one more category, a missing number the mean.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

MISSING = "a cell without a value"


class TableDiffusion:
    """Their synthesizer, with the columns in the form that it can take.

    Args:
        epsilon: Of the budget.
        delta: Of the budget.
        seed: Of what it draws; Opacus draws its noise from it too.
        settings: Further options of theirs.
    """

    def __init__(self, epsilon: float, delta: float, seed: int, **settings: Any) -> None:
        import torch

        torch.manual_seed(seed)
        self.model = _module().TableDiffusion_Synthesiser(
            epsilon_target=epsilon, delta=delta, cuda=False, mlflow_logging=False, **settings
        )

    def train(self, frame: Any, facts: dict[str, Any]) -> None:
        """Train for the number of epochs that the budget is meant for."""
        self.columns = list(frame.columns)
        # It tells what belongs to a category by the beginning of names.
        known = frame.set_axis([f"c{place}" for place in range(len(self.columns))], axis=1)
        discrete = [name for name, own in zip(known, self.columns, strict=True) if "categories" in facts[own]]
        for name in known:
            column = known[name]
            if name in discrete:
                known[name] = column.astype(object).where(column.notna(), MISSING).astype(str)
            else:
                known[name] = column.astype(float).fillna(column.mean())
        epochs = self.model.epoch_target
        self.model.fit(known, n_epochs=epochs, discrete_columns=discrete, verbose=False)

    def sample(self, n: int) -> Any:
        """Return a frame of so many rows."""
        drawn = self.model.sample(n).set_axis(self.columns, axis=1)
        return drawn.where(drawn != MISSING, None)


def _module() -> Any:
    """Import their module alone, without the packages that keep its experiments and draw pictures of each step."""
    code = Path(os.environ["SYNTABULA_PEER_TABLEDIFFUSION_CODE"]) / "tablediffusion"
    sys.path.insert(0, str(code))
    models = ModuleType("models")
    models.__path__ = [str(code / "models")]
    sys.modules["models"] = models
    sys.modules |= {name: MagicMock() for name in ("git", "mlflow", "mlflow.tracking", "matplotlib")}
    theirs = importlib.import_module("models.table_diffusion")
    theirs.plt.subplots.return_value = MagicMock(), MagicMock()
    return theirs


def main() -> None:
    """Read a table and what is known of its columns, fit, write as many rows."""
    _, table, columns, out, epsilon, delta, _, seed = sys.argv[1:9]
    import pandas

    frame = pandas.read_parquet(table)
    model = TableDiffusion(float(epsilon), float(delta), int(seed))
    model.train(frame, json.loads(Path(columns).read_text()))
    model.sample(len(frame)).to_parquet(out)


if __name__ == "__main__":
    main()
