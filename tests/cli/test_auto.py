"""The command line says which method `--method auto` chose, and why."""

from __future__ import annotations

import json

import pytest


class TestAuto:
    @pytest.mark.thorough
    def test_synth_and_info_give_the_reason(self, folder, run):
        words = ("--schema", "schema.yaml", "--method", "auto", "--seed", 1, "--save", "r.syn")

        made = run("synth", "people.csv", "-o", "out.csv", *words)
        shown, facts = run("info", "r.syn"), run("info", "r.syn", "--json")

        assert made.code == 0, made.err
        choice = json.loads(facts.out)["statement"]["choice"]
        assert choice["method"] in ("aim", "independent", "margnet", "mst", "private-gsd")
        for ran in (made, shown):
            assert f"{choice['method']}, because {choice['reason']}." in " ".join(ran.out.split())

    def test_its_limits_are_options(self, folder, run):
        words = ("--schema", "schema.yaml", "--method", "auto", "--option", "max_seconds=0.0001")

        planned = run("plan", "people.csv", "--json", *words)

        assert planned.code == 0, planned.err
        names = [step["name"] for step in json.loads(planned.out)["steps"]]
        assert not any("choose a method" in name or "instead" in name for name in names)

    @pytest.mark.thorough
    def test_without_privacy_the_plan_and_the_release_give_the_reason(self, folder, run):
        words = ("--schema", "schema.yaml", "--method", "auto", "--epsilon", "inf")
        limit = ("--option", "max_seconds=0.000001")

        planned, facts = (
            run("plan", "people.csv", *words, *limit),
            run("plan", "people.csv", "--json", *words, *limit),
        )
        made = run("synth", "people.csv", "-o", "out.csv", *words, *limit)

        assert planned.code == made.code == 0, planned.err + made.err
        choice = json.loads(facts.out)["choice"]
        assert choice["method"] == "independent"
        assert "synthpop was left out, as it may take" in choice["reason"]
        assert "independent, because no other method is available" in " ".join(planned.out.split())
        assert "independent, because no other method is available" in " ".join(made.out.split())
