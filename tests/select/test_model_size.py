"""Selectors that choose round by round let a model grow no further than they may."""

from __future__ import annotations

import numpy as np

from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.models.pgm import PGM
from syntabula.privacy.budget import NO_PRIVACY
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.base import pairs_of
from syntabula.select.fixed_rounds import FixedRounds
from syntabula.select.model_size import affordable

DOMAIN = Domain(("a", "b", "c", "d"), (3, 2, 4, 2))
MB = 8 / 2**20
"""One cell of a model."""


def curator() -> Curator:
    rng = np.random.default_rng(0)
    table = EncodedTable(DOMAIN, tuple(rng.integers(0, size, 500) for size in DOMAIN.sizes))
    return Curator(MemoryEngine(table), Ledger(NO_PRIVACY), SeededNoise(0))


class TestAffordable:
    def test_what_is_measured_or_lies_within_the_tree_costs_nothing(self) -> None:
        model = PGM().over(DOMAIN)
        measured = [("a", "b", "c")]  # 24 cells where there were 9 before: 15 more

        found = affordable(model, [*pairs_of(DOMAIN), *measured], measured, 15 * MB)

        assert found == [("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]

    def test_room_for_more_lets_more_in(self) -> None:
        found = affordable(PGM().over(DOMAIN), pairs_of(DOMAIN), [], 2 * MB)

        # Two columns of sizes m and n take m n cells in place of m + n.
        assert found == [("a", "b"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]


class TestFixedRounds:
    def measured(self, limit_cells: float) -> list[tuple[str, ...]]:
        private, seen = curator(), []
        measure = private.measure
        private.measure = lambda cliques, **options: seen.extend(cliques) or measure(cliques, **options)
        whole = FixedRounds(max_model_mb=limit_cells * MB, again=False, records_per_noise=None)
        whole.select(private, PGM())
        return seen

    def test_the_model_stays_within_its_limit_as_long_as_there_is_a_pair_that_fits(self) -> None:
        bound = PGM().over(DOMAIN)
        sizes = [bound.memory_mb(self.measured(limit)[:6]) / MB for limit in (3, 1e6)]

        assert sizes[0] < sizes[1]

    def test_the_plan_is_bounded_by_the_limit(self) -> None:
        steps = FixedRounds(max_model_mb=50 * MB).plan(DOMAIN)

        fits = [s.fit for s in steps]
        assert [fit.cells for fit in fits] == [11, 61, 61]
        assert [fit.kept_small for fit in fits] == [False, True, True]
