"""All one-way marginals: what they cost, how noisy they are, and what the model makes of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.models.pgm import PGM
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.events import GaussianEvent, LaplaceEvent
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.one_way import OneWay

DOMAIN = Domain.from_sizes({"a": 4, "b": 3, "c": 2})


def rows(n: int = 2_000) -> EncodedTable:
    """Draw rows where b follows a."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, n)
    return EncodedTable(DOMAIN, (a, np.minimum(a, 2), rng.integers(0, 2, n)))


def curator(budget: Budget, table: EncodedTable | None = None) -> Curator:
    return Curator(MemoryEngine(table or rows()), Ledger(budget), SeededNoise(0))


def test_one_joint_measurement_spends_everything() -> None:
    asked = curator(Budget.zcdp(0.5, 1e-6))

    OneWay().select(asked, PGM())

    (entry,) = asked.ledger.entries
    assert isinstance(entry.event, GaussianEvent)
    assert entry.event.sigma == pytest.approx(np.sqrt(3 / (2 * 0.5)))  # variance d / (2 rho)
    assert entry.event.l2_sensitivity_squared == 3
    assert entry.event.cells == 9
    assert asked.ledger.spent <= Fraction(1, 2)
    assert float(asked.ledger.spent) == pytest.approx(0.5)


def test_a_pure_budget_is_spent_on_laplace_noise() -> None:
    asked = curator(Budget.pure(1.5))

    OneWay().select(asked, PGM())

    (entry,) = asked.ledger.entries
    assert isinstance(entry.event, LaplaceEvent)
    assert entry.event.scale == pytest.approx(3 / 1.5)


def test_a_share_of_the_budget_is_kept_to() -> None:
    asked = curator(Budget.zcdp(0.5, 1e-6))

    OneWay().select(asked, PGM(), share=Fraction(1, 5))

    assert float(asked.ledger.spent) == pytest.approx(0.1)


def test_the_plan_names_the_step_that_is_spent_on() -> None:
    asked = curator(Budget.zcdp(0.5, 1e-6))

    OneWay().select(asked, PGM())

    (planned,) = OneWay().plan(DOMAIN)
    assert [entry.step for entry in asked.ledger.entries] == [planned.name]
    assert planned.share == 1
    assert planned.cells == planned.noisy_cells == planned.model_cells == 9


def test_columns_come_out_right_and_independent() -> None:
    # Without noise the columns are met up to the fit's tolerance, and what hangs together is lost.
    table = rows()

    model = OneWay().select(curator(Budget.none(), table), PGM())

    cliques = [("a",), ("b",), ("c",)]
    for exact, learned in zip(MemoryEngine(table).counts(cliques), model.marginals(cliques), strict=True):
        np.testing.assert_allclose(learned, exact, atol=0.5)
    a, b, ab = model.marginals([("a",), ("b",), ("a", "b")])
    np.testing.assert_allclose(ab, np.outer(a, b) / 2_000, rtol=1e-9)


def test_the_steps_are_reported_to_the_end() -> None:
    seen: list[float] = []

    OneWay().select(curator(Budget.zcdp(0.5, 1e-6)), PGM(), progress=lambda step, done: seen.append(done))

    assert seen == sorted(seen)
    assert seen[-1] == 1.0
