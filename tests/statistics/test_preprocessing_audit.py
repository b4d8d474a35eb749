"""White-box audits of what raw columns go through, on neighbouring columns, with a planted bug as control.

Each audit fixes an event beforehand, runs both worlds and bounds epsilon (or delta) from below; the bound may
not exceed the claim. Confidence is 1 - 5e-8 per bound, so that with other seeds each would exceed a true claim
with probability at most 5e-8: all together below 1e-6. Floors, where an audit is tight, show that it can find
something.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import audit_bounds as bounds
import numpy as np
import pytest

from syntabula.bins.uniform import Bins
from syntabula.errors import PrivateDomainError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.prepare.bounds import extract_bounds
from syntabula.prepare.found_levels import extract_level
from syntabula.prepare.kmeans import KMeansBins
from syntabula.prepare.preprocessing import FittedDiscretizer, RareCategories, fit_spread
from syntabula.prepare.privtree import PrivTreeBins
from syntabula.prepare.quantile import QuantileBins
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.doors.labels import LabelCurator
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.mechanisms import Node
from syntabula.privacy.noise import NoiseSource, SeededNoise

CONFIDENCE = 1 - 5e-8
RUNS = 5_000
WHOLE_RUNS = 400
EPSILON = 2.0
WHOLE = Fraction(1)

Event = Callable[[ColumnCurator], bool]


class DividedNoise:
    """The planted bug: everything is drawn at half the scale that was paid for, or at a smaller part of it."""

    name = "divided"
    is_private = False

    def __init__(self, inner: NoiseSource, divisor: float = 2) -> None:
        self.inner = inner
        self.divisor = divisor

    def begin_draw(self):
        self.inner.begin_draw()

    def discrete_laplace(self, counts, scale):
        return self.inner.discrete_laplace(counts, scale / self.divisor)

    def discrete_gaussian(self, counts, sigma):
        return self.inner.discrete_gaussian(counts, sigma / self.divisor)

    def noisy_max(self, scores, scale):
        return self.inner.noisy_max(scores, scale / self.divisor)


def hits(points: list[float], event: Event, noise: NoiseSource) -> int:
    """Count how often the event happens; each run has a budget of its own."""
    array, budget = np.array(points), Budget.pure(EPSILON)
    return sum(event(ColumnCurator(array, Ledger(budget), noise)) for _ in range(RUNS))


def bound(more: list[float], fewer: list[float], event: Event, noise: NoiseSource) -> float:
    """Lower bound on epsilon from an event that is likelier with the first column."""
    return bounds.epsilon_of_event(hits(more, event, noise), hits(fewer, event, noise), RUNS, CONFIDENCE)


def counted(column: ColumnCurator) -> bool:
    answer = column.histogram([0.0, 1.0, 2.0], share=WHOLE, step="s")
    return bool(answer.values[0] >= 6)


def summed(column: ColumnCurator) -> bool:
    answer = column.sums([0.0, 1.0, 2.0], power=1, of="cell", share=WHOLE, step="s")
    return bool(answer.values[0] >= 6)


def median_in_the_first_cell(column: ColumnCurator) -> bool:
    return column.quantiles([0.0, 1.0, 2.0], [Fraction(1, 2)], share=WHOLE, step="s") == [0]


def stays_whole(column: ColumnCurator) -> bool:
    return len(column.tree(Node(0.0, 1.0), threshold=5, most_leaves=64, share=WHOLE, step="s")) == 1


def splits_thrice(column: ColumnCurator) -> bool:
    leaves = column.tree(Node(0.0, 1.0), threshold=5, most_leaves=64, share=WHOLE, step="s")
    return max(leaf.depth for leaf in leaves) >= 3


class TestAudits:
    @pytest.mark.thorough
    def test_a_histogram_is_as_private_as_claimed_and_no_more(self):
        found = bound([0.5] * 6, [0.5] * 5, counted, SeededNoise(1))

        assert 0.75 * EPSILON <= found <= EPSILON

    @pytest.mark.thorough
    def test_a_sum_of_places_is_as_private_as_claimed_and_no_more(self):
        # Values at the upper end of the cell, where a record weighs most.
        end = np.nextafter(1.0, 0.0)

        found = bound([end] * 6, [end] * 5, summed, SeededNoise(2))

        assert 0.75 * EPSILON <= found <= EPSILON

    @pytest.mark.thorough
    def test_a_quantile_is_as_private_as_claimed(self):
        one_more, one_less = [0.5] * 5 + [1.5], [0.5] * 5

        assert bound(one_more, one_less, median_in_the_first_cell, SeededNoise(3)) <= EPSILON
        assert bound(one_less, one_more, median_in_the_first_cell, SeededNoise(4)) <= EPSILON

    @pytest.mark.thorough
    def test_a_tree_is_as_private_as_claimed_in_both_directions(self):
        # All values at one place: every level of the path holds the record.
        with_record, without = [0.01] * 6, [0.01] * 5

        assert bound(with_record, without, splits_thrice, SeededNoise(6)) <= EPSILON
        assert bound(without, with_record, stays_whole, SeededNoise(7)) <= EPSILON / 3 * 1.001

    @pytest.mark.thorough
    @pytest.mark.filterwarnings("ignore::syntabula.errors.PrivacyWarning")
    def test_a_label_of_one_record_comes_out_no_more_often_than_delta(self):
        delta = Fraction(1, 20)
        budget = Budget(epsilon=2.0, delta=0.09).with_failure_delta(delta)
        noise = SeededNoise(8)

        seen = sum(
            "alone"
            in LabelCurator({"alone": 1, "many": 50}, Ledger(budget), noise).frequent(
                share=WHOLE, delta=delta, step="s"
            )
            for _ in range(RUNS)
        )

        least = 1 - bounds.upper_rate(RUNS - seen, RUNS, 1 - CONFIDENCE)
        assert least <= delta
        # The bound on the tail is loose by a factor of about 6 here; a dead mechanism would show 0.
        assert seen >= 5

    @pytest.mark.filterwarnings("ignore::syntabula.errors.PrivacyWarning")
    @pytest.mark.thorough
    def test_a_value_of_one_record_comes_out_no_more_often_than_delta(self):
        delta = Fraction(1, 20)
        budget = Budget(epsilon=2.0, delta=0.09).with_failure_delta(delta)
        noise = SeededNoise(9)
        points = np.array([0.0] * 50 + [7.7])

        seen = sum(
            7.7
            in ColumnCurator(points, Ledger(budget), noise).frequent(9, share=WHOLE, delta=delta, step="s")[0]
            for _ in range(RUNS)
        )

        assert 1 - bounds.upper_rate(RUNS - seen, RUNS, 1 - CONFIDENCE) <= delta
        # As above.
        assert seen >= 5


# Two neighbouring columns, numbers of missing values, and an event that is likelier with the first of them.
WHOLES = {
    "bounds, whether there are any": (([1.5] * 7, 0), ([1.5] * 6, 0), lambda c: has_bounds(c)),
    "bounds, whether values are missing": (
        ([1.5] * 20, 3),
        ([1.5] * 20, 2),
        lambda c: extract_bounds(c, share=WHOLE, step="s", refine=False).has_missing,
    ),
    "the window of a narrow column": (
        ([0.5] * 3 + [1.5] * 3, 0),
        ([0.5] * 3 + [1.5] * 2, 0),
        lambda c: (
            c.window(
                [(1.0, 2.0), (0.0, 1.0)],
                enough=3,
                merits=[0.0, 0.0],
                log_weights=[0.0, 0.0],
                share=WHOLE,
                step="s",
            )
            == 0
        ),
    ),
    "decimals": (([3.0], 0), ([], 0), lambda c: extract_level(c, 4, share=WHOLE, step="s") == 3),
    "quantile bins": (([4.0], 0), ([4.0, 7.9], 0), lambda c: fitted(QuantileBins(), c).edges[1] < 4),
    "k-means bins": (([7.5], 0), ([], 0), lambda c: fitted(KMeansBins(), c).edges[1] > 4.6),
    "PrivTree bins": (([0.1] * 2, 0), ([0.1], 0), lambda c: fitted(PrivTreeBins("zero"), c, 4).size > 2),
    "values within a bin": (
        ([0.5] * 10, 0),
        ([0.5] * 9, 0),
        lambda c: fit_spread(c, Bins((0.0, 8.0), integer=False), share=WHOLE, step="s").deviations[0] > 0,
    ),
}


def has_bounds(column: ColumnCurator) -> bool:
    try:
        extract_bounds(column, share=WHOLE, step="s", refine=False)
    except PrivateDomainError:
        return False
    return True


def fitted(discretizer: FittedDiscretizer, column: ColumnCurator, count: int = 2) -> Bins:
    return discretizer.fit(column, 0.0, 8.0, count=count, n_estimated=4.0, share=WHOLE, step="s")


def whole_bound(name: str, noise: NoiseSource, runs: int) -> float:
    """Lower bound on epsilon from one event of a whole step of preprocessing, which draws more than once."""
    *worlds, event = WHOLES[name]
    budget = Budget.pure(EPSILON)
    happened = [
        sum(
            event(ColumnCurator(np.array(points, dtype=np.float64), Ledger(budget), noise, n_missing=n))
            for _ in range(runs)
        )
        for points, n in worlds
    ]
    return bounds.epsilon_of_event(*happened, runs, CONFIDENCE)


class TestWholeSteps:
    """Every step of preprocessing that looks at a column, as it is called, with all that it draws together."""

    @pytest.mark.thorough
    @pytest.mark.parametrize("name", WHOLES)
    def test_costs_no_more_than_its_share(self, name):
        assert whole_bound(name, SeededNoise(11), WHOLE_RUNS) <= EPSILON

    @pytest.mark.thorough
    @pytest.mark.parametrize("name", WHOLES)
    def test_would_be_caught_if_it_drew_hardly_any_noise(self, name):
        assert whole_bound(name, DividedNoise(SeededNoise(12), 500), WHOLE_RUNS) > EPSILON

    @pytest.mark.thorough
    def test_rare_categories_cost_no_more_than_their_share(self):
        def kept(noise: NoiseSource, n_rare: int, runs: int) -> int:
            domain = Domain.from_sizes({"x": 4})
            codes = np.repeat([0, 1, 2, 3], [20, n_rare, 0, 0]).astype(np.uint8)
            table = EncodedTable.from_mapping(domain, {"x": codes})
            found = 0
            for _ in range(runs):
                curator = Curator(MemoryEngine(table), Ledger(Budget.zcdp(0.5, 1e-6)), noise)
                recoding = RareCategories(share=Fraction(99, 100), least_categories=2).fit(curator, ["x"])
                found += recoding.target.size("x") > 2
            return found

        # A rho of 0.5 is a mu of 1: the errors of any test of one record obey Gaussian privacy with mu = 1.
        runs, error = WHOLE_RUNS, (1 - CONFIDENCE) / 2
        for noise, most in ((SeededNoise(13), True), (DividedNoise(SeededNoise(14), 500), False)):
            seen, unseen = kept(noise, 4, runs), kept(noise, 3, runs)
            mu = bounds.mu_of_rates(unseen, runs - seen, runs, error)
            assert (mu <= 1.0) == most


class TestPlantedBug:
    """Half the noise must be flagged."""

    @pytest.mark.thorough
    def test_in_a_histogram_is_found(self):
        assert bound([0.5] * 6, [0.5] * 5, counted, DividedNoise(SeededNoise(9))) > EPSILON

    @pytest.mark.thorough
    def test_in_a_tree_is_found(self):
        found = bound([0.01] * 5, [0.01] * 6, stays_whole, DividedNoise(SeededNoise(10)))

        assert found > EPSILON / 3 * 1.001
