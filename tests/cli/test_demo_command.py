from __future__ import annotations

import json

import pytest

from syntabula import datasets, demo


class TestDemo:
    @pytest.fixture
    def small_census(self, monkeypatch):
        table = ("a simulated census", datasets.census(n_rows=400), datasets.schema_of("census"))
        monkeypatch.setattr(demo, "_table", lambda: table)

    @pytest.mark.thorough
    def test_writes_a_table_a_release_and_a_picture(self, small_census, folder, run):
        ran = run("demo", "--out", "results")

        assert ran.code == 0, ran.err
        names = {p.name for p in (folder / "results").iterdir()}
        assert names == {"synthetic.csv", "release.syn", "marginals.png"}
        assert (folder / "results" / "marginals.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert "NOT PRIVATE" in ran.out

    @pytest.mark.thorough
    def test_json_keeps_the_figures_that_are_not_private_apart(self, small_census, folder, run):
        facts = json.loads(run("demo", "--out", "results", "--json").out)

        assert 0 <= facts["not_private"]["mean_one_way_tvd"] <= 1
        assert "mean_one_way_tvd" not in facts
