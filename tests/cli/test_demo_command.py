from __future__ import annotations

import json

import numpy as np
import pytest

from syntabula import demo
from syntabula.metrics.reading import compare
from syntabula.metrics.rules import BrokenRules


class TestDemo:
    @pytest.fixture
    def small_census(self, monkeypatch):
        table = demo._table(n_rows=400)
        monkeypatch.setattr(demo, "_table", lambda: table)

    def test_persons_have_several_rows_and_all_of_them_follow_the_rules(self):
        _, frame, schema = demo._table(n_rows=2_000)

        rows = frame["person_id"].value_counts()
        score = BrokenRules()(compare(frame, frame, schema=schema), np.random.default_rng(0))
        assert schema.unit == "person_id"
        assert rows.min() == 1
        assert rows.max() == schema.rows_per_unit == 3
        assert len(schema.rules) == 4
        assert score.facts["of the real rows"] == 0

    @pytest.mark.thorough
    def test_writes_a_table_a_release_and_a_picture(self, small_census, folder, run):
        ran = run("demo", "--out", "results")

        assert ran.code == 0, ran.err
        names = {p.name for p in (folder / "results").iterdir()}
        assert names == {"synthetic.csv", "release.syn", "marginals.png"}
        assert (folder / "results" / "marginals.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert "NOT PRIVATE" in ran.out
        assert "no synthetic row breaks any of the 4 rules" in ran.out
        assert "one person is protected, with all of up to 3 rows" in ran.out

    @pytest.mark.thorough
    def test_json_keeps_the_figures_that_are_not_private_apart(self, small_census, folder, run):
        facts = json.loads(run("demo", "--out", "results", "--json").out)

        assert 0 <= facts["not_private"]["mean_one_way_tvd"] <= 1
        assert "mean_one_way_tvd" not in facts
        assert (facts["n_rules"], facts["n_rows_that_break_a_rule"], facts["rows_per_unit"]) == (4, 0, 3)
