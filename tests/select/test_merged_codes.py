"""Codes are merged where noise drowns them, and selectors start from that."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import pytest

from syntabula.errors import ArgumentError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import Measurement
from syntabula.marginals.recoding import Recoding
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.tables import Curator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.select.merged_codes import ONE_WAY, MergedStart, coarsen


def coarsened(
    columns: Mapping[str, Sequence[float]],
    sigma: float,
    *,
    pair_sigma: float = 0.0,
    least: float = 4.0,
    ordered: Sequence[str] = (),
) -> Recoding:
    domain = Domain.from_sizes({c: len(counts) for c, counts in columns.items()}, ordered)
    one_way = [Measurement((c,), np.asarray(counts, dtype=float), sigma) for c, counts in columns.items()]
    return coarsen(one_way, domain=domain, pair_sigma=pair_sigma, records_per_noise=least)[0]


class TestGroups:
    def test_large_codes_stay_alone_and_small_ones_join(self) -> None:
        recoding = coarsened({"a": [100, 21, 25, 100, 22]}, sigma=10.0)

        assert recoding.maps["a"].tolist() == [0, 1, 1, 2, 3]

    def test_codes_without_evidence_get_no_share(self) -> None:
        recoding = coarsened({"a": [100, 10, -20, 100, 5]}, sigma=10.0)

        assert recoding.target.size("a") == 2
        assert recoding.shares["a"].tolist() == [1, 0, 0, 1, 0]

    def test_codes_apart_join_no_others(self) -> None:
        one_way = [Measurement(("a",), np.array([500.0, 90.0, 25.0, 35.0, 40.0]), 10.0)]
        domain = Domain.from_sizes({"a": 5}, ordered=["a"], apart={"a": 2})

        recoding, _ = coarsen(one_way, domain=domain, pair_sigma=1000.0, records_per_noise=4.0)

        assert recoding.maps["a"].tolist() == [0, 0, 0, 1, 2]
        assert recoding.target.apart == {"a": 2}

    def test_the_tails_of_a_column_stay_apart(self) -> None:
        recoding = coarsened({"a": [15, 20, 500, 900, 500, 20, 15]}, sigma=10.0)

        groups = recoding.maps["a"]
        assert groups[0] == groups[1] != groups[-1] == groups[-2]

    @pytest.mark.parametrize(
        ("counts", "groups"),
        [
            pytest.param(
                [500, 25, 40, 500, 25, 500], [0, 1, 1, 2, 3, 3], id="a large code joins those before it"
            ),
            pytest.param(
                [90, 25, 500, 500, 25, 80, 90],
                [0, 0, 1, 2, 3, 3, 4],
                id="the smaller group beside takes them",
            ),
            pytest.param(
                [500, 25, 400, 10, 40, 500], [0, 2, 1, 2, 3, 4], id="a heavy one among small ones stays alone"
            ),
            pytest.param([25, 500, 500, 25], [0, 1, 2, 3], id="the tails stay apart though each is small"),
        ],
    )
    def test_runs_of_an_ordered_column_are_of_neighbours(self, counts: list[int], groups: list[int]) -> None:
        recoding = coarsened({"a": counts}, sigma=10.0, ordered=["a"])

        found = recoding.maps["a"].tolist() if recoding.maps else list(range(len(counts)))
        assert found == groups

    def test_without_noise_all_codes_stay(self) -> None:
        assert not coarsened({"a": [0, 0, 3, 1]}, sigma=0.0).maps

    def test_counts_below_zero_end_in_one_group(self) -> None:
        assert coarsened({"a": [-3, -2, -8]}, sigma=10.0).target.size("a") == 1

    def test_a_pair_is_merged_until_its_cells_hold_more_than_their_noise(self) -> None:
        even = {"a": [100.0] * 100, "b": [100.0] * 100}

        groups = coarsened(even, sigma=1.0, pair_sigma=10.0, ordered=["a", "b"]).target.sizes

        # 10,000 records are 1,000 times the noise: of m groups, a cell of m^2 holds .65 m times the noise for m = 11.5.
        assert all(10 <= size <= (1000 / 0.65) ** (1 / 3) for size in groups)

    def test_a_cell_holds_at_least_so_many_times_its_noise(self) -> None:
        even = {"a": [100.0] * 100, "b": [100.0] * 100}

        groups = coarsened(even, sigma=1.0, pair_sigma=10.0, least=20.0, ordered=["a", "b"]).target.sizes

        # 10,000 records over 200 a cell: 50 cells, 7 x 7.
        assert all(6 <= size <= math.sqrt(50) for size in groups)

    def test_more_noise_leaves_fewer_groups(self) -> None:
        even = {"a": [100.0] * 100, "b": [100.0] * 100}

        sizes = [coarsened(even, sigma=1.0, pair_sigma=s).target.size("a") for s in (0.001, 0.1, 1, 10, 100)]

        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] == 100
        assert sizes[-1] >= 3

    def test_small_columns_keep_their_codes(self) -> None:
        table = {"wide": [100.0] * 100, "two": [5000.0] * 2, "three": [3333.0] * 3}

        sizes = coarsened(table, sigma=1.0, pair_sigma=100.0).target

        assert (sizes.size("two"), sizes.size("three")) == (2, 3)
        assert sizes.size("wide") < 20

    def test_among_small_columns_a_pair_of_ordered_ones_is_merged_by_its_own_cells(self) -> None:
        wide, table = [100.0] * 100, {f"small {i}": [5000.0] * 2 for i in range(5)}
        table |= {"amount": wide, "tip": wide, "place": wide}

        sizes = coarsened(table, sigma=1.0, pair_sigma=1.0, ordered=["amount", "tip"]).target

        # 10,000 records are as many times the noise, so that 618 cells may be left, and twice as many of the two; against
        # 2 codes, 100 x 2 are fewer.
        assert all(30 <= sizes.size(name) <= math.sqrt(2 * 618) for name in ("amount", "tip"))
        assert sizes.size("place") == 100

    def test_among_small_columns_an_ordered_one_is_merged_for_one_of_many_codes_without_an_order(
        self,
    ) -> None:
        wide, table = [100.0] * 100, {f"small {i}": [5000.0] * 2 for i in range(5)}

        beside = coarsened(
            table | {"amount": wide, "place": wide}, sigma=1.0, pair_sigma=1.0, ordered=["amount"]
        ).target
        alone = coarsened(table | {"amount": wide}, sigma=1.0, pair_sigma=1.0, ordered=["amount"]).target
        neither = coarsened(table | {"town": wide, "place": wide}, sigma=1.0, pair_sigma=1.0).target

        assert 30 <= beside.size("amount") <= math.sqrt(2 * 618)
        assert beside.size("place") == 100
        assert alone.size("amount") == 100
        assert neither.size("town") == neither.size("place") == 100

    def test_codes_without_an_order_stay_alone_where_their_only_cell_would_stand_out(self) -> None:
        # 10,000 records over noise of 10 leave the median column 11 groups; a team holds 10 or 4 times that noise.
        for n_teams, n_groups in [(100, 100), (250, 125)]:
            table = {"team": [1e4 / n_teams] * n_teams, "day": [100.0] * 100, "age": [100.0] * 100}

            sizes = coarsened(table, sigma=1.0, pair_sigma=10.0, ordered=["day", "age"]).target

            assert sizes.size("day") < 20
            assert sizes.size("team") == n_groups

        measured = [Measurement((c,), np.asarray(counts), 1.0) for c, counts in table.items()]
        domain = Domain.from_sizes({c: len(counts) for c, counts in table.items()}, ["day", "age"])
        recoding, _ = coarsen(measured, domain=domain, pair_sigma=10.0, records_per_noise=4.0, alone=False)
        assert recoding.target.size("team") < 20

    def test_codes_are_merged_where_two_wide_columns_without_an_order_would_drown_each_other(self) -> None:
        # 10,000 cells of one record each, beside noise of 10.
        table = {"team": [100.0] * 100, "town": [100.0] * 100}

        assert max(coarsened(table, sigma=1.0, pair_sigma=10.0).target.sizes) < 20

    def test_pairs_are_refused(self) -> None:
        pair = Measurement(("a", "b"), np.ones((2, 2)), 1.0)

        with pytest.raises(ArgumentError, match="single columns"):
            coarsen([pair], domain=Domain(("a", "b"), (2, 2)), pair_sigma=1.0, records_per_noise=4.0)


class TestShares:
    def test_differences_that_noise_explains_vanish(self) -> None:
        shares = coarsened({"a": [500, 8, 12, 9, 11]}, sigma=10.0).shares["a"]

        assert shares[1:] == pytest.approx([0.25] * 4)

    def test_differences_beyond_noise_stay(self) -> None:
        shares = coarsened({"a": [500, 2, 25, 3, 0]}, sigma=9.0).shares["a"]

        assert shares[2] > 1.5 * shares[1]

    def test_they_sum_to_one_in_each_group(self) -> None:
        counts = np.random.default_rng(0).normal(20, 15, 50)

        recoding = coarsened({"a": counts.tolist()}, sigma=15.0)

        sums = np.bincount(recoding.maps["a"], recoding.shares["a"])
        assert sums == pytest.approx(np.ones(sums.size))


ORDERED = frozenset({"one", "other"})
WIDE = Domain(("one", "other", "flag"), (100, 100, 2), ORDERED)


def curator(sizes: tuple[int, ...]) -> Curator:
    rng = np.random.default_rng(0)
    domain = Domain(WIDE.columns, sizes, ORDERED)
    table = EncodedTable(domain, tuple(rng.integers(0, size, 4000) for size in sizes))
    return Curator(MemoryEngine(table), Ledger(Budget.zcdp(0.1, 1e-6)), SeededNoise(0))


def start(private: Curator, *, least: float | None = 4.0, most: Fraction = Fraction(1, 5)) -> MergedStart:
    return MergedStart.of(
        private,
        share=Fraction(1),
        first=Fraction(1, 20),
        most=most,
        records_per_noise=least,
        n_pairs=3,
    )


def test_where_much_is_merged_columns_are_measured_again() -> None:
    private = curator(WIDE.sizes)

    found = start(private)

    assert found.used == Fraction(1, 5)
    assert [(step, share) for step, _, share in private.ledger.by_step()] == [(ONE_WAY, pytest.approx(0.2))]
    assert found.curator.domain == found.recoding.target
    assert [m.values.shape for m in found.measured] == [(n,) for n in found.recoding.target.sizes]
    assert found.recoding.target.size("one") < 50


def test_else_they_are_measured_once() -> None:
    for sizes, options in [
        ((3, 4, 2), {}),
        (WIDE.sizes, {"least": None}),
        (WIDE.sizes, {"most": Fraction(1, 20)}),
    ]:
        private = curator(sizes)

        found = start(private, **options)

        assert found.used == Fraction(1, 20)
        assert len(private.ledger.entries) == 1


def test_nothing_is_merged_if_switched_off() -> None:
    assert start(curator(WIDE.sizes), least=None).curator.domain == WIDE


def test_what_is_left_decides_how_far_codes_merge() -> None:
    private = curator(WIDE.sizes)
    asked: list[tuple[int, Fraction]] = []
    noise_sigma = private.noise_sigma
    private.noise_sigma = lambda n, share: asked.append((n, share)) or noise_sigma(n, share)

    MergedStart.of(
        private,
        share=Fraction(1),
        first=Fraction(1, 20),
        most=Fraction(1, 5),
        records_per_noise=4.0,
        n_pairs=3,
        measure_share=Fraction(9, 10),
    )

    assert asked == [(3, Fraction(19, 20) * Fraction(9, 10)), (3, Fraction(4, 5) * Fraction(9, 10))]
