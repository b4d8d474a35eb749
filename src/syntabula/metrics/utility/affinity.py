"""Machine-learning affinity: how much models lose by training on the synthetic table, with settings tuned on the real."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from syntabula._arguments import count, flag, names, normalise, path
from syntabula._extras import require
from syntabula._files import whole_file
from syntabula.errors import ArgumentError
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.score import Part, Score
from syntabula.metrics.utility.efficacy import NO_TARGET, at_most, check_evaluators
from syntabula.metrics.utility.evaluators import EVALUATORS, Evaluator, Settings, check_installed, evaluator
from syntabula.metrics.utility.learning import (
    Encoding,
    Sample,
    Task,
    class_scores,
    nothing_to_predict,
    predictions,
    root_mean_squared_error,
)
from syntabula.table.unit_rows import parted


@dataclass(frozen=True, kw_only=True)
class Affinity:
    """Mean over evaluators of |score after synthetic training - score after real training| / the latter (MLA).

    Du and Li (SynMeter), Section 5: eight evaluators, tested on holdout records, by weighted F1 for classes and
    RMSE for numbers; numbers, including targets, are transformed to a normal distribution first (`Encoding`). 0
    is best. The paper prints a signed difference; the authors' code and figures use its absolute value, as
    does this.

    Attributes:
        evaluators: Keys of models, as in `evaluators.EVALUATORS`.
        tuned: Whether their settings are tuned on the real table first, as the authors do; see `tuned_settings`.
        n_trials: Number of settings to try for each.
        cache: Folder where tuned settings are kept; see `tuned_settings`.
        max_rows: Rows of each table used for training or prediction.

    Raises:
        ArgumentError: If an evaluator is unknown or none is named, or a number is below 1.
        MissingExtraError: When called, before any is trained, if the library of an evaluator is not installed, or Optuna
            to tune them.
    """

    evaluators: tuple[str, ...] = tuple(EVALUATORS)
    tuned: bool = False
    n_trials: int = 50
    cache: str | os.PathLike[str] | None = None
    max_rows: int = 20_000

    def __post_init__(self) -> None:
        normalise(self, evaluators=names, tuned=flag, n_trials=count(), cache=path.or_none, max_rows=count())
        check_evaluators(self.evaluators)

    @property
    def key(self) -> str:
        """Name of the metric."""
        return "affinity-tuned" if self.tuned else "affinity"

    def __call__(self, tables: Comparison, rng: np.random.Generator) -> Score:
        """Score the synthetic table; the generator draws the rows and the seeds of the models."""
        if tables.target is None or tables.holdout is None:
            return Score.mean(self.key, {}, direction="lower", needed=NO_TARGET)
        check_installed(self.evaluators)
        if self.tuned:
            require("optuna", "tune")
        encoding = Encoding(tables, normal=True)
        sampled = tables.sampled(self.max_rows, rng)
        task, test = encoding.task, encoding.sample(at_most(tables.holdout, self.max_rows, rng))
        real, synthetic = encoding.sample(sampled.real), encoding.sample(sampled.synthetic)
        if lack := nothing_to_predict(test, real, synthetic):
            return Score.mean(self.key, {}, direction="lower", needed=lack)
        seed = int(rng.integers(2**31))
        parts: dict[Part, float] = {}
        for key in self.evaluators:
            judge = evaluator(key)
            settings: Settings = {}
            if self.tuned:
                settings = tuned_settings(judge, task, real, n_trials=self.n_trials, cache=self.cache)

            def score(train: Sample, settings: Settings = settings, key: str = key) -> float:
                model = evaluator(key).make(task, settings, seed)
                said = predictions(model, task, train, test)
                if task.has_classes:
                    return class_scores(task, test, said)["weighted_f1"]
                return root_mean_squared_error(test, said)

            ideal, found = score(real), score(synthetic)
            # A perfect regression model has error 0, and any loss relative to it is infinite.
            parts[key,] = abs(found - ideal) / ideal if ideal else float(np.inf if found else 0.0)
        facts: dict[str, int | float | str] = {"rows": synthetic.y.size, "tested": test.y.size}
        return Score.mean(self.key, parts, direction="lower", facts=facts)


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

    Settings are suggested by Optuna from the evaluator's space, as in SynMeter by the tree-structured Parzen estimator,
    trained on four fifths of the rows and scored on the rest, by weighted F1 or RMSE; all rows of a unit are on one side.
    They are cached in a file named by a digest of the rows, so that the same table is never tuned twice. They depend on
    the real table and are not private.

    Args:
        judge: The evaluator.
        task: The prediction task.
        real: Real records, without those of the test.
        n_trials: Number of settings to try.
        seed: Seed of the search.
        cache: Folder of the files; `syntabula/evaluators` in XDG_CACHE_HOME or ~/.cache if None.

    Raises:
        ArgumentError: If there is no trial, there are fewer than 5 rows, or a file of the cache is damaged.
        MissingExtraError: If the evaluator's library, or Optuna, is not installed.
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
    optuna = require("optuna", "tune")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed), direction="maximize")
    best: Settings = {}
    best_score = -np.inf
    for _ in range(n_trials):
        trial = study.ask()
        settings = {name: tried.suggested(trial, name) for name, tried in judge.space.items()}
        said = predictions(judge.make(task, settings, seed), task, train, test)
        score = (
            class_scores(task, test, said)["weighted_f1"]
            if task.has_classes
            else -root_mean_squared_error(test, said)
        )
        study.tell(trial, score)
        if score > best_score:
            best, best_score = settings, score
    return best


def _digest(task: Task, real: Sample, n_trials: int, seed: int) -> str:
    digest = hashlib.sha256(repr(("tpe", task, n_trials, seed, real.x.shape)).encode())
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
