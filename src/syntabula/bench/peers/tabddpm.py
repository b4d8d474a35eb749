"""One run of TabDDPM on rows by its authors' code, of which the user has a checkout; see `adapter`.

python tabddpm.py METHOD TABLE.parquet COLUMNS.json OUT.parquet EPSILON DELTA RHO SEED

It is not private, and epsilon is not used. The last column is what rows are drawn given if it has categories, as in
their experiments, and a number like the others if not. Steps, batches, learning rate and levels are the defaults of
their functions, layers those of their configuration for adult (`ddpm_mlp_best`). A missing category is one more
category, a missing number the mean.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

LAYERS = (1024, 512)
MISSING = "a cell without a value"
SPLITS = ("train", "val", "test")


class TabDDPM:
    """Their scripts `train.py` and `sample.py`, which work on files in a folder.

    Args:
        frame: Rows to learn.
        facts: Of each column, "categories" where it has such.
        folder: For their files.
        seed: Of training and of drawing.
        layers: Widths.
        levels: Of noise.
    """

    def __init__(
        self,
        frame: Any,
        facts: dict[str, Any],
        folder: Path,
        seed: int,
        *,
        layers: tuple[int, ...] = LAYERS,
        levels: int = 1000,
    ) -> None:
        import numpy

        code = Path(os.environ["SYNTABULA_PEER_TABDDPM_CODE"])
        sys.path[:0] = [str(code), str(code / "scripts")]
        *inputs, self.target = frame.columns
        self.columns = list(frame.columns)
        self.classes = sorted(set(texts(frame[self.target]))) if "categories" in facts[self.target] else []
        self.texts = [name for name in inputs if "categories" in facts[name]]
        self.numbers = [name for name in inputs if name not in self.texts]
        self.folder, self.n_rows = folder, len(frame)
        numbers = frame[self.numbers].astype(float)
        files = {
            "X_num": numbers.fillna(numbers.mean()).to_numpy(),
            "X_cat": numpy.array([texts(frame[name]) for name in self.texts]).T,
            "y": numpy.searchsorted(self.classes, texts(frame[self.target]))
            if self.classes
            else frame[self.target].to_numpy(float),
        }
        for name, values in files.items():
            for split in SPLITS:
                # Rows to tune and test by are asked for, and not used.
                rows = values if split == "train" else values[:100]
                if values.size:
                    numpy.save(folder / f"{name}_{split}.npy", rows)
        task = "regression" if not self.classes else "binclass" if len(self.classes) == 2 else "multiclass"
        (folder / "info.json").write_text(json.dumps({"task_type": task, "n_classes": len(self.classes)}))
        self.usual = {
            "parent_dir": str(folder),
            "real_data_path": str(folder),
            "model_type": "mlp",
            "num_timesteps": levels,
            "num_numerical_features": len(self.numbers),
            "device": "cpu",
            "seed": seed,
            "T_dict": {"seed": 0, "normalization": "quantile", "y_policy": "default"}
            | dict.fromkeys(("num_nan_policy", "cat_nan_policy", "cat_min_frequency", "cat_encoding")),
        }
        self.layers = layers

    def train(self, **settings: Any) -> None:
        """Train, with these settings of their `train`."""
        importlib.import_module("train").train(**self.usual, model_params=self._model(), **settings)

    def sample(self, n: int) -> Any:
        """Return a frame of so many rows."""
        import numpy
        import pandas

        # Their function writes what it drew as pickled arrays; it is kept instead, so that none is read.
        kept: dict[str, Any] = {}
        with mock.patch("numpy.save", lambda file, rows: kept.update({Path(file).stem: rows})):
            importlib.import_module("sample").sample(
                **self.usual,
                model_params=self._model(),
                model_path=str(self.folder / "model.pt"),
                num_samples=n,
            )
        drawn: dict[str, Any] = {}
        for names, file in ((self.numbers, "X_num_train"), (self.texts, "X_cat_train")):
            drawn |= {name: kept[file][:, place] for place, name in enumerate(names)}
        target = kept["y_train"]
        drawn[self.target] = (
            numpy.array(self.classes, dtype=object)[target.astype(int)] if self.classes else target
        )
        frame = pandas.DataFrame(drawn)[self.columns]
        return frame.where(frame != MISSING, None)

    def _model(self) -> dict[str, Any]:
        return {
            "num_classes": len(self.classes),
            "is_y_cond": bool(self.classes),
            "rtdl_params": {"d_layers": list(self.layers), "dropout": 0.0},
        }


def texts(column: Any) -> Any:
    """Return the texts of a column of categories."""
    return column.astype(object).where(column.notna(), MISSING).astype(str).to_numpy()


def main() -> None:
    """Read a table and what is known of its columns, fit, write as many rows."""
    _, table, columns, out, _, _, _, seed = sys.argv[1:9]
    import pandas

    frame = pandas.read_parquet(table)
    with tempfile.TemporaryDirectory() as folder:
        model = TabDDPM(frame, json.loads(Path(columns).read_text()), Path(folder), int(seed))
        model.train()
        model.sample(len(frame)).to_parquet(out)


if __name__ == "__main__":
    main()
