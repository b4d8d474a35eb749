from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from syntabula.errors import ArgumentError
from syntabula.metrics import compare, total_variation
from syntabula.metrics.total_variation import TotalVariation

RNG = np.random.default_rng(0)


def random_table(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.1, np.nan, x),
            "c": np.where(x > 0, "a", rng.choice(["b", "c"], size=n)),
            "d": rng.choice(["u", "v", None], size=n),
        }
    )


def by_counting(real: pd.DataFrame, synthetic: pd.DataFrame, way: int) -> float:
    """Total variation as tab_bench's authors compute it: by counting tuples; missing is a value."""
    joined = pd.concat([real, synthetic])["x"]
    low, high = joined.min(), joined.max()

    def coded(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(x=np.round(99 * (frame["x"] - low) / (high - low))).astype(object)

    def value(x: object) -> object:
        return None if pd.isna(x) else x

    distances = []
    for columns in itertools.combinations(real.columns, way):
        counts = [
            Counter(tuple(map(value, row)) for row in coded(f)[[*columns]].itertuples(index=False))
            for f in (real, synthetic)
        ]
        cells = set(counts[0]) | set(counts[1])
        gaps = [abs(counts[0][c] / len(real) - counts[1][c] / len(synthetic)) for c in cells]
        distances.append(sum(gaps) / 2)
    return float(np.mean(distances))


class TestTotalVariation:
    def test_equals_counting_tuples(self):
        for way in [1, 2, 3]:
            real, synthetic = random_table(300, 1), random_table(170, 2)

            score = TotalVariation(way=way)(compare(real, synthetic), RNG)

            assert score.value == pytest.approx(by_counting(real, synthetic, way), abs=1e-12)
            assert len(score.details) == {1: 3, 2: 3, 3: 1}[way]

    def test_is_one_for_tables_that_share_nothing(self):
        real, synthetic = pd.DataFrame({"c": ["a", "b"]}), pd.DataFrame({"c": ["y", None]})

        assert TotalVariation(way=1)(compare(real, synthetic), RNG).value == 1.0

    def test_a_missing_cell_is_a_value(self):
        real, synthetic = pd.DataFrame({"x": [0.5, None]}), pd.DataFrame({"x": [0.5, 0.5]})

        assert TotalVariation(way=1)(compare(real, synthetic), RNG).value == 0.5

    def test_is_the_same_however_cells_are_counted(self, monkeypatch):
        tables = compare(random_table(300, 1), random_table(170, 2))
        monkeypatch.setattr(total_variation, "DENSE_CELLS_PER_ROW", 10**6)
        counted = TotalVariation(way=3)(tables, RNG).value

        monkeypatch.setattr(total_variation, "DENSE_CELLS", 1)

        assert TotalVariation(way=3)(tables, RNG).value == pytest.approx(counted, abs=1e-15)

    def test_cells_beyond_64_bits_are_told_apart(self):
        codes = np.arange(200, dtype=np.uint32)
        wide = [(codes, codes[::-1].copy())] * 3
        apart = [*wide, (np.zeros(200, np.uint8), np.repeat([0, 1], 100).astype(np.uint8))]

        sizes = [2**30] * 3

        assert total_variation.total_variation(wide, sizes) == 0.0
        assert total_variation.total_variation(apart, [*sizes, 2]) == pytest.approx(0.5)

    def test_narrow_tables_have_narrower_marginals(self):
        frame = pd.DataFrame({"c": ["a", "b"]})

        assert [*TotalVariation(way=3)(compare(frame, frame), RNG).details] == [("c",)]

    def test_named_marginals_are_compared_in_place_of_all(self):
        tables = compare(random_table(300, 1), random_table(170, 2))
        wanted = (("c", "d"), ("x", "c", "d"))

        score = TotalVariation(cliques=wanted)(tables, RNG)

        alone = [
            TotalVariation(way=way)(tables, RNG).details[c] for way, c in ((2, ("c", "d")), (3, wanted[1]))
        ]
        assert dict(score.details) == dict(zip(wanted, alone, strict=True))
        with pytest.raises(ArgumentError, match="column 'nobody', which the tables do not have"):
            TotalVariation(cliques=[["c", "nobody"]])(tables, RNG)

    def test_options_out_of_range_are_refused(self):
        for options in [{"way": 0}, {"levels": 1}, {"cliques": ["ab"]}]:
            with pytest.raises(ArgumentError):
                TotalVariation(**options)
