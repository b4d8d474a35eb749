from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from syntabula.metrics import compare
from syntabula.report import marginal_picture
from syntabula.report.marginal_picture import draw_marginals, measure_distances


def table(n_rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.choice(["x", "y"], n_rows),
            "b": rng.choice(["u", "v", "w"], n_rows),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n_rows), unit="D"),
            "pay": np.where(rng.random(n_rows) < 0.8, 0.0, rng.normal(30_000, 9_000, n_rows).round(2)),
        }
    )


class TestMeasureDistances:
    def test_a_table_has_no_distance_to_itself(self):
        distances = measure_distances(compare(table(50, 0), table(50, 0)))

        assert distances.mean_one_way == distances.mean_two_way == 0

    def test_equals_counting_by_hand(self):
        left, right = (table(n, n)[["a", "b"]].assign(c=list("pq") * (n // 2)) for n in (40, 26))

        distances = measure_distances(compare(left, right))

        for i, j in itertools.combinations(range(3), 2):
            pairs = [list(zip(t.iloc[:, i], t.iloc[:, j], strict=True)) for t in (left, right)]
            cells = set(pairs[0]) | set(pairs[1])
            expected = sum(abs(pairs[0].count(c) / 40 - pairs[1].count(c) / 26) for c in cells) / 2
            assert distances.two_way[i, j] == pytest.approx(expected, abs=1e-12)
            assert distances.two_way[j, i] == distances.two_way[i, j]


class TestDrawMarginals:
    @pytest.mark.parametrize("columns", [["a"], ["pay"], ["a", "b", "day", "pay"]])
    @pytest.mark.thorough
    def test_writes_a_picture_for_few_columns(self, tmp_path, columns):
        tables = compare(table(30, 0)[columns], table(40, 1)[columns])

        distances = draw_marginals(tmp_path / "p.png", tables, title="MST at epsilon = 1", times=["day"])

        assert (tmp_path / "p.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert distances.columns == tuple(columns)

    @pytest.mark.thorough
    def test_each_column_is_drawn_with_its_own_shares_and_distance(self, tmp_path, monkeypatch):
        left, right = table(400, 1), table(250, 2)
        drawn = {}

        def watched(axes, groups, distance, *, is_time):
            drawn[groups.name] = groups, distance, is_time

        monkeypatch.setattr(marginal_picture, "_draw_column", watched)

        draw_marginals(tmp_path / "x.png", compare(left, right), title="x", times=["day"])

        assert [(name, is_time) for name, (_, _, is_time) in drawn.items()] == [
            ("a", False), ("b", False), ("day", True), ("pay", False),
        ]  # fmt: skip
        groups, distance, _ = drawn["a"]
        real, synthetic = groups.shares()
        for label, p, q in zip(groups.labels, real, synthetic, strict=True):
            assert (p, q) == ((left["a"] == label).mean(), (right["a"] == label).mean())
        assert distance == pytest.approx(np.abs(real - synthetic).sum() / 2)

    @pytest.mark.thorough
    def test_numbers_are_drawn_in_intervals_of_equal_width_and_days_with_their_year(
        self, tmp_path, monkeypatch
    ):
        axes_drawn = {}
        draw = marginal_picture._draw_column

        def watched(axes, groups, distance, *, is_time):
            draw(axes, groups, distance, is_time=is_time)
            axes_drawn[groups.name] = axes, groups

        monkeypatch.setattr(marginal_picture, "_draw_column", watched)
        draw_marginals(tmp_path / "x.png", compare(table(400, 1), table(400, 2)), title="x", times=["day"])

        np.testing.assert_allclose(np.diff(axes_drawn["pay"][1].edges, n=2), 0, atol=1e-6)
        ticks = [label.get_text() for label in axes_drawn["day"][0].get_xticklabels()]
        assert "2024" in ticks
        assert not any(text.isdigit() and int(text) > 10_000 for text in ticks)

    @pytest.mark.thorough
    def test_a_spike_does_not_flatten_the_other_values(self, tmp_path, monkeypatch):
        tops = {}
        draw = marginal_picture._draw_column

        def watched(axes, groups, distance, *, is_time):
            draw(axes, groups, distance, is_time=is_time)
            tops[groups.name] = axes.get_ylim()[1]

        monkeypatch.setattr(marginal_picture, "_draw_column", watched)
        draw_marginals(tmp_path / "x.png", compare(table(4000, 1), table(4000, 2)), title="x", times=["day"])

        assert tops["pay"] < 40

    @pytest.mark.thorough
    def test_more_columns_than_fit_are_still_measured(self, tmp_path):
        frame = pd.DataFrame({f"column {i}": np.arange(8) % 4 for i in range(15)})

        distances = draw_marginals(
            tmp_path / "p.png", compare(frame, frame), title="$ all _ kinds ^ of {signs}"
        )

        assert len(distances.columns) == 15
