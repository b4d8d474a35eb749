"""Tries a selector of a plug-in on records that are made up, before it measures those that are paid for."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from syntabula._memory import ran_out
from syntabula.errors import ArgumentError
from syntabula.marginals.counting import engine_for
from syntabula.marginals.domain import Domain
from syntabula.models.base import MarginalModel
from syntabula.models.recoded import Supported
from syntabula.models.trial import made_up_records
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.base import Selector

_SHARE = Fraction(1, 2)
_ROUNDED = Fraction(1, 10**9)
"""By how much a selector whose shares are floats may exceed its own."""


def try_selector(
    selector: Selector, model: MarginalModel, budget: Budget, domain: Domain, *, limit_mb: float = 1000.0
) -> None:
    """Let a plug-in's selector measure made-up records and fit the model, with half of a ledger of its own.

    Args:
        selector: Any; those of this library are tried by its tests.
        model: The model that it fits.
        budget: As that of the run. None of the run's is spent.
        domain: The columns and codes of what is made up.
        limit_mb: Most memory for the counts.

    Raises:
        ArgumentError: If it breaks, returns no fitted model, or spends more than its share.
        ResourceError: If what it asks to be counted needs more memory.
    """
    ledger = Ledger(budget)
    engine = engine_for(made_up_records(domain), limit_mb=limit_mb)
    curator = Curator(engine, ledger, SeededNoise(0))
    key = getattr(type(selector), "key", type(selector).__name__)
    try:
        learned: Any = selector.learn(
            curator, Supported(model), share=_SHARE, progress=lambda step, done: None
        )
    except Exception as error:
        if ran_out(error):
            raise
        # The records are made up, so that the message shows no cell of a table.
        raise ArgumentError(
            _sentence(key, f"its select broke with {type(error).__name__} ({error})")
        ) from error
    found = learned[0] if isinstance(learned, tuple) and len(learned) == 2 else None
    if not hasattr(found, "finished") or getattr(found, "domain", None) != domain:
        what = "its select returned no model that is fitted to the columns of its curator"
        raise ArgumentError(
            _sentence(key, f"{what}, as `return model.over(curator.domain).fit(measurements)` does")
        )
    if ledger.allowance is not None and ledger.spent > (_SHARE + _ROUNDED) * ledger.allowance:
        part = float(ledger.spent / (_SHARE * ledger.allowance))
        raise ArgumentError(_sentence(key, f"its select spent {part:.3g} times the share that it was given"))


def _sentence(key: str, why: str) -> str:
    return (
        f"selector {key!r} cannot be used: on records that were made up, {why}. Nothing was paid; repair the selector, "
        "and try it with syntabula.testing.check_selector"
    )
