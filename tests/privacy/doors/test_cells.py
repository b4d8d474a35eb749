"""Queries of single cells: what they cost, what they release, and what they leave unsaid."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from syntabula.errors import ArgumentError, BudgetExceededError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.privacy.budget import NO_PRIVACY, Budget
from syntabula.privacy.doors.cells import CellCurator
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.events import ExponentialEvent, GaussianEvent, LaplaceEvent
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise

DOMAIN = Domain.from_sizes({"a": 3, "b": 2, "c": 4})
PAIRS = list(combinations("abc", 2))
ROWS = EncodedTable(
    DOMAIN,
    tuple(np.array(x, dtype=np.uint8) for x in ([0, 0, 1, 2, 2, 2], [0, 0, 1, 1, 1, 1], [3, 3, 0, 1, 2, 2])),
)


def asked(budget: Budget = NO_PRIVACY, seed: int = 0) -> Curator:
    return Curator(MemoryEngine(ROWS), Ledger(budget), SeededNoise(seed))


def zeros() -> list[np.ndarray]:
    return [np.zeros(DOMAIN.shape(c)) for c in PAIRS]


class TestChoice:
    def test_without_noise_the_cell_farthest_off_is_chosen(self) -> None:
        cells = CellCurator(asked(), PAIRS)

        first = cells.choose(zeros(), share=0.1, step="choose")
        second = cells.choose(zeros(), without=[first], share=0.1, step="choose")

        assert first == (("a", "b"), (2, 1))
        assert second == (("a", "b"), (0, 0)) or second == (("b", "c"), (0, 3))

    def test_a_cell_that_the_model_knows_is_not_chosen(self) -> None:
        estimates = [MemoryEngine(ROWS).counts([c])[0].astype(float) for c in PAIRS]
        estimates[2][1, 2] += 5

        chosen = CellCurator(asked(), PAIRS).choose(estimates, share=0.1, step="choose")

        assert chosen == (("b", "c"), (1, 2))

    def test_it_is_one_exponential_mechanism_over_all_candidates(self) -> None:
        curator = asked(Budget.zcdp(1.0, 1e-6))

        CellCurator(curator, PAIRS).choose(zeros(), without=[(("a", "b"), (0, 0))], share=0.08, step="choose")

        (entry,) = curator.ledger.entries
        assert isinstance(entry.event, ExponentialEvent)
        assert entry.event.candidates == 6 + 12 + 8 - 1
        assert entry.event.epsilon == pytest.approx(np.sqrt(8 * 0.08))

    @pytest.mark.parametrize("total", [1e3, 2.0**33, 2.0**44, 1e17, 1e300])
    def test_one_record_changes_each_score_by_at_most_one_however_large_what_is_believed_is(
        self, total: float
    ) -> None:
        estimates = [np.full(DOMAIN.shape(c), total / 7) for c in PAIRS]
        seen: list[np.ndarray] = []
        for n in (5, 6):
            rows = EncodedTable(DOMAIN, tuple(c[:n] for c in ROWS.codes))
            curator = Curator(MemoryEngine(rows), Ledger(Budget.pure(1.0)), SeededNoise(0))
            curator._source.noisy_max = lambda scores, scale: seen.append(scores) or 0  # type: ignore[func-returns-value, method-assign]
            CellCurator(curator, PAIRS).choose(estimates, share=0.1, step="choose")

        assert np.abs(seen[0] - seen[1]).max() <= 1

    def test_an_estimate_of_another_shape_is_refused(self) -> None:
        with pytest.raises(ArgumentError, match="shape"):
            CellCurator(asked(), PAIRS).choose([e.ravel() for e in zeros()], share=0.1, step="choose")

    def test_every_cell_can_be_named(self) -> None:
        cells = CellCurator(asked(), PAIRS)
        known: list = []

        for _ in range(26):
            known.append(cells.choose(zeros(), without=known, share=0.01, step="choose"))

        assert len(set(known)) == 26
        with pytest.raises(ArgumentError):
            cells.choose(zeros(), without=known, share=0.01, step="choose")


class TestMeasurement:
    def test_only_the_cells_asked_for_are_known(self) -> None:
        cells = CellCurator(asked(), PAIRS)

        one, other = cells.measure(
            [(("a", "b"), (2, 1)), (("b", "c"), (0, 3)), (("a", "b"), (1, 1))], share=0.5, step="measure"
        )

        assert (one.clique, other.clique) == (("a", "b"), ("b", "c"))
        assert np.array_equal(one.values, [[0, 0], [0, 1], [0, 3]])
        assert np.array_equal(other.values, [[0, 0, 0, 2], [0, 0, 0, 0]])
        assert ((one.sigma == 0) == [[False, False], [False, True], [False, True]]).all()
        assert one.sigma.max() >= 1e9

    def test_cells_of_one_marginal_share_their_cost(self) -> None:
        curator = asked(Budget.zcdp(1.0, 1e-6))
        cells = CellCurator(curator, PAIRS)

        cells.measure([(("a", "b"), (0, 0)), (("a", "b"), (1, 0))], share=0.5, step="measure")
        cells.measure([(("a", "b"), (0, 0)), (("a", "c"), (1, 0))], share=0.5, step="measure")

        one, two = (e.event for e in curator.ledger.entries)
        assert isinstance(one, GaussianEvent)
        assert isinstance(two, GaussianEvent)
        assert (one.l2_sensitivity_squared, one.cells) == (1, 2)
        assert (two.l2_sensitivity_squared, two.cells) == (2, 2)
        assert one.sigma == pytest.approx(1.0)

    def test_a_pure_budget_buys_laplace_noise(self) -> None:
        curator = asked(Budget.pure(1.0))

        CellCurator(curator, PAIRS).measure([(("a", "b"), (0, 0)), (("a", "c"), (1, 0))], share=1, step="m")

        (entry,) = curator.ledger.entries
        assert isinstance(entry.event, LaplaceEvent)
        assert entry.event.scale == pytest.approx(2.0)

    def test_noise_is_that_of_the_event(self) -> None:
        # Eight cells at sigma 100: a sum of squares beyond 60 times the variance has probability below 1e-9.
        curator = asked(Budget.zcdp(1.0, 1e-6))
        cells = [(("b", "c"), (i, j)) for i in range(2) for j in range(4)]

        (found,) = CellCurator(curator, PAIRS).measure(cells, share=0.5e-4, step="measure")

        (exact,) = MemoryEngine(ROWS).counts([("b", "c")])
        assert np.asarray(found.sigma) == pytest.approx(100.0)
        assert 0 < np.square((found.values - exact) / 100).sum() < 60

    def test_nothing_is_drawn_that_cannot_be_paid(self) -> None:
        curator = asked(Budget.zcdp(1.0, 1e-6))
        cells = CellCurator(curator, PAIRS)
        cells.measure([(("a", "b"), (0, 0))], share=0.7, step="measure")

        with pytest.raises(BudgetExceededError):
            cells.measure([(("a", "b"), (0, 0))], share=0.7, step="measure")
        with pytest.raises(BudgetExceededError):
            cells.choose(zeros(), share=0.7, step="choose")

    @pytest.mark.parametrize("cells", [[], [(("a", "z"), (0, 0))], [(("a", "b"), (0, 2))]])
    def test_cells_that_are_not_there_are_refused(self, cells: list) -> None:
        with pytest.raises(ValueError):
            CellCurator(asked(), PAIRS).measure(cells, share=0.5, step="measure")
