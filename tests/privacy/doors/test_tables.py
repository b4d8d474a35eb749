from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from syntabula.errors import ArgumentError, BudgetExceededError, PrivacyWarning, ResourceError, ResumeError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.marginals.parts import HeldParts
from syntabula.marginals.passes import PassEngine
from syntabula.marginals.recoding import Recoding
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors import tables as module
from syntabula.privacy.doors.tables import Candidates, Curator
from syntabula.privacy.events import ExponentialEvent, GaussianEvent, LaplaceEvent
from syntabula.privacy.journal import MemoryJournal
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise

DOMAIN = Domain(("a", "b", "c"), (3, 2, 4))


def curator(budget=None, n=500, seed=0) -> Curator:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    table = EncodedTable(DOMAIN, (a, (a > 0).astype(int), rng.integers(0, 4, n)))
    ledger = Ledger(budget or Budget(epsilon=1.0, delta=1e-5, accounting="zcdp"))
    return Curator(MemoryEngine(table), ledger, SeededNoise(seed))


class TestMeasure:
    def test_cliques_measured_together_have_their_number_as_squared_sensitivity(self):
        private = curator()

        private.measure([("a",), ("b",), ("a", "c")], share=Fraction(1, 3), step="s")

        (entry,) = private.ledger.entries
        assert isinstance(entry.event, GaussianEvent)
        assert entry.event.l2_sensitivity_squared == 3
        assert entry.event.cells == 3 + 2 + 12
        assert entry.cost <= private.ledger.budget.total / 3

    def test_those_asked_next_are_counted_in_the_same_pass(self, monkeypatch):
        passes: list[list[Clique]] = []
        count = MemoryEngine.counts
        monkeypatch.setattr(MemoryEngine, "counts", lambda e, c: passes.append([*c]) or count(e, c))
        pairs = [("a", "b"), ("a", "c"), ("b", "c")]
        private, alone = curator(), curator()

        found = [private.measure([p], share=Fraction(1, 3), step="s", ahead=pairs)[0] for p in pairs]

        assert passes == [pairs]
        expected = [alone.measure([p], share=Fraction(1, 3), step="s")[0] for p in pairs]
        assert all((f.values == e.values).all() for f, e in zip(found, expected, strict=True))
        assert private.ledger.entries == alone.ledger.entries

    def test_those_asked_next_are_counted_alone_where_memory_does_not_hold_them_together(self):
        a, b = (np.zeros(3, np.int64) for _ in range(2))
        wide = Domain(("a", "b", "c"), (1000, 1000, 4))
        engine = MemoryEngine(EncodedTable(wide, (a, b, a)), limit_mb=4.0)
        private = Curator(engine, Ledger(Budget(epsilon=1.0, delta=1e-5)), SeededNoise(0))

        (found,) = private.measure([("a",)], share=Fraction(1, 2), step="s", ahead=[("a", "b")])

        assert found.values.shape == (1000,)

    def test_sigma_is_that_of_the_paper(self):
        private = curator()
        rho = float(private.ledger.budget.total)

        measured = private.measure([("a",), ("b",)], share=Fraction(1, 2), step="s")

        assert measured[0].sigma == pytest.approx(np.sqrt(2 / (2 * rho / 2)))
        assert private.noise_sigma(2, Fraction(1, 2)) == measured[0].sigma

    def test_gaussian_privacy_buys_less_noise(self):
        private = curator(Budget(epsilon=1.0, delta=1e-5, accounting="gdp"))

        measured = private.measure([("a",), ("b",)], share=Fraction(1, 2), step="s")

        (entry,) = private.ledger.entries
        assert measured[0].sigma == pytest.approx(math.sqrt(4 / private.ledger.budget.total), rel=1e-2)
        assert measured[0].sigma < 0.93 * curator().noise_sigma(2, Fraction(1, 2))
        assert entry.cost <= private.ledger.budget.total / 2

    def test_a_pure_budget_draws_laplace_noise(self):
        private = curator(Budget.pure(1.0))

        private.measure([("a",), ("b",)], share=1, step="s")

        (entry,) = private.ledger.entries
        assert isinstance(entry.event, LaplaceEvent)
        assert entry.event.l1_sensitivity == 2
        assert entry.event.scale == 2.0

    def test_without_privacy_counts_are_exact(self):
        private = curator(NO_PRIVACY)

        (measured,) = private.measure([("a", "b")], share=1, step="s")

        assert measured.sigma == 0
        assert measured.values.sum() == 500

    def test_axes_follow_the_clique(self):
        one, other = curator(NO_PRIVACY).measure([("a", "c"), ("c", "a")], share=1, step="s")

        assert np.array_equal(one.values, other.values.T)

    def test_three_thirds_are_a_whole_and_no_more(self):
        private = curator()
        for step in "xyz":
            private.measure([("a",)], share=Fraction(1, 3), step=step)

        with pytest.raises(BudgetExceededError):
            private.measure([("a",)], share=Fraction(1, 1000), step="too much")

    def test_a_refused_measurement_draws_nothing(self):
        private = curator()
        private.measure([("a",)], share=1, step="all")
        drawn = []
        private._source.discrete_gaussian = lambda counts, sigma: drawn.append(counts)

        with pytest.raises(BudgetExceededError):
            private.measure([("a",)], share=1, step="again")

        assert not drawn

    def test_too_much_memory_is_refused_before_anything_is_spent(self):
        private = curator()
        private._engine = MemoryEngine(private._engine._table, limit_mb=0.1)

        with pytest.raises(ResourceError):
            private.measure([("a",)], share=Fraction(1, 3), step="s")

        assert private.ledger.entries == ()

    def test_shares_are_parts_of_what_an_earlier_run_left(self):
        journal = MemoryJournal()
        budget = Budget.zcdp(1.0, 1e-5)
        Ledger(budget, journal).spend(GaussianEvent(1.0, Fraction(1), 1), step="broke off")
        private = curator()
        private._ledger = Ledger(budget, journal)

        private.measure([("a",)], share=1, step="all that is left")

        assert private.ledger.remaining == 0
        assert private.ledger.by_step()[1][1:] == (Fraction(1, 2), 0.5)

    def test_a_share_outside_its_range_is_refused(self):
        for share in [0, -0.5, 1.5]:
            with pytest.raises(ArgumentError, match="share"):
                curator().measure([("a",)], share=share, step="s")


class TestChoose:
    def test_too_much_memory_is_refused_before_anything_is_spent(self):
        private = curator()
        private._engine = MemoryEngine(private._engine._table, limit_mb=0.1)

        with pytest.raises(ResourceError):
            private.choose([("a", "b")], [np.zeros((3, 2))], share=Fraction(1, 3), step="s")

        assert private.ledger.entries == ()

    def test_the_worst_estimate_wins_at_a_large_budget(self):
        with pytest.warns(PrivacyWarning):
            private = curator(Budget(epsilon=1e6, delta=1e-5))
        uniform = [np.full(DOMAIN.shape(c), 500 / DOMAIN.cells(c)) for c in (("a", "b"), ("b", "c"))]

        assert private.choose([("a", "b"), ("b", "c")], uniform, share=1, step="s") == 0

    def test_epsilon_is_that_of_the_paper(self):
        private = curator()
        uniform = [np.full(DOMAIN.shape(c), 1.0) for c in (("a", "b"), ("b", "c"))]

        private.choose([("a", "b"), ("b", "c")], uniform, share=Fraction(1, 3), step="s")

        (entry,) = private.ledger.entries
        assert isinstance(entry.event, ExponentialEvent)
        assert entry.event.epsilon == pytest.approx(np.sqrt(8 * float(private.ledger.budget.total) / 3))

    def test_weights_scale_the_sensitivity(self):
        private = curator()
        seen = {}
        draw = private._source.noisy_max
        private._source.noisy_max = lambda scores, scale: seen.update(scale=scale) or draw(scores, scale)
        estimates = [np.zeros(DOMAIN.shape(c)) for c in (("a",), ("b",))]

        private.choose([("a",), ("b",)], estimates, weights=[1.0, 4.0], share=1, step="s")

        epsilon = private.ledger.entries[0].event.epsilon
        assert seen["scale"] == pytest.approx(2 * 4 / epsilon)

    def test_distances_differ_by_at_most_one_between_neighbours_exactly(self):
        estimate = np.random.default_rng(1).uniform(0, 300, DOMAIN.shape(("a", "c")))
        scores = []
        codes = [np.random.default_rng(2).integers(0, size, 500) for size in DOMAIN.sizes]
        for n in (499, 500):
            table = EncodedTable(DOMAIN, tuple(c[:n] for c in codes))
            private = Curator(MemoryEngine(table), Ledger(Budget.pure(1.0)), SeededNoise(0))
            private._source.noisy_max = lambda s, scale: scores.append(float(s[0])) or 0
            private.choose([("a", "c")], [estimate], share=1, step="s")

        assert abs(scores[0] - scores[1]) <= 1

    def test_rounding_never_adds_to_the_sensitivity_however_large_what_is_believed_is(self):
        for total in [1e3, 2.0**33, 2.0**44, 1e17, 1e300]:
            rng = np.random.default_rng(3)
            clique = ("a", "c")
            codes = [rng.integers(0, size, 50) for size in DOMAIN.sizes]
            for _ in range(20):
                estimate = rng.dirichlet(np.ones(DOMAIN.cells(clique))).reshape(DOMAIN.shape(clique)) * total
                penalty, weight = total * rng.random(), float(10 * rng.random())
                seen = []
                for n in (49, 50):
                    private = Curator(
                        MemoryEngine(EncodedTable(DOMAIN, tuple(c[:n] for c in codes))),
                        Ledger(Budget.pure(1.0)),
                        SeededNoise(0),
                    )
                    private._source.noisy_max = lambda s, scale, seen=seen: (
                        seen.append((float(s[0]), scale)) or 0
                    )
                    private.choose(
                        [clique], [estimate], weights=[weight], penalties=[penalty], share=1, step="s"
                    )
                (one, scale), (other, _) = seen
                # A choice with epsilon 1 divides by twice the sensitivity; the quotient is exact enough for 1e-15.
                assert abs(one - other) <= scale / 2 * (1 + 1e-15)

    def test_an_estimate_of_another_shape_is_refused_and_costs_nothing(self):
        private = curator()
        wider = np.zeros((10, *DOMAIN.shape(("a", "b"))))  # would count each record ten times

        with pytest.raises(ArgumentError, match="shape"):
            private.choose([("a", "b")], [wider], share=Fraction(1, 3), step="s")

        assert private.ledger.entries == ()


class TestRecoded:
    def test_merged_codes_are_counted_together_on_the_same_ledger(self):
        private = curator(NO_PRIVACY)
        recoding = Recoding(DOMAIN, {"c": np.array([0, 1, 1, 1])}, {})

        merged = private.recoded(recoding)
        (measured,) = merged.measure([("c",)], share=1, step="s")

        assert merged.domain.sizes == (3, 2, 2)
        assert merged.ledger is private.ledger
        assert measured.values.sum() == 500

    @pytest.mark.parametrize("in_parts", [False, True])
    def test_marginals_of_many_codes_are_counted_after_merging(self, in_parts):
        # Before merging they have 8 x 10^9 cells, which no memory holds.
        domain = Domain(("a", "b", "c"), (2000, 2000, 2000))
        rng = np.random.default_rng(0)
        table = EncodedTable(domain, tuple(rng.integers(0, 2000, 300) for _ in domain))
        parts = HeldParts((table,))
        engine = PassEngine(parts, domain, limit_mb=100) if in_parts else MemoryEngine(table, limit_mb=100)
        recoding = Recoding(domain, {c: np.arange(2000) // 500 for c in domain.columns}, {})
        private = Curator(engine, Ledger(NO_PRIVACY), SeededNoise(0)).recoded(recoding)
        plain = Curator(MemoryEngine(recoding.encode(table)), Ledger(NO_PRIVACY), SeededNoise(0))

        cliques = [("a",), ("a", "b", "c"), ("c", "b")]
        found, expected = (c.measure(cliques, share=Fraction(1, 4), step="s") for c in (private, plain))
        assert all((f.values == e.values).all() for f, e in zip(found, expected, strict=True))
        of_three = [np.zeros(private.domain.shape(cliques[1]))]
        for asked in (private, plain):
            assert asked.choose(cliques[1:2], of_three, share=Fraction(1, 4), step="s") == 0
        distances = [
            c.measure_dependence(cliques[1:], share=Fraction(1, 4), step="s").tolist()
            for c in (private, plain)
        ]
        assert distances[0] == distances[1]


class TestSecrecy:
    def test_its_repr_shows_no_count(self):
        assert "500" not in repr(curator())


WIDE = Domain.from_sizes({"a": 3, "b": 2, "c": 4, "d": 5})
PAIRS: list[Clique] = list(combinations(WIDE.columns, 2))
SOME = np.array([True, False, True, True, False, True])


def wide_curator(budget: Budget | None = None, seed: int = 0, ledger: Ledger | None = None) -> Curator:
    rng = np.random.default_rng(0)
    table = EncodedTable(WIDE, tuple(rng.integers(0, size, 500) for size in WIDE.sizes))
    return Curator(
        MemoryEngine(table), ledger or Ledger(budget or Budget.zcdp(1e-4, 1e-6)), SeededNoise(seed)
    )


def estimates() -> list[FloatArray]:
    rng = np.random.default_rng(1)
    return [rng.uniform(0, 100, WIDE.shape(pair)) for pair in PAIRS]


def test_a_choice_among_some_is_the_one_among_them_alone() -> None:
    for seed in range(10):
        # So small a budget chooses nearly blindly.
        kept = np.flatnonzero(SOME)
        weights, penalties = np.arange(1.0, 7.0), np.arange(6.0)

        alone = wide_curator(seed=seed).choose(
            [PAIRS[i] for i in kept],
            [estimates()[i] for i in kept],
            weights=weights[kept].tolist(),
            penalties=penalties[kept].tolist(),
            share=0.5,
            step="s",
        )
        asked = Candidates(
            wide_curator(seed=seed),
            PAIRS,
            estimates(),
            weights=weights.tolist(),
            penalties=penalties.tolist(),
        )

        assert asked.choose(share=0.5, step="s", among=SOME) == kept[alone]


def test_without_noise_the_farthest_of_those_left_is_chosen() -> None:
    private = wide_curator(NO_PRIVACY)
    exact = [m.values for m in private.measure(PAIRS, share=1, step="s")]
    asked = Candidates(private, PAIRS, [e + i for i, e in enumerate(exact)])

    left, order = np.ones(6, dtype=bool), []
    while left.any():
        order.append(asked.choose(share=1, step="s", among=left))
        left[order[-1]] = False

    distances = [i * e.size for i, e in enumerate(exact)]
    assert order == sorted(range(6), key=lambda i: -distances[i])


def test_each_choice_is_paid_for_with_the_candidates_it_is_among() -> None:
    private = wide_curator(Budget.zcdp(0.9, 1e-6))
    asked = Candidates(private, PAIRS, estimates())

    asked.choose(share=1 / 3, step="s")
    asked.choose(share=1 / 3, step="s", among=SOME)

    events = [entry.event for entry in private.ledger.entries]
    assert all(isinstance(event, ExponentialEvent) for event in events)
    assert [event.candidates for event in events] == [6, 4]
    assert float(private.ledger.spent) == pytest.approx(0.6)


def test_tables_are_compared_once_however_many_choices_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    right = module.distances
    monkeypatch.setattr(module, "distances", lambda c, e: compared.append(len(c)) or right(c, e))
    asked = Candidates(wide_curator(), PAIRS, estimates())

    for _ in range(5):
        asked.choose(share=0.1, step="s", among=SOME)

    assert compared == [6]


def test_a_resumed_run_asks_for_the_same_choice_among_the_same_candidates() -> None:
    journal, budget = MemoryJournal(), Budget.zcdp(0.9, 1e-6)
    first = Candidates(wide_curator(ledger=Ledger(budget, journal)), PAIRS, estimates())
    chosen = first.choose(share=0.5, step="s", among=SOME)

    again = Candidates(
        wide_curator(seed=1, ledger=Ledger(budget, journal, replay_from=0)), PAIRS, estimates()
    ).choose(share=0.5, step="s", among=SOME)
    others = Candidates(
        wide_curator(ledger=Ledger(budget, journal, replay_from=0)),
        [*PAIRS[1:], PAIRS[0]],
        estimates()[1:] + estimates()[:1],
    )

    assert again == chosen
    with pytest.raises(ResumeError, match="another query"):
        others.choose(share=0.5, step="s", among=SOME)


def test_a_choice_among_none_or_of_another_length_is_refused() -> None:
    for among in [np.zeros(6, dtype=bool), np.ones(5, dtype=bool)]:
        private = wide_curator()

        with pytest.raises(ArgumentError, match="at least one"):
            Candidates(private, PAIRS, estimates()).choose(share=0.5, step="s", among=among)

        assert private.ledger.entries == ()


def test_its_repr_shows_no_count() -> None:
    assert repr(Candidates(wide_curator(), PAIRS, estimates())) == "Candidates(6 marginals)"
