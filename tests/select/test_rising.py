"""Trends that a tree of pairs gets wrong: what they cost, what they are worth, and when none is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from syntabula.errors import ResourceError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import Measurement
from syntabula.models.base import MarginalModel
from syntabula.models.gum import GUM
from syntabula.models.pgm import PGM
from syntabula.models.recoded import RecodedModel
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.model_size import PairGrowth
from syntabula.select.rising import CHOOSE, MEASURE, TRENDS, learn_trends
from syntabula.select.spanning_tree import PAIRS, SpanningTree
from syntabula.synthesizers.marginal import Marginal
from syntabula.table.schema.numeric import Numeric
from syntabula.table.schema.schema import Schema

SIZE, RECORDS = 8, 10_000
COLUMNS = ("a", "b", "c")
LOST = [("a", "b"), ("a", "c"), ("b", "c")]
ORDERED = Domain.from_sizes(dict.fromkeys(COLUMNS, SIZE), COLUMNS)
PLAIN = Domain.from_sizes(dict.fromkeys(COLUMNS, SIZE))


def curator(budget: Budget, domain: Domain = ORDERED) -> Curator:
    """Return three columns that rise with a hidden number, each pair alike: a tree can hold two pairs of three.

    Further columns of the domain have one code.
    """
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=RECORDS)
    columns = []
    for _ in COLUMNS:
        ranks = np.argsort(np.argsort(hidden + 0.5 * rng.normal(size=RECORDS)))
        columns.append((ranks * SIZE // RECORDS).astype(np.uint8))
    columns += [np.zeros(RECORDS, np.uint8)] * (len(domain) - len(COLUMNS))
    return Curator(MemoryEngine(EncodedTable(domain, tuple(columns))), Ledger(budget), SeededNoise(0))


def correlation(table: np.ndarray) -> float:
    places = np.arange(SIZE) - (SIZE - 1) / 2
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    return float(places @ table @ places / np.sqrt((places**2 @ rows) * (places**2 @ columns)))


def least_kept(curator: Curator, model: RecodedModel) -> float:
    pairs: list[Clique] = list(LOST)
    exact = curator._engine.counts(pairs)
    kept = [correlation(m) / correlation(e) for m, e in zip(model.marginals(pairs), exact, strict=True)]
    return min(kept)


def test_a_pair_that_no_tree_holds_keeps_its_correlation(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = curator(Budget(epsilon=5.0, delta=1e-5))
    with_trends = least_kept(asked, SpanningTree().select(asked, PGM()))

    monkeypatch.setattr(PGM, "takes_trends", False)
    asked = curator(Budget(epsilon=5.0, delta=1e-5))
    without = least_kept(asked, SpanningTree().select(asked, PGM()))

    # They are .98 and .80, as .80 of a correlation is left of a correlation of a correlation.
    assert with_trends > 0.94
    assert without < 0.87


@pytest.mark.parametrize(
    "budget", [Budget(epsilon=1.0, delta=1e-6), Budget.zcdp(0.5, 1e-6), Budget.pure(3.0)]
)
def test_the_whole_is_spent_and_what_trends_leave_measures_the_pairs(budget: Budget) -> None:
    asked = curator(budget)
    SpanningTree().select(asked, PGM())

    assert asked.ledger.allowance is not None
    spent: dict[str, float] = {}
    for entry in asked.ledger.entries:
        spent[entry.step] = spent.get(entry.step, 0.0) + float(entry.cost / asked.ledger.allowance)
    planned = {s.name: float(s.share) for s in SpanningTree().plan(ORDERED)}
    assert spent.keys() == planned.keys()
    assert sum(planned.values()) == pytest.approx(1)
    assert sum(spent.values()) == pytest.approx(1)
    # Three pairs have fewer trends than are planned, and the tree's pairs are measured again with the rest.
    assert 0 < spent[CHOOSE] + spent[MEASURE] < TRENDS
    assert spent[PAIRS] == pytest.approx(planned[PAIRS] + float(TRENDS) - spent[CHOOSE] - spent[MEASURE])


@pytest.mark.parametrize(
    ("budget", "domain", "model"),
    [
        pytest.param(Budget(epsilon=1.0, delta=1e-6), PLAIN, PGM(), id="no-order"),
        pytest.param(Budget(epsilon=1.0, delta=1e-6), ORDERED, PGM(stop_at_noise=False), id="cells-alone"),
        pytest.param(Budget(epsilon=1.0, delta=1e-6), ORDERED, GUM(), id="other-model"),
        pytest.param(NO_PRIVACY, ORDERED, PGM(), id="no-privacy"),
    ],
)
def test_nothing_is_kept_for_trends_where_they_have_no_use(
    budget: Budget, domain: Domain, model: PGM | GUM
) -> None:
    asked = curator(budget, domain)
    SpanningTree().select(asked, model)

    assert not {CHOOSE, MEASURE} & {entry.step for entry in asked.ledger.entries}
    if asked.ledger.allowance is not None:
        assert float(asked.ledger.spent / asked.ledger.allowance) == pytest.approx(1.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("size", "apart"), [(1, 0), (2, 2), (2, 1)])
def test_columns_without_any_order_to_speak_of_have_no_trends(size: int, apart: int) -> None:
    domain = Domain.from_sizes(dict.fromkeys(COLUMNS, SIZE) | {"d": size}, [*COLUMNS, "d"], {"d": apart})
    asked = curator(Budget(epsilon=1.0, delta=1e-6), domain)

    model = SpanningTree().select(asked, PGM())

    assert MEASURE in {entry.step for entry in asked.ledger.entries}
    assert all(np.isfinite(m).all() for m in model.marginals([("a", "d"), ("d",)]))


@pytest.mark.parametrize("epsilon", [1e-7, 0.005])
def test_no_trend_is_asked_for_where_noise_hides_the_largest(epsilon: float) -> None:
    asked = curator(Budget.pure(epsilon))
    SpanningTree(records_per_noise=None).select(asked, PGM())

    assert not {CHOOSE, MEASURE} & {entry.step for entry in asked.ledger.entries}
    assert float(asked.ledger.remaining_share) == pytest.approx(0, abs=1e-12)


def test_their_rounds_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, float]] = []
    asked = curator(Budget(epsilon=5.0, delta=1e-5))
    SpanningTree().select(asked, PGM(), progress=lambda *given: told.append(given))

    parts = [done for _, done in told]
    assert parts == sorted(parts)
    assert parts[-1] == 1
    assert MEASURE in dict(told)


def test_trends_of_one_round_fit_together() -> None:
    domain = Domain.from_sizes(dict.fromkeys("abcdefgh", SIZE), "abcdefgh")
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, SIZE, RECORDS).astype(np.uint8) for _ in range(4)]
    table = EncodedTable(domain, (*columns, *columns))
    asked = Curator(MemoryEngine(table), Ledger(Budget(epsilon=5.0, delta=1e-5)), SeededNoise(0))
    measured = asked.measure([(c,) for c in domain.columns], share=Fraction(1, 2), step="columns")
    model = PGM().over(domain).fit(measured)
    sizes = []

    class AtMostTwo(PairGrowth):
        def __call__(
            self, model: MarginalModel, pairs: Sequence[Clique], held: Sequence[Clique], used: float
        ) -> list[Clique]:
            sizes.append(len(held) - len(measured))
            return list(pairs) if sizes[-1] < 2 else []

    learn_trends(
        asked, model, measured, share=Fraction(1, 4), fitting=AtMostTwo(1.0), progress=lambda step, done: None
    )

    assert max(sizes) == 2
    assert sum(e.step == MEASURE for e in asked.ledger.entries) == 2


def test_trends_keep_to_the_memory_of_the_model() -> None:
    pair, whole = SIZE**2 * 8 / 2**20, SIZE**3 * 8 / 2**20
    asked = curator(Budget(epsilon=5.0, delta=1e-5))

    model = SpanningTree(records_per_noise=None).select(asked, PGM(max_memory_mb=(3 * pair + whole) / 2))

    # Only the pairs of the tree may have trends, as three columns together would be too large.
    measured = [entry.step for entry in asked.ledger.entries].count(MEASURE)
    assert isinstance(model, RecodedModel)
    assert isinstance(model.inner, PGM)
    assert max(map(len, model.inner.cliques)) == 2
    assert measured <= 2
    assert float(asked.ledger.remaining_share) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("measured_again", [False, True])
def test_trends_that_make_a_model_too_large_after_all_are_left_out(
    monkeypatch: pytest.MonkeyPatch, measured_again: bool
) -> None:
    fits, fit = [], PGM.fit

    def too_large(self: PGM, measurements: Sequence[Measurement]) -> PGM:
        again = sum(len(m.clique) == 2 for m in measurements) > 2
        fits.append(len(self._trends))
        if self._trends and again >= measured_again:
            raise ResourceError("too large")
        return fit(self, measurements)

    monkeypatch.setattr(PGM, "fit", too_large)
    asked = curator(Budget(epsilon=5.0, delta=1e-5))

    model = SpanningTree().select(asked, PGM())

    assert max(fits) > 0
    assert fits[-1] == 0
    assert model.total == pytest.approx(RECORDS, rel=0.05)
    assert float(asked.ledger.remaining_share) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("model", "budget", "named"),
    [
        pytest.param(PGM(), {"epsilon": 1.0}, True, id="taken"),
        pytest.param(GUM(), {"epsilon": 1.0}, False, id="other-model"),
        pytest.param(PGM(), {"budget": NO_PRIVACY}, False, id="no-privacy"),
    ],
)
def test_a_plan_names_trends_where_they_are_taken(
    model: PGM | GUM, budget: dict[str, Any], named: bool
) -> None:
    schema = Schema({c: Numeric(0, 9, integer=True) for c in COLUMNS})

    plan = Marginal(selector=SpanningTree(), model=model, **budget).plan(schema, RECORDS)

    steps = {step.name: step.share for step in plan.steps}
    assert ({CHOOSE, MEASURE} <= steps.keys()) == named
    assert ({CHOOSE, MEASURE} & steps.keys() == set()) == (not named)
    assert sum(steps.values()) == pytest.approx(1)
