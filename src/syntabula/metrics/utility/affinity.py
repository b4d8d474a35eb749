"""Machine-learning affinity: how much models lose by training on the synthetic table."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from syntabula._arguments import count, flag, names, normalise, path
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.score import Part, Score
from syntabula.metrics.utility.efficacy import NO_TARGET, at_most, check_evaluators
from syntabula.metrics.utility.evaluators import EVALUATORS, Settings, check_installed, evaluator
from syntabula.metrics.utility.learning import (
    Encoding,
    Sample,
    class_scores,
    predictions,
    root_mean_squared_error,
)
from syntabula.metrics.utility.tuning import tuned_settings


@dataclass(frozen=True, kw_only=True)
class Affinity:
    """Mean over evaluators of |score after synthetic training - score after real training| / the latter (MLA).

    Du and Li (SynMeter), Section 5: eight evaluators, tested on holdout records, by weighted F1 for classes and
    RMSE for numbers; numbers, including targets, are transformed to a normal distribution first (`Encoding`). 0
    is best. The paper prints a signed difference; the authors' code and figures use its absolute value, as
    does this.

    Attributes:
        evaluators: Keys of models, as in `evaluators.EVALUATORS`.
        tuned: Whether their settings are tuned on the real table first, as the authors do; see `tuning`.
        n_trials: Number of settings to try for each.
        cache: Folder where tuned settings are kept; see `tuning`.
        max_rows: Rows of each table used for training or prediction.

    Raises:
        ArgumentError: If an evaluator is unknown or none is named, or a number is below 1.
        MissingExtraError: When called, before any is trained, if the library of an evaluator is not installed.
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
        encoding = Encoding(tables, normal=True)
        sampled = tables.sampled(self.max_rows, rng)
        task, test = encoding.task, encoding.sample(at_most(tables.holdout, self.max_rows, rng))
        real, synthetic = encoding.sample(sampled.real), encoding.sample(sampled.synthetic)
        if not min(test.y.size, real.y.size, synthetic.y.size):
            return Score.mean(self.key, {}, direction="lower", needed="a table has no known target")
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
