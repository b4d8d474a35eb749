from __future__ import annotations

import itertools

import numpy as np
import pytest

from syntabula.errors import DataError
from syntabula.marginals.domain import Domain
from syntabula.marginals.encoded import EncodedTable
from syntabula.report import marginal_picture
from syntabula.report.marginal_picture import draw_marginals, mean_untied_distance, measure_distances

DOMAIN = Domain(("a", "b", "many"), (2, 3, 120))


def random_table(n_rows: int, seed: int) -> EncodedTable:
    rng = np.random.default_rng(seed)
    return EncodedTable(DOMAIN, tuple(rng.integers(0, size, n_rows) for size in DOMAIN.sizes))


class TestMeasureDistances:
    def test_a_table_has_no_distance_to_itself(self):
        table = random_table(50, 0)

        distances = measure_distances(table, table)

        assert distances.mean_one_way == distances.mean_two_way == 0

    def test_disjoint_tables_have_distance_one(self):
        left = EncodedTable(DOMAIN, tuple(np.zeros(5, dtype=int) for _ in DOMAIN))
        right = EncodedTable(DOMAIN, tuple(np.ones(9, dtype=int) for _ in DOMAIN))

        distances = measure_distances(left, right)

        assert distances.mean_one_way == distances.mean_two_way == 1

    def test_equals_counting_by_hand(self):
        left, right = random_table(40, 1), random_table(25, 2)

        distances = measure_distances(left, right)

        for i, j in itertools.combinations(range(3), 2):
            pairs = [list(zip(t.codes[i].tolist(), t.codes[j].tolist(), strict=True)) for t in (left, right)]
            cells = set(pairs[0]) | set(pairs[1])
            expected = sum(abs(pairs[0].count(c) / 40 - pairs[1].count(c) / 25) for c in cells) / 2
            assert distances.two_way[i, j] == pytest.approx(expected, abs=1e-12)
            assert distances.two_way[j, i] == distances.two_way[i, j]

    def test_other_domains_and_empty_tables_are_refused(self):
        table = random_table(5, 0)

        with pytest.raises(DataError, match="different domains"):
            measure_distances(table, table.project(("a", "b")))
        with pytest.raises(DataError, match="without rows"):
            measure_distances(table, random_table(0, 0))


class TestMeanUntiedDistance:
    def test_tied_columns_are_far_from_their_own_product(self):
        codes = np.array([0, 1] * 10)
        tied = EncodedTable(Domain(("a", "b"), (2, 2)), (codes, codes))

        assert mean_untied_distance(tied, tied) == pytest.approx(0.5)


class TestDrawMarginals:
    @pytest.mark.parametrize("columns", [("a",), ("a", "b", "many")])
    def test_writes_a_picture_for_few_columns(self, tmp_path, columns):
        left, right = (random_table(30, seed).project(columns) for seed in (0, 1))

        distances = draw_marginals(tmp_path / "p.png", left, right, title="MST at epsilon = 1")

        assert (tmp_path / "p.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert distances.columns == columns

    def test_each_column_is_drawn_with_its_own_shares_and_distance(self, tmp_path, monkeypatch):
        left, right = random_table(40, 1), random_table(25, 2)
        drawn = {}

        def watched(axes, column, distance, real, synthetic, labels):
            drawn[column] = distance, real, synthetic

        monkeypatch.setattr(marginal_picture, "_draw_column", watched)

        draw_marginals(tmp_path / "x.png", left, right, title="x")

        assert list(drawn) == ["a", "b", "many"]
        for position, (distance, real, synthetic) in enumerate(drawn.values()):
            size = DOMAIN.sizes[position]
            np.testing.assert_allclose(real, np.bincount(left.codes[position], minlength=size) / 40)
            np.testing.assert_allclose(synthetic, np.bincount(right.codes[position], minlength=size) / 25)
            assert distance == pytest.approx(np.abs(real - synthetic).sum() / 2)

    @pytest.mark.thorough
    def test_more_columns_than_fit_are_still_measured(self, tmp_path):
        domain = Domain.from_sizes({f"column {i}": 4 for i in range(15)})
        table = EncodedTable(domain, tuple(np.arange(8) % 4 for _ in range(15)))

        distances = draw_marginals(tmp_path / "p.png", table, table, title="$ all _ kinds ^ of {signs}")

        assert len(distances.columns) == 15
