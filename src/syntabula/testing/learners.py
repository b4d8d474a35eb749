"""Checks of selectors and of models."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from syntabula._spaces import declared_of
from syntabula.errors import ArgumentError, SyntabulaError
from syntabula.marginals.counting import engine_for
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import Measurement
from syntabula.models.base import MarginalModel, Model, check_storable, model_from_state, model_state
from syntabula.models.pgm import PGM
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource
from syntabula.select.base import Selector
from syntabula.testing.replay import check_alike, recorded

DOMAIN = Domain(("a", "b", "c", "d"), (3, 4, 2, 5), frozenset({"b", "d"}))
_N = 200
_BUDGETS = (Budget(epsilon=1.0, delta=1e-6), Budget.zcdp(0.1, 1e-6), Budget.pure(2.0))


def check_selector(selector: Selector, model: MarginalModel | None = None) -> None:
    """Check that a selector plans and spends within its share, and sees records only through noisy answers.

    Args:
        selector: A selector with any options.
        model: The model to run it with; Private-PGM by default.

    Raises:
        AssertionError: If a promise does not hold; the message says which.
    """
    check_options(selector)
    assert isinstance(getattr(type(selector), "key", None), str), (
        "a selector's class must have a key, which names it"
    )
    model = PGM() if model is None else model
    for domain in (DOMAIN, DOMAIN.project(("b",)), DOMAIN.project(("a", "c"))):
        shares = [step.share for step in selector.plan(domain)]
        assert all(share >= 0 for share in shares), "a planned share is negative"
        assert sum(shares) <= 1 + Fraction(1, 10**9), "the planned shares add up to more than 1"
    for budget in _BUDGETS:
        for share in (Fraction(1), Fraction(1, 3)):
            run = partial(_selected, selector, model, budget, share)
            first = recorded(partial(run, rows()))
            for without in (0, _N // 2, _N - 1):
                check_alike(first, recorded(partial(run, rows(without=without)), first.calls))
            again = recorded(partial(run, rows()))
            assert again.result == first.result, "the same noise gives a different model the second time"


def check_model(model: MarginalModel) -> None:
    """Check that a model can be fitted, queried, sampled, saved and loaded as promised.

    Args:
        model: A model with any options, not bound to a domain.

    Raises:
        AssertionError: If a promise does not hold; the message says which.
    """
    check_options(model)
    try:
        check_storable(model)
    except SyntabulaError as error:
        raise AssertionError(str(error)) from None
    cliques: list[Clique] = [("a", "b"), ("b", "d"), ("c",)]
    unfitted = model.over(DOMAIN)
    assert unfitted.domain == DOMAIN, "over(domain) returns a model over a different domain"
    assert math.isfinite(unfitted.memory_mb(cliques)), "memory_mb is not a finite number"
    sizes = unfitted.memory_with_each_mb([], cliques)
    alone = [unfitted.memory_mb([clique]) for clique in cliques]
    assert np.allclose(sizes, alone, rtol=1e-6), (
        "memory_with_each_mb differs from memory_mb with each candidate"
    )
    fitted = unfitted.fit(measured(cliques))
    assert abs(fitted.total - _N) < _N / 2, "the estimated number of records is far from the measured one"
    for clique, table in zip(cliques, fitted.marginals(cliques), strict=True):
        assert table.shape == DOMAIN.shape(clique), "a marginal does not have the shape of its clique"
        assert (table >= -1e-6).all(), "a marginal has a negative count"
        assert abs(table.sum() - fitted.total) < 1e-3 * fitted.total, "a marginal does not sum to the total"
    check_options_kept(model, fitted)
    check_rows(fitted)
    check_stored(fitted)
    again = unfitted.fit(measured(cliques))
    assert drawn(again, 50) == drawn(fitted, 50), (
        "the same measurements give a different model the second time"
    )


def check_stored(model: Model) -> None:
    """Check that a file can hold a model, and that it comes back."""
    facts, arrays = model_state(model)
    text = json.dumps(facts)  # raises for values that JSON cannot hold
    assert all(isinstance(a, np.ndarray) and a.dtype.kind in "biuf" for a in arrays.values()), (
        "an array of the state is not a plain array of numbers"
    )
    loaded = model_from_state(json.loads(text), arrays)
    assert drawn(loaded, 50) == drawn(model, 50), "a loaded model draws different rows than the saved one"


def check_options_kept(model: Model, fitted: Model) -> None:
    """Check that a fit leaves the options as they were."""
    for name in _options(model):
        assert repr(getattr(fitted, name)) == repr(getattr(model, name)), (
            f"a fit changes `{name}`, which commands offer as an option; begin the names of fields of the state with _"
        )


def check_options(part: Any) -> None:
    """Check that a part is a frozen dataclass that can be made without arguments and refuses text for a number.

    What it declares for a search must be values that it accepts.
    """
    check_made(part)
    made: type[Any] = type(part)
    kind = made.__name__
    assert is_dataclass(part), f"{kind} is not a dataclass; its fields are its options"
    try:
        made()
    except TypeError as error:
        raise AssertionError(
            f"{kind} cannot be made without arguments, as commands make it: {error}"
        ) from None
    for field in fields(part):
        if not field.name.startswith("_"):
            try:
                setattr(part, field.name, getattr(part, field.name))
            except AttributeError:
                continue
            raise AssertionError(f"{kind} is not frozen; write @dataclass(frozen=True, kw_only=True)")
    for name in _options(part):
        value = getattr(part, name)
        if isinstance(value, int | float | Fraction) and not isinstance(value, bool):
            try:
                made(**{name: "no number"})
            except (ArgumentError, TypeError):
                continue
            raise AssertionError(
                f"{kind} accepts text for the number `{name}`, so a run would fail after the budget is spent; check "
                "options in __post_init__, and raise ArgumentError"
            )
    for name, tried in declared_of(part).items():
        for value in tried.ends:
            try:
                made(**{name: value})
            except (ArgumentError, TypeError) as error:
                raise AssertionError(
                    f"{kind} declares that a search tries {name}={value!r}, and refuses it: {error}"
                ) from None


def check_made(part: Any) -> None:
    """Check that the argument is a part and not its class."""
    if isinstance(part, type):
        raise AssertionError(f"pass an object, such as {part.__name__}(), instead of the class")


def rows(without: int | None = None) -> EncodedTable:
    """Return a small table of dependent columns, with one record left out if a position is given."""
    rng = np.random.default_rng(7)
    a = rng.integers(0, 3, _N)
    b = (a + rng.integers(0, 2, _N)) % 4
    c = (rng.random(_N) < 0.2 + 0.3 * (a == 1)).astype(np.int64)
    codes = np.array([a, b, c, rng.integers(0, 5, _N)])
    kept = codes if without is None else np.delete(codes, without, axis=1)
    return EncodedTable(DOMAIN, tuple(column.astype(np.uint8) for column in kept))


def measured(cliques: Sequence[Clique]) -> list[Measurement]:
    """Return noisy counts of some marginals of `rows`."""
    rng, exact = np.random.default_rng(3), engine_for(rows(), limit_mb=100.0).counts(cliques)
    return [
        Measurement(clique, counts.astype(np.float64) + np.rint(rng.normal(0, 2, counts.shape)), 2.0)
        for clique, counts in zip(cliques, exact, strict=True)
    ]


def _selected(
    selector: Selector,
    model: MarginalModel,
    budget: Budget,
    share: Fraction,
    table: EncodedTable,
    noise: NoiseSource,
) -> Any:
    ledger = Ledger(budget)
    curator = Curator(engine_for(table, limit_mb=100.0), ledger, noise)
    fitted = selector.select(curator, model, share=share)
    assert hasattr(fitted, "sample"), "select returns no model; return model.over(curator.domain).fit(...)"
    assert ledger.allowance is not None
    assert ledger.spent <= share * ledger.allowance, "the selector spent more than its share"
    return drawn(fitted, 20), round(fitted.total, 6)


def _options(part: Any) -> list[str]:
    return [field.name for field in fields(part) if not field.name.startswith("_")]


def drawn(model: Model, n: int) -> list[list[int]]:
    """Return the codes of n rows, always by the same generator."""
    return [column.tolist() for column in model.sample(n, np.random.default_rng(5)).codes]


def check_rows(model: Model) -> None:
    """Check how many rows are drawn, and that given columns come back as given."""
    for n in (0, 1, 300):
        made = model.sample(n, np.random.default_rng(1))
        assert made.domain == DOMAIN, "drawn rows have a different domain"
        assert made.n_rows == n, f"{made.n_rows} rows were drawn instead of {n}"
    given = rows().project(("c", "a"))
    made = model.sample(given.n_rows, np.random.default_rng(2), given)
    for column in ("a", "c"):
        assert (made.column(column) == given.column(column)).all(), "a given column is not returned as given"
