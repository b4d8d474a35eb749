"""Distance to the closest record: brute force, copies and a holdout table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ArgumentError
from syntabula.metrics import closest_record, compare
from syntabula.metrics.closest_record import ClosestRecord
from syntabula.metrics.features import Coordinates

SCHEMA = st.Schema({"x": st.Numeric(0.0, 9.0, nullable=True), "c": st.Categorical(("a", "b"), nullable=True)})


def table(seed: int, n: int = 100) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"x": rng.random(n), "c": rng.choice(["a", "b"], n).astype(object)})


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


class TestClosestRecord:
    def test_it_is_the_percentile_of_the_nearest_distances(self):
        for metric, percentile in [(ClosestRecord(percentile=30), 30), (ClosestRecord(), 5)]:
            real, made = table(1), table(2)
            both = np.concatenate([real["x"], made["x"]])
            x, y = ((f["x"].to_numpy() - both.min()) / np.ptp(both) for f in (real, made))
            differ = made["c"].to_numpy()[:, None] != real["c"].to_numpy()[None]
            distances = np.sqrt(((y[:, None] - x[None]) ** 2 + 2 * differ) / 2).min(axis=1)

            score = metric(compare(real, made, schema=SCHEMA), rng())

            assert score.value == pytest.approx(np.percentile(distances, percentile), abs=1e-6)
            assert score.facts["median"] == pytest.approx(np.median(distances), abs=1e-6)

    def test_tables_are_searched_whole_though_in_pieces(self, monkeypatch):
        tables = compare(table(1), table(2), schema=SCHEMA, holdout=table(3))
        whole = ClosestRecord()(tables, rng())

        monkeypatch.setattr(closest_record, "_PIECE", 7)

        assert ClosestRecord()(tables, rng()) == whole

    def test_the_longer_the_real_table_the_fewer_rows_are_searched(self, monkeypatch):
        # One axis of the number, three of the category: two values, and that of missing cells.
        monkeypatch.setattr(closest_record, "_MOST_PRODUCTS", 4 * 6000)
        monkeypatch.setattr(closest_record, "_LEAST_ROWS", 20)

        rows = [
            ClosestRecord()(compare(table(1, n), table(2), schema=SCHEMA), rng()).facts["rows"]
            for n in (50, 100, 1000)
        ]

        assert rows == [100, 60, 20]

    def test_copies_are_at_distance_zero(self):
        tables = compare(table(1), table(1), schema=SCHEMA, holdout=table(2))

        score = ClosestRecord()(tables, rng())

        assert score.value == 0.0
        assert score.facts["copies"] == 1.0
        assert score.facts["nearer to real than to holdout"] > 0.99

    def test_fresh_records_are_as_near_to_the_holdout_as_to_the_real_table(self):
        # Of 2000 rows, each nearer to one of two tables of one law: 0.5 but for the draw of the two tables.
        tables = compare(table(1, 500), table(2, 2000), schema=SCHEMA, holdout=table(3, 900))

        share = ClosestRecord()(tables, rng()).facts["nearer to real than to holdout"]

        assert 0.4 < share < 0.6

    def test_a_missing_number_is_near_to_missing_numbers_only(self):
        frame = pd.DataFrame({"x": [0.0, 1.0, np.nan], "c": ["a", "a", None]})
        tables = compare(frame, frame, schema=SCHEMA)
        points = Coordinates(tables.bounds, {"c": 3}).of(tables.real)

        distances = np.linalg.norm(points[:, None] - points[None], axis=2)

        assert distances[0, 1] == pytest.approx(np.sqrt(1 / 2))
        assert distances[0, 2] > distances[0, 1]
        assert distances[2, 2] == 0.0

    def test_numbers_out_of_range_are_refused(self):
        for given in [{"percentile": -1}, {"percentile": 101}, {"max_rows": 0}]:
            with pytest.raises(ArgumentError):
                ClosestRecord(**given)
