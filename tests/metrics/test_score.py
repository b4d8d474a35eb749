from __future__ import annotations

import json
import math

import pytest

from syntabula.errors import ArgumentError
from syntabula.metrics import Score, describe_metric, list_metrics


class TestScore:
    def test_says_its_direction_and_its_scale(self):
        score = Score(metric="m", value=0.02, direction="lower")

        shown = str(score.with_baselines({"HALF": 0.01, "HISTOGRAM": 0.19}))

        assert shown == "0.02, lower is better; HALF 0.01, HISTOGRAM 0.19"

    def test_is_the_mean_of_its_parts_and_knows_the_worst(self):
        parts = {("a",): 0.1, ("b",): 0.3, ("c",): 0.2}

        score = Score.mean("m", parts, direction="lower")

        assert score.value == pytest.approx(0.2)
        assert score.worst(2) == [(("b",), 0.3), (("c",), 0.2)]
        assert Score.mean("m", parts, direction="higher").worst(1) == [(("a",), 0.1)]

    def test_no_part_is_worst_where_all_read_the_same(self):
        for values, worst in [
            ((0.0, 0.0), None),
            ((0.0, 1.23e-33), None),
            ((0.5, 0.5 + 1e-12), None),
            ((0.0, 0.1), (("1",), 0.1)),
            ((0.1, math.nan), None),
            ((0.1,), None),
            ((), None),
        ]:
            parts = {(str(place),): value for place, value in enumerate(values)}

            assert Score.mean("m", parts, direction="lower").worst_part == worst

    def test_what_is_0_but_for_rounding_reads_as_0(self):
        score = Score(metric="m", value=1.23e-33, direction="lower")

        assert str(score.with_baselines({"HALF": 1e-17, "SELF": math.nan})) == (
            "0, lower is better; HALF 0, SELF no value"
        )

    def test_without_parts_it_has_no_value_and_says_why(self):
        score = Score.mean("m", {}, direction="lower", needed="no numeric column")

        assert math.isnan(score.value)
        assert str(score) == "no value: no numeric column"

    def test_json_holds_no_number_that_is_none(self):
        score = Score(metric="m", value=math.nan, direction="higher", details={("a", "b"): math.inf})

        facts = json.loads(json.dumps(score.to_json(), allow_nan=False))

        assert facts["value"] is None
        assert facts["details"] == [{"of": ["a", "b"], "value": None}]

    def test_a_direction_is_one_of_two(self):
        with pytest.raises(ArgumentError, match="direction"):
            Score(metric="m", value=0.0, direction="up")


class TestRegistry:
    def test_no_key_is_taken_twice(self):
        keys = [info.key for info in list_metrics()]

        assert len(set(keys)) == len(keys)

    def test_an_unknown_metric_is_refused(self):
        with pytest.raises(ArgumentError, match="there is no metric 'nonsense'"):
            describe_metric("nonsense")
