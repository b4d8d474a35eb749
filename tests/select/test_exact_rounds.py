"""Rounds without noise: they end when the model is as near as a sample, and are few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Clique, Domain, EncodedTable
from syntabula.models.base import MarginalModel
from syntabula.models.genetic import Genetic
from syntabula.models.pgm import PGM
from syntabula.privacy.budget import NO_PRIVACY
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.adaptive import CHOOSE, MEASURE, Adaptive
from syntabula.select.base import pairs_of
from syntabula.select.doubling import FirstTimeDoubling
from syntabula.select.exact_rounds import MOST_ROUNDS, sampling_error
from syntabula.select.fixed_rounds import FixedRounds
from syntabula.select.model_size import TreeSizes

N = 3_000


def table(columns: int, codes: int, *, dependent: bool) -> EncodedTable:
    """Columns that follow a common hidden one, or none."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, codes, N)
    drawn = [
        np.where(rng.random(N) < 0.7 * dependent, hidden, rng.integers(0, codes, N)).astype(np.uint8)
        for _ in range(columns)
    ]
    return EncodedTable(Domain.from_sizes({f"c{i}": codes for i in range(columns)}), tuple(drawn))


def curator(encoded: EncodedTable) -> Curator:
    return Curator(MemoryEngine(encoded), Ledger(NO_PRIVACY), SeededNoise(0))


@pytest.mark.parametrize("selector", [Adaptive(), FirstTimeDoubling(), FixedRounds()])
class TestLearnExactly:
    def test_the_model_ends_as_near_as_a_sample(self, selector: Adaptive) -> None:
        encoded = table(6, 5, dependent=True)

        model = selector.select(curator(encoded), PGM())

        pairs = pairs_of(encoded.domain)
        for exact, learned in zip(MemoryEngine(encoded).counts(pairs), model.marginals(pairs), strict=True):
            assert np.abs(exact - learned).sum() < 1.1 * sampling_error(learned)

    @pytest.mark.thorough
    def test_rounds_are_few_however_many_columns(self, selector: Adaptive) -> None:
        asked = curator(table(11, 3, dependent=True))

        selector.select(asked, PGM())

        steps = Counter(e.step.split()[0] for e in asked.ledger.entries)
        assert 1 < steps["measure"] <= MOST_ROUNDS + 1

    def test_independent_columns_need_no_round_after_the_first(self, selector: Adaptive) -> None:
        asked = curator(table(4, 2, dependent=False))

        selector.select(asked, PGM())

        assert sum(e.step.startswith("measure") for e in asked.ledger.entries) <= 3


class TestLimits:
    def test_a_round_whose_choices_are_all_too_large_measures_nothing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rejected: list[Clique] = []

        def confirms(
            self: TreeSizes, model: MarginalModel, chosen: Clique, measured: Sequence[Clique]
        ) -> bool:
            rejected.append(chosen)
            return len(rejected) > 6  # all six pairs of the first round

        monkeypatch.setattr(TreeSizes, "confirms", confirms)
        asked = curator(table(4, 3, dependent=True))

        model = Adaptive().select(asked, PGM())

        assert len(set(rejected[:6])) == 6
        assert any(len(clique) >= 2 for clique in model.cliques)

    def test_the_model_stays_within_its_size(self) -> None:
        encoded = table(8, 20, dependent=True)

        model = Adaptive(max_model_mb=0.1).select(curator(encoded), PGM())

        assert model.memory_mb(list(model.cliques)) <= 0.1

    @pytest.mark.thorough
    def test_other_models_are_taught_the_same_way(self) -> None:
        asked = curator(table(5, 4, dependent=True))

        model = Adaptive().select(asked, Genetic())

        assert {CHOOSE, MEASURE} <= {e.step for e in asked.ledger.entries}
        assert model.total == pytest.approx(N)


class TestSamplingError:
    def test_it_is_the_mean_distance_of_samples(self) -> None:
        rng = np.random.default_rng(0)
        expected = np.array([400.0, 90.0, 30.0, 8.0, 0.2])

        drawn = [np.abs(rng.poisson(expected) - expected).sum() for _ in range(2_000)]

        # The formula is rough for small counts; the mean of 2,000 samples is off by less than 1 %.
        assert sampling_error(expected) == pytest.approx(np.mean(drawn), rel=0.05)
