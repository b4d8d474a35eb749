"""Checks of models that are trained on records."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from syntabula.errors import SyntabulaError
from syntabula.marginals.counting import engine_for
from syntabula.marginals.domain import Clique
from syntabula.models.base import Model, check_storable, model_array_bytes, model_state
from syntabula.models.recoded import RecodedModel
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors import Doors
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.record_models.base import RecordModel, takes_noise
from syntabula.record_models.generated_rows import RakedRows
from syntabula.record_models.learner import RecordLearner
from syntabula.record_models.loop import Training
from syntabula.record_models.noisy_loop import NoisyTraining
from syntabula.testing.learners import (
    DOMAIN,
    check_options,
    check_options_kept,
    check_rows,
    check_stored,
    drawn,
    rows,
)

_STEPS = 5


def check_record_model(model: RecordModel) -> None:
    """Check that a model of records can be planned, trained, sampled, saved and loaded as promised.

    It is trained for a few steps, without a budget, and, if it can be, with one. Then a loss that depends on other
    records, or uses its parameters in a way whose gradient of one record is not known, is found.

    Args:
        model: A model with any options, not bound to a domain; make it small.

    Raises:
        AssertionError: If a promise does not hold; the message says which.
    """
    check_options(model)
    try:
        check_storable(model)
    except SyntabulaError as error:
        raise AssertionError(str(error)) from None
    budgets = [
        Budget.none(),
        *([Budget(epsilon=5.0, delta=1e-5).with_failure_delta(1e-6)] if takes_noise(model) else []),
    ]
    for budget in budgets:
        fitted = _trained(model, budget)
        _check_trained(model, fitted)
        assert drawn(_trained(model, budget), 50) == drawn(fitted, 50), (
            "the same seed gives a different model the second time; draw from the given generator alone"
        )


def _trained(model: RecordModel, budget: Budget) -> Any:
    learner = RecordLearner(
        model=model,
        training=Training(
            steps=_STEPS, batch=64, device="cpu", held_out=0.1 if model.can_stop_early else 0.0
        ),
        noisy=NoisyTraining(steps=_STEPS, rate=0.5),
        budget=budget,
    )
    curator = Curator(engine_for(rows(), limit_mb=100.0), Ledger(budget), SeededNoise(4))
    try:
        steps = learner.plan(DOMAIN, rows().n_rows)
        found, _ = learner.learn(Doors(curator), share=Fraction(1), progress=lambda step, done: None)
    except SyntabulaError as error:
        raise AssertionError(f"the model cannot be trained: {error}") from None
    costs = [cost for step in steps for cost in (step.fit_cost.seconds, step.fit_cost.memory_mb)]
    assert all(map(math.isfinite, costs)), "the planned cost is not a finite number"
    # What noise leaves of a model may be rows that it drew.
    assert budget.currency != "none" or isinstance(_alone(found), type(model)), (
        "training returns a model of another class"
    )
    return found


def _alone(fitted: Model) -> Model:
    """Return the model itself, of which codes that nobody has were left out and whose rows are raked."""
    return _alone(fitted.inner) if isinstance(fitted, RecodedModel | RakedRows) else fitted


def _check_trained(model: RecordModel, fitted: Any) -> None:
    n = rows().n_rows
    assert fitted.domain == DOMAIN, "the trained model has a different domain"
    assert abs(fitted.total - n) < n / 2, "the number of records is far from the measured one"
    cliques: list[Clique] = [("a", "b"), ("b", "a"), ("c",)]
    tables = fitted.marginals(cliques)
    for clique, table in zip(cliques, tables, strict=True):
        assert table.shape == DOMAIN.shape(clique), "a marginal does not have the shape of its clique"
        assert (table >= 0).all(), "a marginal has a negative count"
        assert abs(table.sum() - fitted.total) < 1e-3 * fitted.total, "a marginal does not sum to the total"
    assert np.allclose(tables[0], tables[1].T), "a marginal depends on the order of its columns"
    if isinstance(_alone(fitted), type(model)):
        check_options_kept(model, _alone(fitted))
    check_rows(fitted)
    check_stored(fitted)
    facts, arrays = model_state(fitted)
    stated = model_array_bytes(facts)
    assert stated is None or stated.keys() == arrays.keys(), (
        "array_bytes states other arrays than those that are saved"
    )
    assert stated is None or all(array.nbytes <= stated[name] for name, array in arrays.items()), (
        "an array has more bytes than array_bytes states"
    )
