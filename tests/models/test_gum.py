"""GUM: records that reach the marginals they are given, exactly where these form a tree."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals.clique import contains
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.models.gum import GUM
from syntabula.models.gum.separation import separate
from syntabula.models.gum.update import Target, update

DOMAIN = Domain.from_sizes({"a": 6, "b": 5, "c": 4, "d": 3, "e": 2})
PAIRS: list[Clique] = list(combinations(DOMAIN.columns, 2))
CHAIN: list[Clique] = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
RING: list[Clique] = [*CHAIN, ("e", "a")]
N = 20_000


def joint(seed: int = 0) -> FloatArray:
    """Draw a joint distribution with strong dependences."""
    return np.random.default_rng(seed).dirichlet(np.full(720, 0.1)).reshape(DOMAIN.sizes) * N


def exact(cliques: list[Clique], seed: int = 0) -> list[Measurement]:
    axes = {c: tuple(i for i, name in enumerate(DOMAIN.columns) if name not in c) for c in cliques}
    tables = {c: joint(seed).sum(axis=axes[c]) for c in cliques}
    order = {c: np.argsort(np.argsort([DOMAIN.index(name) for name in c])) for c in cliques}
    return [Measurement(c, tables[c].transpose(order[c]), 0.0) for c in cliques]


def distances(model: GUM, wanted: list[Measurement]) -> list[float]:
    """Return the total variation distance of the model to each marginal."""
    found = model.marginals([m.clique for m in wanted])
    return [float(np.abs(f - m.values).sum() / 2 / N) for f, m in zip(found, wanted, strict=True)]


class TestTargets:
    @pytest.mark.parametrize("seed", range(3))
    def test_a_tree_of_marginals_is_met_but_for_rounding(self, seed: int) -> None:
        wanted = exact(CHAIN, seed)

        model = GUM().over(DOMAIN).fit(wanted)

        # Rounding moves less than a row in each of at most 30 cells, for each of four steps on the way.
        assert max(distances(model, wanted)) < 4 * 30 / N

    @pytest.mark.parametrize("cliques", [RING, PAIRS, [("a", "b", "c"), ("b", "d"), ("c", "d"), ("a", "e")]])
    def test_marginals_with_cycles_are_met_within_a_few_parts_in_a_hundred(
        self, cliques: list[Clique]
    ) -> None:
        wanted = exact(cliques)
        alone = GUM().over(DOMAIN).fit(exact([(c,) for c in DOMAIN.columns]))

        model = GUM().over(DOMAIN).fit(wanted)

        assert np.mean(distances(model, wanted)) < 0.03
        assert np.mean(distances(alone, wanted)) > 0.1  # the passes did it, not the start

    @pytest.mark.parametrize("seed", range(2))
    def test_some_of_the_rows_are_like_all_whatever_the_seed_of_the_draw(self, seed: int) -> None:
        model = GUM(seed=seed).over(DOMAIN).fit(exact(CHAIN))

        drawn = model.sample(2500, np.random.default_rng(seed))

        # The distance of a fair sample is 0.012 on average, with a standard deviation of about 0.003 over the
        # five columns; a draw that repeated the choices of the fit was off by 0.11.
        found = []
        for name, codes in zip(DOMAIN.columns, drawn.codes, strict=True):
            whole = model.marginals([(name,)])[0]
            part = np.bincount(codes, minlength=whole.size) / codes.size
            found.append(np.abs(part - whole / whole.sum()).sum() / 2)
        assert np.mean(found) < 0.04

    def test_columns_that_nothing_measures_come_out_evenly(self) -> None:
        model = GUM().over(DOMAIN).fit(exact([("a", "b")]))

        (counts,) = model.marginals([("c",)])
        np.testing.assert_allclose(counts, N / 4, atol=1)

    def test_the_total_is_the_measured_one(self) -> None:
        assert GUM().over(DOMAIN).fit(exact(CHAIN)).total == pytest.approx(N)

    def test_a_small_table_has_a_thousand_records_that_weigh_less(self) -> None:
        few = [Measurement(m.clique, m.values * 7 / N, 0.0) for m in exact(RING)]

        model = GUM().over(DOMAIN).fit(few)

        assert model.total == pytest.approx(7)
        (counts,) = model.marginals([("a",)])
        assert counts.sum() == pytest.approx(7)
        assert len(model.state()[1]["rows"]) == 1000

    def test_there_are_never_more_records_than_allowed(self) -> None:
        model = GUM(max_rows=3000).over(DOMAIN).fit(exact(RING))

        assert len(model.state()[1]["rows"]) == 3000
        assert model.total == pytest.approx(N)

    def test_noise_that_leaves_nothing_still_fits(self) -> None:
        rng = np.random.default_rng(0)
        noise = [Measurement(p, rng.normal(size=DOMAIN.shape(p)) * 50, 50.0) for p in PAIRS]

        model = GUM().over(DOMAIN).fit(noise)

        assert model.total >= 1
        assert model.marginals([("a", "e")])[0].min() >= 0

    @pytest.mark.parametrize("name", ["passes", "consistency_rounds"])
    def test_counts_of_passes_are_checked(self, name: str) -> None:
        with pytest.raises(ArgumentError, match=name):
            GUM(**{name: 0})


class TestSeparation:
    def test_a_tree_leaves_nothing_to_update(self) -> None:
        core, joins = separate({m.clique: m.values for m in exact([*CHAIN, ("a",), ("b",)])})

        assert core == {}
        assert sorted(c for join in joins for c in join.columns) == sorted(DOMAIN.columns)

    def test_what_hangs_from_a_cycle_is_left_out_and_the_cycle_stays(self) -> None:
        cycle: list[Clique] = [("a", "b"), ("b", "c"), ("a", "c")]

        core, joins = separate({m.clique: m.values for m in exact([*cycle, ("c", "d"), ("d", "e")])})

        assert sorted(core) == sorted(cycle)
        assert [(join.columns, join.given) for join in joins] == [(("e",), ("d",)), (("d",), ("c",))]

    def test_given_columns_are_there_before_they_are_needed(self) -> None:
        core, joins = separate({m.clique: m.values for m in exact([("a", "b", "c"), ("c", "d"), ("d", "e")])})

        there = {c for clique in core for c in clique}
        for join in reversed(joins):
            assert set(join.given) <= there
            there |= set(join.columns)
        assert there == set(DOMAIN.columns)

    def test_a_marginal_within_another_is_left_to_it(self) -> None:
        core, _ = separate({m.clique: m.values for m in exact([*PAIRS, ("a", "b", "c")])})

        assert not any(contains(("a", "b", "c"), c) and len(c) == 2 for c in core)


class TestUpdate:
    def rows(self, seed: int = 0) -> np.ndarray:
        rng = np.random.default_rng(seed)
        return np.stack(
            [rng.integers(0, 4, 5000), rng.integers(0, 3, 5000), rng.integers(0, 9, 5000)], 1
        ).astype(np.uint8)

    def target(self, seed: int = 1) -> Target:
        wanted = np.random.default_rng(seed).dirichlet(np.full(12, 0.7)) * 5000
        return Target((0, 1), (4, 3), wanted)

    @pytest.mark.parametrize("duplicated", [0.0, 0.5, 1.0])
    def test_full_steps_reach_the_marginal_but_for_rounding(self, duplicated: float) -> None:
        rng, rows, target = np.random.default_rng(0), self.rows(), self.target()

        for _ in range(30):
            rows = rows[rng.permutation(len(rows))]
            update(rows, target, step=1.0, duplicated=duplicated, rng=rng)

        assert target.error(rows) <= 12 * 2

    def test_a_cell_gains_at_most_its_step_and_loses_at_most_its_surplus(self) -> None:
        rng, rows, target = np.random.default_rng(0), self.rows(), self.target()
        before = np.bincount(target.cell_of(rows), minlength=12)

        update(rows, target, step=0.3, duplicated=0.5, rng=rng)

        after = np.bincount(target.cell_of(rows), minlength=12)
        assert (after - before <= np.minimum(0.3 * before, np.maximum(target.counts - before, 0)) + 1).all()
        assert (before - after <= np.maximum(before - target.counts, 0) + 1).all()
        assert after.sum() == 5000
        assert np.abs(after - target.counts).sum() < np.abs(before - target.counts).sum()

    def test_an_empty_cell_that_is_wanted_is_filled_by_overwriting(self) -> None:
        rng, rows = np.random.default_rng(0), self.rows()
        rows = rows[rows[:, 0] > 0]
        target = Target((0, 1), (4, 3), np.full(12, len(rows) / 12))

        update(rows, target, step=0.5, duplicated=1.0, rng=rng)

        gained = np.bincount(target.cell_of(rows), minlength=12)[:3]
        assert (np.abs(gained - 0.5 * target.counts[:3]) <= 1).all()

    def test_copies_keep_whole_rows_and_overwriting_keeps_the_other_columns(self) -> None:
        rows, target = self.rows(), self.target()
        rows[:, 2] = rows[:, 0]  # the third column repeats the first

        copied, overwritten = rows.copy(), rows.copy()
        update(copied, target, step=1.0, duplicated=1.0, rng=np.random.default_rng(0))
        update(overwritten, target, step=1.0, duplicated=0.0, rng=np.random.default_rng(0))

        assert (copied[:, 2] == copied[:, 0]).all()
        assert (overwritten[:, 2] == rows[:, 2]).all()
        assert (overwritten[:, 2] != overwritten[:, 0]).any()

    def test_a_met_marginal_is_left_alone(self) -> None:
        rows = self.rows()
        have = np.bincount(Target((0, 1), (4, 3), np.zeros(12)).cell_of(rows), minlength=12)
        target, before = Target((0, 1), (4, 3), have.astype(np.float64)), rows.copy()

        update(rows, target, step=1.0, duplicated=0.5, rng=np.random.default_rng(0))

        assert (rows == before).all()

    def test_wide_marginals_have_cells_of_their_own(self) -> None:
        rows = np.array([[255, 255, 255], [0, 0, 1], [1, 0, 0]], dtype=np.uint8)

        cells = Target((0, 1, 2), (256, 256, 256), np.zeros(256**3)).cell_of(rows)

        assert cells.tolist() == [256**3 - 1, 1, 65536]
