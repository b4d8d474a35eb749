"""The sum of features: what it costs, what one record moves it by, and that it is what is said."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from syntabula.errors import ArgumentError, BudgetExceededError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.fourier import FourierFeatures, draw_features
from syntabula.marginals.recoding import Recoding
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.events import GaussianEvent, LaplaceEvent
from syntabula.privacy.journal import MemoryJournal
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.privacy.training.features import STEPS, FeatureCurator

DOMAIN = Domain(("a", "b", "c"), (3, 20, 4), frozenset({"b"}))


def records(n: int = 500) -> EncodedTable:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, n)
    return EncodedTable(DOMAIN, (a, 6 * a + rng.integers(0, 7, n), rng.integers(0, 4, n)))


def features(columns: int = 2, most: int = 60, seed: int = 0) -> FourierFeatures:
    rng = np.random.default_rng(seed)
    one_way = {c: rng.random(DOMAIN.size(c)) for c in DOMAIN}
    return draw_features(DOMAIN, one_way, most=most, columns=columns, rng=rng)


def curator(
    budget: Budget | None = None, table: EncodedTable | None = None, ledger: Ledger | None = None
) -> Curator:
    spent_by = ledger or Ledger(budget or Budget(epsilon=1.0, delta=1e-5))
    return Curator(MemoryEngine(table or records()), spent_by, SeededNoise(0))


def exact(table: EncodedTable, waves: FourierFeatures) -> np.ndarray:
    """Return the sum by the definition, record by record."""
    parts = []
    for clique, angles in waves.blocks():
        angle = sum(a[table.column(c)] for c, a in zip(clique, angles, strict=True))
        parts.append(np.stack([np.cos(angle).sum(0), np.sin(angle).sum(0)], axis=-1))
    return np.concatenate(parts, axis=None)


class TestSums:
    def test_without_privacy_they_are_those_of_the_records(self) -> None:
        for columns in [1, 2, 3]:
            waves = features(columns)

            found = FeatureCurator(curator(NO_PRIVACY)).sum(waves, share=1, step="s")

            # Each record is cut by less than a step.
            assert np.abs(found.values - exact(records(), waves)).max() < 500 * found.unit
            assert found.sigma == 0

    def test_they_are_taken_in_the_coding_of_the_curator(self) -> None:
        merged = Recoding(DOMAIN, {"b": np.arange(20) // 5})
        waves = draw_features(
            merged.target, {c: np.ones(merged.target.size(c)) for c in DOMAIN}, most=30, columns=2,
            rng=np.random.default_rng(0),
        )  # fmt: skip

        found = FeatureCurator(curator(NO_PRIVACY).recoded(merged)).sum(waves, share=1, step="s")

        assert np.abs(found.values - exact(merged.encode(records()), waves)).max() < 500 * found.unit

    def test_no_record_gives_no_sum(self) -> None:
        found = FeatureCurator(curator(NO_PRIVACY, records(0))).sum(features(), share=1, step="s")

        assert not found.values.any()

    def test_noise_is_as_wide_as_stated(self) -> None:
        waves = features(most=1_500)

        found = FeatureCurator(curator()).sum(waves, share=1, step="s")

        errors = (found.values - exact(records(), waves)) / found.sigma
        # The sum of 3,000 squares of standard normal numbers has deviation sqrt(2 / 3000) = .0258; 5 of them.
        assert np.square(errors).mean() == pytest.approx(1, abs=0.13)


class TestSensitivity:
    @pytest.mark.thorough
    def test_no_record_moves_a_sum_by_more_than_is_paid_for(self) -> None:
        for columns in [1, 2, 3]:
            every = [np.ravel(codes) for codes in np.indices(DOMAIN.sizes)]
            for seed in range(3):
                waves = features(columns, seed=seed)
                private = FeatureCurator(curator())
                private.sum(waves, share=Fraction(1, 2), step="s")
                pure = FeatureCurator(curator(Budget.pure(1.0)))
                pure.sum(waves, share=Fraction(1, 2), step="s")
                (entry,), (pure_entry,) = private._curator.ledger.entries, pure._curator.ledger.entries
                assert isinstance(entry.event, GaussianEvent)
                assert isinstance(pure_entry.event, LaplaceEvent)

                for codes in zip(*every, strict=True):
                    one = EncodedTable(DOMAIN, tuple(np.array([code]) for code in codes))
                    moved = private._total(waves, one)

                    # Whole numbers, so without rounding.
                    squared = sum(int(x) ** 2 for x in moved)
                    assert 0.99 * STEPS**2 < squared <= entry.event.l2_sensitivity_squared
                    assert sum(abs(int(x)) for x in moved) <= pure_entry.event.l1_sensitivity

    def test_sums_of_parts_add_up_exactly(self) -> None:
        waves, table = features(), records()
        private = FeatureCurator(curator())
        parts = [
            EncodedTable(DOMAIN, tuple(c[p] for c in table.codes)) for p in (slice(0, 77), slice(77, None))
        ]

        assert (private._total(waves, table) == sum(private._total(waves, part) for part in parts)).all()


class TestPayment:
    def test_a_sum_is_one_gaussian_event_within_its_share(self) -> None:
        private = curator()

        found = FeatureCurator(private).sum(features(), share=Fraction(1, 3), step="embed")

        (entry,) = private.ledger.entries
        assert isinstance(entry.event, GaussianEvent)
        assert entry.step == "embed"
        assert entry.event.cells == found.values.size
        assert entry.event.l2_sensitivity_squared == STEPS**2
        assert entry.cost <= private.ledger.budget.total / 3
        assert found.sigma == pytest.approx(entry.event.sigma * math.sqrt(features().count) / STEPS)

    def test_nothing_is_drawn_that_cannot_be_paid(self, monkeypatch: pytest.MonkeyPatch) -> None:
        private = curator()
        FeatureCurator(private).sum(features(), share=1, step="s")
        monkeypatch.setattr(SeededNoise, "discrete_gaussian", None)

        with pytest.raises(BudgetExceededError):
            FeatureCurator(private).sum(features(), share=1, step="again")

    def test_a_resumed_run_gets_the_recorded_answer(self) -> None:
        journal, budget = MemoryJournal(), Budget(epsilon=1.0, delta=1e-5)
        first = FeatureCurator(curator(ledger=Ledger(budget, journal))).sum(features(), share=1, step="s")

        again = FeatureCurator(curator(table=records(3), ledger=Ledger(budget, journal, replay_from=0))).sum(
            features(), share=1, step="s"
        )

        assert (first.values == again.values).all()

    def test_features_of_another_domain_are_refused(self) -> None:
        other = curator(table=records().project(["a", "b"]))

        with pytest.raises(ArgumentError, match="another domain"):
            FeatureCurator(other).sum(features(), share=1, step="s")

    def test_its_repr_shows_nothing(self) -> None:
        assert repr(FeatureCurator(curator())) == "FeatureCurator()"
