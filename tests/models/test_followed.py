"""Columns that follow from another one are found under noise, and nothing else is taken for one."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import Measurement
from syntabula.models.followed import cells_outside_rule
from syntabula.models.pgm import PGM
from syntabula.models.targets import Target, joined_targets

SIGMA = 20.0
TEAMS, LEAGUES = 50, 4
LEAGUE = np.random.default_rng(0).permutation(np.arange(TEAMS) % LEAGUES)


def counts(broken: float = 0.0, *, size: float = 200.0) -> np.ndarray:
    """Return how many records each team has in each league, if a part of them is in any league."""
    return size * (broken / LEAGUES + (1 - broken) * np.eye(LEAGUES)[LEAGUE])


def noisy(table: np.ndarray, seed: int = 1, sigma: float = SIGMA) -> Measurement:
    noise = np.random.default_rng(seed).normal(0, sigma, table.shape)
    return Measurement(("team", "league"), table + noise, sigma)


def target(table: np.ndarray, **options: float) -> Target:
    domain = Domain(("team", "league"), table.shape)
    return joined_targets(domain, [noisy(table, **options)])[0]


class TestFound:
    def test_a_rule_leaves_one_cell_for_each_code(self) -> None:
        outside = cells_outside_rule(target(counts()))

        assert outside is not None
        assert not outside[np.arange(TEAMS), LEAGUE].any()
        # A team whose other cells hold two deviations of noise by chance is left, which is one in 44.
        assert outside.any(axis=1).sum() >= TEAMS - 8

    def test_it_is_found_in_either_order_of_columns(self) -> None:
        one = target(counts())
        other = Target(one.clique[::-1], one.mean.T, one.weight.T, one.noise)

        first, second = cells_outside_rule(one), cells_outside_rule(other)

        assert first is not None
        assert second is not None
        assert np.array_equal(first, second.T)

    def test_codes_that_break_it_are_left_as_they_are(self) -> None:
        table = counts()
        # Two teams that were merged, as is seen, and one that noise hides.
        table[0], table[1] = [100, 0, 100, 0], [20, 20, 0, 0]

        outside = cells_outside_rule(target(table))

        assert outside is not None
        assert not outside[:2].any()

    def test_a_code_that_nothing_clear_goes_with_is_left(self) -> None:
        table = np.column_stack([counts(), np.full(TEAMS, 4.0)])

        outside = cells_outside_rule(target(table))

        assert outside is not None
        assert not outside[:, -1].any()


class TestNotFound:
    def test_where_a_fifth_of_the_records_breaks_it(self) -> None:
        for seed in range(20):
            assert cells_outside_rule(target(counts(0.27), seed=seed)) is None

    def test_where_columns_do_not_depend_on_each_other_or_noise_hides_all(self) -> None:
        assert cells_outside_rule(target(counts(1.0))) is None
        assert cells_outside_rule(target(counts(size=50.0))) is None

    def test_where_nearly_all_records_have_one_code(self) -> None:
        rare = np.column_stack([np.full(TEAMS, 195.0), np.full(TEAMS, 5.0)])

        assert cells_outside_rule(target(rare)) is None

    def test_without_noise_or_in_other_marginals(self) -> None:
        exact = joined_targets(Domain(("team", "league"), (TEAMS, LEAGUES)), [noisy(counts(), sigma=0.0)])[0]

        assert cells_outside_rule(exact) is None
        single = Measurement(("league",), np.array([900.0, 100]), SIGMA)
        assert cells_outside_rule(joined_targets(Domain(("league",), (2,)), [single])[0]) is None


def test_rows_of_the_last_fit_keep_it() -> None:
    table, columns = counts(), {"team": TEAMS, "league": LEAGUES}
    rng = np.random.default_rng(2)
    alone = [
        Measurement((name,), table.sum(axis=axis) + rng.normal(0, SIGMA, columns[name]), SIGMA)
        for axis, name in [(1, "team"), (0, "league")]
    ]
    model = PGM().over(Domain.from_sizes(columns)).fit([*alone, noisy(table)])

    kept = [
        m.marginals([("team", "league")])[0][np.arange(TEAMS), LEAGUE].sum() / m.total
        for m in (model, model.finished())
    ]

    assert kept[0] < 0.92
    assert kept[1] > 0.97
    one_way = model.finished().marginals([("league",)])[0]
    assert one_way == pytest.approx(table.sum(axis=0), abs=5 * SIGMA)
