"""Tunes the settings of evaluators on the real table and caches them."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import numpy as np

from syntabula._extras import require
from syntabula._files import whole_file
from syntabula.errors import ArgumentError
from syntabula.metrics.utility.evaluators import Evaluator, Settings
from syntabula.metrics.utility.learning import (
    Sample,
    Task,
    class_scores,
    predictions,
    root_mean_squared_error,
)
from syntabula.table.unit_rows import parted

_VERSION = 1


def tuned_settings(
    judge: Evaluator,
    task: Task,
    real: Sample,
    *,
    n_trials: int = 50,
    seed: int = 0,
    cache: str | os.PathLike[str] | None = None,
) -> Settings:
    """Return the settings with which an evaluator performs best on a real table.

    Settings are drawn at random from the evaluator's space (SynMeter: 50 trials of a Bayesian search), trained on
    four fifths of the rows and scored on the rest, by weighted F1 or RMSE; all rows of a unit are on one side. They are
    cached in a file named by a digest of the rows, so that the same table is never tuned twice. They depend on the real
    table and are not private.

    Args:
        judge: The evaluator.
        task: The prediction task.
        real: Real records, without those of the test.
        n_trials: Number of settings to try.
        seed: Seed of the search.
        cache: Folder of the files; `syntabula/evaluators` in XDG_CACHE_HOME or ~/.cache if None.

    Raises:
        ArgumentError: If there is no trial, there are fewer than 5 rows, or a file of the cache is damaged.
        MissingExtraError: If the evaluator's library is not installed.
    """
    if n_trials < 1 or real.y.size < 5:
        raise ArgumentError("tuning needs at least one trial and five rows")
    path = _folder(cache) / f"{judge.key}-{_digest(task, real, n_trials, seed)}.json"
    if path.exists():
        return _read(path)
    settings = _search(judge, task, real, n_trials, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps({"version": _VERSION, "settings": settings}) + "\n", encoding="utf-8")
    return settings


def _search(judge: Evaluator, task: Task, real: Sample, n_trials: int, seed: int) -> Settings:
    selection = require("sklearn.model_selection", "evaluate")
    if real.units is None:
        rows, held_out = selection.train_test_split(np.arange(real.y.size), test_size=0.2, random_state=seed)
    else:
        held_out, rows = parted(real.y.size // 5, real.y.size, real.units, np.random.default_rng(seed))
    train, test = Sample(real.x[rows], real.y[rows]), Sample(real.x[held_out], real.y[held_out])
    trials = selection.ParameterSampler(judge.space(task), n_trials, random_state=seed)
    best, best_score = {}, -np.inf
    for trial in trials:
        settings = {name: getattr(value, "item", lambda v=value: v)() for name, value in trial.items()}
        said = predictions(judge.make(task, settings, seed), task, train, test)
        score = (
            class_scores(task, test, said)["weighted_f1"]
            if task.has_classes
            else -root_mean_squared_error(test, said)
        )
        if score > best_score:
            best, best_score = settings, score
    return best


def _digest(task: Task, real: Sample, n_trials: int, seed: int) -> str:
    digest = hashlib.sha256(repr((task, n_trials, seed, real.x.shape)).encode())
    digest.update(np.ascontiguousarray(real.x).tobytes())
    digest.update(np.ascontiguousarray(real.y).tobytes())
    if real.units is not None:
        digest.update(real.units.tobytes())
    return digest.hexdigest()[:24]


def _folder(cache: str | os.PathLike[str] | None) -> Path:
    if cache is not None:
        return Path(cache)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "syntabula" / "evaluators"


def _read(path: Path) -> Settings:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        settings = known["settings"] if known["version"] == _VERSION else None
    except (OSError, ValueError, KeyError, TypeError):
        settings = None
    if not isinstance(settings, dict):
        raise ArgumentError(f"{str(path)!r} is damaged; remove it, and the settings will be tuned again")
    return settings
