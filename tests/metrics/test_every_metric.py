"""What every registered score of fidelity and queries must do, whatever it measures."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from syntabula.metrics import Comparison, MetricInfo, Score, compare, list_metrics
from syntabula.table.schema.columns import Categorical, Numeric
from syntabula.table.schema.schema import Schema

METRICS = [info for info in list_metrics() if info.group in ("fidelity", "queries")]
every_metric = pytest.mark.parametrize("info", METRICS, ids=lambda info: info.key)

SEES_ONE_COLUMN_ALONE = {"tvd-1", "ks", "percentile-similarity"}
SEES_MAIN_EFFECTS_ALONE = {*SEES_ONE_COLUMN_ALONE, "pmse"}


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = np.round(rng.normal(40, 10, size=n), 1)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.05, np.nan, age),
            "pay": np.round(age * 2 + rng.normal(size=n), 1),
            "sex": rng.choice(["f", "m", None], size=n, p=[0.5, 0.4, 0.1]),
            "job": np.where(age > 45, "lead", np.where(age > 35, "nurse", "cook")),
        }
    )


def score(info: MetricInfo, tables: Comparison, seed: int = 0) -> Score:
    return info.make()(tables, np.random.default_rng(seed))


def badness(info: MetricInfo, tables: Comparison) -> float:
    value = score(info, tables).value
    return value if info.direction == "lower" else -value


@every_metric
class TestEveryMetric:
    def test_is_what_the_registry_says_and_is_repeated_and_leaves_tables_alone(self, info):
        tables = compare(people(60, 1), people(50, 2))
        before = {n: v.copy() for n, v in {**tables.real.numbers, **tables.synthetic.codes}.items()}

        found = score(info, tables, 7)

        assert score(info, tables, 7) == found
        for name, values in {**tables.real.numbers, **tables.synthetic.codes}.items():
            np.testing.assert_array_equal(values, before[name])
        assert info.make().key == info.key == found.metric
        assert found.direction == info.direction
        assert math.isfinite(found.value)
        assert json.loads(json.dumps(found.to_json()))["metric"] == info.key

    @pytest.mark.thorough
    def test_a_copy_of_the_table_scores_best(self, info):
        frame = people(400, 1)
        tables = compare(frame, frame.copy())

        found = score(info, tables).value

        if info.best is not None:
            assert found == pytest.approx(info.best, abs=1e-9)
        assert badness(info, tables) <= badness(info, tables.halves(np.random.default_rng(0))) + 0.02

    @pytest.mark.thorough
    def test_lost_dependence_scores_worse_than_a_fresh_sample(self, info):
        real = people(800, 1)
        fresh, independent = compare(real, people(800, 2)), compare(real, real)
        independent = independent.histogram(np.random.default_rng(0))

        if info.key in SEES_MAIN_EFFECTS_ALONE:
            pytest.skip("it does not look at several columns at once")
        assert badness(info, fresh) < badness(info, independent)

    @pytest.mark.thorough
    def test_moved_values_score_worse_than_a_fresh_sample(self, info):
        real, fresh = people(200, 1), people(200, 2)
        moved = fresh.assign(pay=fresh["pay"] + 60, job="cook")

        if info.key in ("association", "correlation-similarity"):
            moved = moved.assign(pay=np.random.default_rng(3).permutation(moved["pay"]))
        assert badness(info, compare(real, fresh)) < badness(info, compare(real, moved))

    @pytest.mark.thorough
    def test_tables_of_few_columns_have_a_score_or_a_reason(self, info):
        for columns in [["age"], ["job"], ["age", "pay"], ["sex", "job"]]:
            found = score(info, compare(people(60, 1)[columns], people(50, 2)[columns]))

            assert math.isfinite(found.value) or found.note, columns

    def test_a_single_row_and_constant_and_empty_columns_are_no_trouble(self, info):
        single = score(info, compare(people(1, 1), people(1, 1)))
        assert math.isfinite(single.value) or single.note

        dull = pd.DataFrame({"x": [1.5] * 30, "gone": [math.nan] * 30, "c": ["a"] * 30})

        found = score(info, compare(dull, dull))

        assert (
            found.note
            or (info.best is None and math.isfinite(found.value))
            or found.value == pytest.approx(info.best, abs=1e-9)
        )

    @pytest.mark.thorough
    def test_a_hundred_thousand_categories_need_no_more_memory_than_there_are_rows(self, info):
        labels = tuple(str(i) for i in range(300))
        columns = {"c": Categorical(labels), "d": Categorical(labels), "x": Numeric(0, 9)}
        frame = pd.DataFrame({"c": labels, "d": labels[::-1], "x": np.arange(300) / 100})
        tables = compare(frame, frame, schema=Schema(columns))
        wide = {name: (*values, *range(100_000)) for name, values in tables.categories.items()}
        wider = replace(tables, categories=wide)

        found = score(info, wider)

        assert math.isfinite(found.value) or found.note

    @pytest.mark.thorough
    def test_missing_cells_alone_in_one_table_are_seen(self, info):
        real = people(400, 1)[["pay", "job"]].assign(more=np.random.default_rng(0).random(400))
        gaps = real.assign(pay=real["pay"].mask(np.random.default_rng(1).random(400) < 0.5))

        if info.key in (
            "association",
            "correlation-similarity",
            "percentile-similarity",
            "discriminator-similarity",
        ):
            pytest.skip("it looks at present cells, or is noisy at this size")
        assert badness(info, compare(real, gaps)) > badness(info, compare(real, real))


@pytest.mark.thorough
@pytest.mark.parametrize("key", ["query-error-3", "wasserstein", "record-similarity"])
def test_another_state_draws_another_sample_or_other_queries(key):
    info = next(info for info in METRICS if info.key == key)
    tables = compare(people(3000, 1), people(3000, 2))
    if key == "record-similarity":
        info = replace(info, options={"max_rows": 100})

    assert score(info, tables, 1).value != score(info, tables, 2).value
