"""Wrong budgets, and wrong wishes of what to draw."""

from __future__ import annotations

import math

import pytest

import syntabula as st
from bad_input.matrix import assert_within, base, case, fit, refuses
from syntabula.errors import (
    ArgumentError,
    BudgetError,
    DataError,
    PrivacyWarning,
    ResourceError,
    SchemaError,
)


def budget_case(name: str, *words: str, **arguments) -> None:
    @case("privacy", name)
    @refuses(BudgetError, *words)
    def _(folder):
        st.MST(**({"epsilon": 1.0, "delta": 1e-5} | arguments))


budget_case("epsilon zero", "epsilon", epsilon=0)
budget_case("epsilon negative", "epsilon", epsilon=-1.0)
budget_case("epsilon NaN", "epsilon", epsilon=math.nan)
budget_case("epsilon text", "epsilon", epsilon="1.0")
budget_case("epsilon bool", "epsilon", epsilon=True)
budget_case("epsilon missing", "epsilon", epsilon=None)
budget_case("delta zero", "delta", delta=0)
budget_case("delta negative", "delta", delta=-1e-5)
budget_case("delta NaN", "delta", delta=math.nan)
budget_case("delta one or more", "delta", delta=1.0)


@case("privacy", "epsilon infinite is said loudly")
def _(folder):
    release = fit(*base(), epsilon=math.inf)
    assert not release.privacy.is_private
    assert "privacy was switched off" in release.privacy.text()


@case("privacy", "epsilon tiny gives noise, not failure")
def _(folder):
    frame, schema = base()
    assert_within(fit(frame, schema, epsilon=1e-6).sample(20, seed=1), schema)


@case("privacy", "delta too large for any table warns")
def _(folder):
    with pytest.warns(PrivacyWarning, match="delta"):
        st.MST(epsilon=1.0, delta=0.1)


@case("privacy", "a spent budget refuses the next spend")
def _(folder):
    from syntabula.errors import BudgetExceededError
    from syntabula.privacy.events import ExponentialEvent
    from syntabula.privacy.ledger import Ledger

    ledger = Ledger(st.Budget.pure(1.0))
    ledger.spend(ExponentialEvent(epsilon=1.0, candidates=2), step="first")
    before = ledger.spent
    with pytest.raises(BudgetExceededError, match="second"):
        ledger.spend(ExponentialEvent(epsilon=1e-9, candidates=2), step="second")
    assert ledger.spent == before


@case("sampling", "zero rows")
def _(folder):
    frame, schema = base()
    sample = fit(frame, schema).sample(0)
    assert len(sample) == 0
    assert list(sample.columns) == list(frame.columns)


@case("sampling", "negative rows")
@refuses(ArgumentError, "n must be")
def _(folder):
    fit(*base()).sample(-5)


@case("sampling", "fractional rows")
@refuses(ArgumentError, "n must be")
def _(folder):
    fit(*base()).sample(10.5)


@case("sampling", "rows as text")
@refuses(ArgumentError, "n must be")
def _(folder):
    fit(*base()).sample("10")


@case("sampling", "2**63 rows")
@refuses((ResourceError, ArgumentError), "rows")
def _(folder):
    fit(*base()).sample(2**63)


@case("sampling", "more rows than memory holds")
@refuses(ResourceError, "rows", "memory", "free")
def _(folder):
    fit(*base()).sample(10**14)


@case("sampling", "more rows than a disk holds")
def _(folder):
    release = fit(*base())
    for suffix in ("csv", "csv.zst", "jsonl", "parquet", "arrow"):
        with pytest.raises(DataError, match=r"rows would take about .* are free on its disk"):
            release.sample_to(folder / f"out.{suffix}", 10**15)
    assert not list(folder.iterdir())


@case("sampling", "a seed that is no integer")
@refuses(ArgumentError, "seed")
def _(folder):
    fit(*base()).sample(5, seed=1.5)


@case("sampling", "the same seed twice gives the same table, no seed another")
def _(folder):
    release = fit(*base())
    assert release.sample(50, seed=3).equals(release.sample(50, seed=3))
    assert not release.sample(50).equals(release.sample(50))


@case("sampling", "an unknown column in a marginal")
@refuses(SchemaError, "heigth")
def _(folder):
    fit(*base()).marginals([("age", "heigth")])
