"""The eight models of SynMeter that evaluate a synthetic table by training on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from syntabula._arguments import near, shown
from syntabula._extras import is_installed, require
from syntabula._spaces import Choice, Range, Space
from syntabula.errors import ArgumentError, MissingExtraError
from syntabula.metrics.utility.learning import Estimator, Task

Settings = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Evaluator:
    """A kind of model.

    Attributes:
        key: Its lower-case name.
        make: Makes a model for a task with settings and a seed; raises MissingExtraError, which names the extra,
            if its library is not installed.
        space: What `tuned_settings` tries for each setting (Du and Li, SynMeter v1, Tables C9 to C16, except for a
            smaller transformer and no limit on the steps of the linear model).
        library: Module that it needs.
        extra: The extra that installs it.
    """

    key: str
    make: Callable[[Task, Settings, int], Estimator]
    space: Space
    library: str = "sklearn"
    extra: str = "evaluate"


def evaluator(key: str) -> Evaluator:
    """Return an evaluator by its key; raises ArgumentError, with similar names, if there is none."""
    if key not in EVALUATORS:
        raise ArgumentError(
            f"there is no evaluator {shown(key)}; evaluators are {', '.join(EVALUATORS)}{near(key, EVALUATORS)}"
        )
    return EVALUATORS[key]


def check_installed(keys: Sequence[str]) -> None:
    """Raise MissingExtraError, which names every evaluator whose library is missing and how to install it."""
    missing = [judge for judge in map(evaluator, keys) if not is_installed(judge.library)]
    if missing:
        names = " and ".join(judge.key for judge in missing)
        extras = ",".join(dict.fromkeys(judge.extra for judge in missing))
        others = ", ".join(repr(key) for key in keys if evaluator(key) not in missing)
        raise MissingExtraError(
            f"the library of {names} is not installed, which this score trains; run: "
            f'pip install "syntabula[{extras}]"' + (f", or set evaluators to ({others},)" if others else "")
        )


def _svm(task: Task, settings: Settings, seed: int) -> Estimator:
    del seed
    svm = require("sklearn.svm", "evaluate")
    kind = svm.SVC if task.has_classes else svm.SVR
    model: Estimator = kind(**settings)
    return model


def _linear(task: Task, settings: Settings, seed: int) -> Estimator:
    linear = require("sklearn.linear_model", "evaluate")
    given = {"alpha": 1.0, "fit_intercept": True, **settings}
    if not task.has_classes:
        ridge: Estimator = linear.Ridge(**given, random_state=seed)
        return ridge
    # The strength of the penalty is alpha in ridge and 1 / C in logistic regression.
    strength = max(float(given.pop("alpha")), 1e-3)
    logistic: Estimator = linear.LogisticRegression(C=1 / strength, max_iter=1000, random_state=seed, **given)
    return logistic


def _tree(task: Task, settings: Settings, seed: int) -> Estimator:
    tree = require("sklearn.tree", "evaluate")
    kind = tree.DecisionTreeClassifier if task.has_classes else tree.DecisionTreeRegressor
    model: Estimator = kind(random_state=seed, **{"min_samples_leaf": 5, **settings})
    return model


def _forest(task: Task, settings: Settings, seed: int) -> Estimator:
    ensemble = require("sklearn.ensemble", "evaluate")
    kind = ensemble.RandomForestClassifier if task.has_classes else ensemble.RandomForestRegressor
    model: Estimator = kind(random_state=seed, **{"n_estimators": 100, "min_samples_leaf": 2, **settings})
    return model


def _mlp(task: Task, settings: Settings, seed: int) -> Estimator:
    networks = require("sklearn.neural_network", "evaluate")
    kind = networks.MLPClassifier if task.has_classes else networks.MLPRegressor
    model: Estimator = kind(random_state=seed, **{"max_iter": 50, **settings})
    return model


def _xgboost(task: Task, settings: Settings, seed: int) -> Estimator:
    xgboost = require("xgboost", "evaluate")
    kind = xgboost.XGBClassifier if task.has_classes else xgboost.XGBRegressor
    model: Estimator = kind(random_state=seed, **{"n_estimators": 100, "n_jobs": 1, **settings})
    return model


def _catboost(task: Task, settings: Settings, seed: int) -> Estimator:
    catboost = require("catboost", "catboost")
    kind = catboost.CatBoostClassifier if task.has_classes else catboost.CatBoostRegressor
    given = {"iterations": 200, "thread_count": 1, **settings}
    # Otherwise it writes a folder of logs to the working directory.
    model: Estimator = kind(random_seed=seed, verbose=False, allow_writing_files=False, **given)
    return model


def _transformer(task: Task, settings: Settings, seed: int) -> Estimator:
    require("torch", "neural")
    from syntabula.metrics.utility.transformer import TabularTransformer

    return TabularTransformer(task=task, seed=seed, **settings)


_SVM: Space = {
    "C": Range(low=1e-5, high=1e-1, log=True),
    "kernel": Choice(("linear", "poly", "rbf", "sigmoid")),
}
_LINEAR: Space = {"alpha": Range(low=0.0, high=10.0), "fit_intercept": Choice((True, False))}
_TREE: Space = {
    "max_depth": Range(low=4, high=64),
    "min_samples_split": Range(low=2, high=8),
    "min_samples_leaf": Range(low=1, high=8),
}
_FOREST: Space = {"n_estimators": Range(low=10, high=200), **_TREE}
_MLP: Space = {"max_iter": Range(low=50, high=200), "alpha": Range(low=1e-5, high=1e-1, log=True)}
_XGBOOST: Space = {
    "learning_rate": Range(low=0.01, high=0.2),
    "min_child_weight": Range(low=1, high=10),
    "max_depth": Range(low=3, high=20),
    "gamma": Range(low=0.0, high=1.0),
}
_CATBOOST: Space = {
    "depth": Range(low=3, high=10),
    "learning_rate": Range(low=1e-5, high=1.0, log=True),
    "bagging_temperature": Range(low=0.0, high=1.0),
    "l2_leaf_reg": Range(low=1.0, high=10.0, log=True),
    "leaf_estimation_iterations": Range(low=1, high=10),
}
_TRANSFORMER: Space = {
    "n_layers": Range(low=1, high=4),
    "width": Choice((32, 64, 128)),
    "dropout": Range(low=0.0, high=0.5),
    "learning_rate": Range(low=1e-4, high=1e-2, log=True),
    "weight_decay": Range(low=1e-6, high=1e-3, log=True),
}

EVALUATORS: Mapping[str, Evaluator] = {
    e.key: e
    for e in (
        Evaluator(key="svm", make=_svm, space=_SVM),
        Evaluator(key="linear", make=_linear, space=_LINEAR),
        Evaluator(key="tree", make=_tree, space=_TREE),
        Evaluator(key="forest", make=_forest, space=_FOREST),
        Evaluator(key="mlp", make=_mlp, space=_MLP),
        Evaluator(key="xgboost", make=_xgboost, space=_XGBOOST, library="xgboost"),
        Evaluator(key="catboost", make=_catboost, space=_CATBOOST, library="catboost", extra="catboost"),
        Evaluator(key="transformer", make=_transformer, space=_TRANSFORMER, library="torch", extra="neural"),
    )
}
"""SynMeter's evaluators by key: support vector machine, logistic or ridge regression, decision tree, random forest,
multi-layer perceptron, XGBoost, CatBoost, and a transformer over columns."""
