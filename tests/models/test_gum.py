"""GUM: records that reach the marginals they are given, exactly where these form a tree."""

from __future__ import annotations

from itertools import combinations
from typing import ClassVar

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique, Domain, contains
from syntabula.marginals.measurement import FloatArray, Measurement
from syntabula.models.gum import GUM, Noise, separate, strongest_tree
from syntabula.models.gum_update import GradualUpdate, MarginalCells

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
    def test_a_tree_of_marginals_is_met_but_for_rounding(self) -> None:
        for seed in range(3):
            wanted = exact(CHAIN, seed)

            model = GUM().over(DOMAIN).fit(wanted)

            # Rounding moves less than a row in each of at most 30 cells, for each of four steps on the way.
            assert max(distances(model, wanted)) < 4 * 30 / N

    def test_marginals_with_cycles_are_met_within_a_few_parts_in_a_thousand(self) -> None:
        for cliques in [RING, PAIRS, [("a", "b", "c"), ("b", "d"), ("c", "d"), ("a", "e")]]:
            wanted = exact(cliques)
            start = GUM(passes=1).over(DOMAIN).fit(wanted)

            model = GUM().over(DOMAIN).fit(wanted)

            assert np.mean(distances(model, wanted)) < min(0.005, 0.5 * np.mean(distances(start, wanted)))

    @pytest.mark.thorough
    def test_many_overlapping_marginals_settle(self) -> None:
        # A hundred and five pairs of fifteen columns of a table of clusters, and only as many rows as it has.
        rng = np.random.default_rng(0)
        centre = rng.integers(0, 12, (15, 6))[:, rng.integers(0, 6, 1500)]
        codes = np.clip(centre + rng.integers(-2, 3, (15, 1500)), 0, 11)
        domain = Domain.from_sizes({str(i): 12 for i in range(15)})
        wanted = [
            Measurement(
                (str(i), str(j)),
                np.bincount(codes[i] * 12 + codes[j], minlength=144).reshape(12, 12) * 1.0,
                0.0,
            )
            for i, j in combinations(range(15), 2)
        ]

        found = GUM().over(domain).fit(wanted).marginals([m.clique for m in wanted])

        # Even a second draw of as many rows is about 0.09 away.
        distance = [np.abs(f - m.values).sum() / 3000 for f, m in zip(found, wanted, strict=True)]
        assert np.mean(distance) < 0.07

    @pytest.mark.thorough
    def test_a_fit_ends_before_it_fits_the_noise(self) -> None:
        # Eight columns that hang together, all pairs with noise about as large as the counts.
        rng = np.random.default_rng(0)
        hidden = rng.normal(size=20_000)
        codes = [np.digitize(hidden + rng.normal(size=hidden.size), np.linspace(-2, 2, 7)) for _ in range(8)]
        domain = Domain.from_sizes({f"c{i}": 8 for i in range(8)})
        pairs: list[Clique] = list(combinations(domain.columns, 2))
        true = [
            np.bincount(codes[i] * 8 + codes[j], minlength=64).reshape(8, 8)
            for i, j in combinations(range(8), 2)
        ]
        noisy = [t + rng.normal(0, 200, t.shape) for t in true]

        def distance(sigma: float) -> float:
            measured = [Measurement(p, v, sigma) for p, v in zip(pairs, noisy, strict=True)]
            found = GUM().over(domain).fit(measured).marginals(pairs)
            both = zip(found, true, strict=True)
            return float(np.mean([np.abs(f / f.sum() - t / t.sum()).sum() for f, t in both]))

        # All weigh the same on either side, but noise that is said to be small explains nothing.
        assert distance(200.0) < 0.95 * distance(1e-3)

    def test_some_of_the_rows_are_like_all_whatever_the_seed_of_the_draw(self) -> None:
        for seed in range(2):
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

    def test_counts_of_passes_are_checked(self) -> None:
        for name in ["passes", "consistency_rounds"]:
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


class TestNoise:
    COUNTS: ClassVar[FloatArray] = np.arange(12.0).reshape(4, 3) * 50
    SIZES: ClassVar[Domain] = Domain.from_sizes({"x": 4, "y": 3})

    def noise(self, sigma: float, clique: Clique = ("x", "y")) -> Noise:
        return Noise(self.SIZES, [clique], [Measurement(("y", "x"), self.COUNTS.T, sigma)])

    def test_counts_within_a_standard_deviation_are_explained(self) -> None:
        for deviations, explained in [(0.9, True), (1.1, False)]:
            counts = self.COUNTS + 20 * deviations * np.where(np.indices((4, 3)).sum(axis=0) % 2, 1, -1)

            assert self.noise(20.0).explains(counts.ravel()) == explained

    def test_noise_of_what_was_summed_sums_up(self) -> None:
        for deviations, explained in [(0.9, True), (1.1, False)]:
            counts = self.COUNTS.sum(axis=1) + 20 * 3**0.5 * deviations

            assert self.noise(20.0, ("x",)).explains(counts) == explained

    def test_one_marginal_that_is_farther_off_is_enough(self) -> None:
        measured = [Measurement(("x",), np.full(4, 30.0), 5.0), Measurement(("y",), np.full(3, 40.0), 5.0)]
        noise = Noise(self.SIZES, [("x",), ("y",)], measured)

        assert noise.explains(np.array([30.0] * 4 + [40.0] * 3))
        assert not noise.explains(np.array([30.0] * 4 + [40.0] * 2 + [50.0]))

    def test_without_noise_nothing_but_the_counts_is_explained(self) -> None:
        noise = self.noise(0.0)

        assert noise.explains(self.COUNTS.ravel())
        assert not noise.explains(self.COUNTS.ravel() + 1e-3)


class TestStart:
    def test_pairs_are_drawn_along_the_tree_of_most_information(self) -> None:
        # b and c repeat a, d is like them in most rows, and e in few.
        rng, a = np.random.default_rng(0), np.arange(900) % 3
        other = rng.integers(0, 3, (2, 900))
        codes = {"a": a, "b": a, "c": a, "d": np.where(rng.random(900) < 0.8, a, other[0])}
        codes["e"] = np.where(rng.random(900) < 0.4, codes["d"], other[1])
        tables = {
            (one, two): np.bincount(codes[one] * 3 + codes[two], minlength=9).reshape(3, 3).astype(np.float64)
            for one, two in combinations(codes, 2)
        }

        joins = strongest_tree(tables)

        assert [join.columns for join in joins] == [("a", "b"), ("c",), ("d",), ("e",)]
        assert [join.given for join in joins[2:]] == [("a",), ("d",)]

    def test_every_column_is_drawn_once_and_after_what_it_is_given(self) -> None:
        tables = {
            m.clique: m.values for m in exact([("c", "d"), ("a", "b", "d"), ("e", "a"), ("b", "c", "e")])
        }

        there: list[str] = []
        for join in strongest_tree(tables):
            assert set(join.given) <= set(there)
            there += join.columns

        assert sorted(there) == sorted(DOMAIN.columns)

    def test_marginals_that_share_no_column_are_all_drawn(self) -> None:
        joins = strongest_tree({m.clique: m.values for m in exact([("a", "b"), ("c", "d")])})

        assert [(join.columns, join.given) for join in joins] == [(("a", "b"), ()), (("c", "d"), ())]


class TestUpdate:
    SIZES: ClassVar[Domain] = Domain.from_sizes({"x": 4, "y": 3, "z": 9})

    def rows(self, seed: int = 0) -> np.ndarray:
        rng = np.random.default_rng(seed)
        return np.stack([rng.integers(0, n, 5000) for n in self.SIZES.sizes]).astype(np.uint8)

    def state(self, rows: np.ndarray, *cliques: Clique, seed: int = 1) -> GradualUpdate:
        rng = np.random.default_rng(seed)
        wanted = {
            c: rng.dirichlet(np.full(self.SIZES.cells(c), 0.7)).reshape(self.SIZES.shape(c)) for c in cliques
        }
        return GradualUpdate(self.SIZES, wanted, rows, np.random.default_rng(0))

    def test_full_steps_reach_the_only_marginal_but_for_rounding(self) -> None:
        state = self.state(self.rows(), ("x", "y"))

        for number in range(30):
            state.update(state.targets[0], step=1.0, duplicated=0.5 * (number % 2))

        assert state.errors()[0] * 5000 <= 12

    def test_errors_are_those_of_the_rows(self) -> None:
        state = self.state(rows := self.rows(), ("x", "y"), ("y", "z"), ("z", "x"))
        for target in state.targets:
            state.update(target, step=1.0, duplicated=0.5)

        again = self.state(rows.copy(), ("x", "y"), ("y", "z"), ("z", "x"))

        np.testing.assert_allclose(state.errors(), again.errors(), atol=1e-9)

    def test_the_error_of_all_marginals_together_falls_with_every_update(self) -> None:
        for duplicated in [0.0, 1.0]:
            state = self.state(self.rows(), ("x", "y"), ("y", "z"), ("z", "x"))

            found = [state.errors().sum()]
            for _ in range(3):
                for target in state.targets:
                    state.update(target, step=0.1, duplicated=duplicated)
                    found.append(state.errors().sum())

            assert (np.diff(found) < 0).all()

    def test_a_cell_gains_at_most_its_step(self) -> None:
        state = self.state(self.rows(), ("x", "y"))
        (target,) = state.targets
        before = np.bincount(target.cell_of(state.rows), minlength=12)

        state.update(target, step=0.3, duplicated=0.0)

        after = np.bincount(target.cell_of(state.rows), minlength=12)
        assert (after - before <= 0.3 * before + 1).all()
        assert after.sum() == 5000
        assert (after != before).any()

    def test_an_empty_cell_that_is_wanted_is_filled_by_overwriting(self) -> None:
        rows = self.rows()
        rows = rows[:, rows[0] > 0]
        even = {("x", "y"): np.ones((4, 3))}
        state = GradualUpdate(self.SIZES, even, rows, np.random.default_rng(0))

        state.update(state.targets[0], step=0.5, duplicated=0.0)

        gained = np.bincount(state.targets[0].cell_of(rows), minlength=12)[:3]
        assert (gained > 0).all()

    def test_copies_keep_whole_rows_and_overwriting_keeps_the_other_columns(self) -> None:
        rows = self.rows()
        rows[2] = rows[0]  # the third column repeats the first
        copied, overwritten = (self.state(rows.copy(), ("x", "y")) for _ in range(2))

        copied.update(copied.targets[0], step=1.0, duplicated=1.0)
        overwritten.update(overwritten.targets[0], step=1.0, duplicated=0.0)

        assert (copied.rows[2] == copied.rows[0]).all()
        assert (copied.rows != rows).any()
        assert (overwritten.rows[2] == rows[2]).all()
        assert (overwritten.rows[2] != overwritten.rows[0]).any()

    def test_it_says_whether_copies_brought_as_much_as_overwriting(self) -> None:
        # All columns are alike, and more of the zeros are wanted: to overwrite two of three would part them.
        rows = np.tile(np.arange(5000, dtype=np.uint8) % 3, (3, 1))
        more = np.diag([3.0, 1, 1])
        wanted = {("x", "y"): np.pad(more, ((0, 1), (0, 0))), ("z", "x"): np.pad(more, ((0, 6), (0, 1)))}
        alike = GradualUpdate(self.SIZES, wanted, rows, np.random.default_rng(0))
        unlike = self.state(self.rows(), ("x", "y"))

        assert alike.update(alike.targets[0], step=1.0, duplicated=0.5)
        assert not unlike.update(unlike.targets[0], step=1.0, duplicated=0.0)

    def test_a_row_goes_where_one_column_changes_if_that_helps(self) -> None:
        # Rows (0, 0) and (1, 1) are too many; (0, 1) and (1, 0) too few.
        rows = np.array([[0, 1] * 500, [0, 1] * 500, [0] * 1000], dtype=np.uint8)
        wanted = np.array([[300.0, 200, 0], [200, 300, 0], [0, 0, 0], [0, 0, 0]])
        state = GradualUpdate(self.SIZES, {("x", "y"): wanted}, rows.copy(), np.random.default_rng(0))

        state.update(state.targets[0], step=1.0, duplicated=0.0)

        changed = (state.rows != rows).sum(axis=0)
        assert changed.max() == 1
        assert changed.sum() > 300

    def test_a_met_marginal_is_left_alone(self) -> None:
        rows = self.rows()
        have = np.bincount(rows[0] * 3 + rows[1], minlength=12).reshape(4, 3).astype(np.float64)
        state = GradualUpdate(self.SIZES, {("x", "y"): have}, rows.copy(), np.random.default_rng(0))

        state.update(state.targets[0], step=1.0, duplicated=0.5)

        assert (state.rows == rows).all()

    def test_wide_marginals_have_cells_of_their_own(self) -> None:
        rows = np.array([[255, 0, 1], [255, 0, 0], [255, 1, 0]], dtype=np.uint8)

        cells = MarginalCells((0, 1, 2), (256, 256, 256), 0, 256**3, np.arange(1), ()).cell_of(rows)

        assert cells.tolist() == [256**3 - 1, 1, 65536]
