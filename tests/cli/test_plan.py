from __future__ import annotations

import json

import pandas
import pytest

PLAN = ("plan", "people.csv", "--schema", "schema.yaml")


class TestPlan:
    def test_shows_steps_memory_and_time(self, folder, run):
        ran = run(*PLAN)

        assert ran.code == 0, ran.err
        assert "MB" in ran.out
        assert "share" in ran.out

    def test_needs_no_table_if_there_is_a_schema(self, folder, run):
        (folder / "people.csv").unlink()

        assert run(*PLAN).code == 0
        assert run("plan", "--schema", "schema.yaml").code == 0

    def test_a_csv_file_takes_longer_to_read_than_one_of_stored_types(self, folder, run):
        pandas.read_csv("people.csv").to_parquet("people.parquet")

        text, stored = (
            json.loads(run("plan", f"people.{kind}", *PLAN[2:], "--assume-rows", 1_000_000, "--json").out)
            for kind in ("csv", "parquet")
        )

        assert text["seconds"] > stored["seconds"] + 0.5

    def test_shares_add_up_to_the_whole_budget(self, folder, run):
        ran = run(*PLAN, "--json", "--epsilon", 2)

        facts = json.loads(ran.out)
        assert abs(sum(step["share"] for step in facts["steps"]) - 1) < 1e-9

    def test_takes_the_options_of_synth_and_writes_nothing(self, folder, run):
        ran = run(*PLAN, "-o", "out.csv", "--save", "x.syn", "--rows", 3, "--statement", "s.txt", "--force")

        assert ran.code == 0, ran.err
        assert {p.name for p in folder.iterdir()} == {"people.csv", "schema.yaml"}

    def test_without_a_schema_each_search_for_a_domain_is_a_step(self, folder, run):
        ran = run("plan", "people.csv", "--discretizer", "privtree")

        assert ran.code == 0, ran.err
        assert "find the domain of 'age'" in ran.out
        assert "fit the bins of 'age'" in ran.out

    def test_no_cell_of_a_csv_file_changes_it(self, folder, run):
        before = run("plan", "people.csv")
        with open("people.csv", "a", encoding="utf-8") as file:
            file.write("old,,5\n")

        assert run("plan", "people.csv").out == before.out
        assert before.err == ""

    def test_stored_types_that_it_shows_are_named(self, folder, run):
        pandas.read_csv("people.csv").to_parquet("people.parquet")

        ran = run("plan", "people.parquet")

        assert ran.code == 0, ran.err
        assert "not private unless their stored types are public" in ran.err
        assert "'age', 'sex', 'job'" in ran.err
        assert run("plan", "people.parquet", "--schema", "schema.yaml").err == ""

    @pytest.mark.thorough
    def test_with_some_columns_declared_the_others_are_searched(self, folder, run):
        (folder / "some.yaml").write_text(
            "version: 1\ncolumns: {sex: {kind: categorical, categories: [f, m]}}\nothers: find\n"
        )

        ran = run("plan", "people.csv", "--schema", "some.yaml", "--json")

        assert ran.code == 0, ran.err
        steps = {step["name"]: step["share"] for step in json.loads(ran.out)["steps"]}
        assert {name for name in steps if "type" in name} == {
            "find the type of 'age'",
            "find the type of 'job'",
        }
        assert abs(sum(steps.values()) - 1) < 1e-9
        assert run("plan", "people.csv", "--schema", "some.yaml", "--observed-domain").code == 0
        assert run("plan", "--schema", "some.yaml").code == 2

    def test_neither_schema_nor_table_is_exit_2(self, folder, run):
        assert run("plan").code == 2
        assert run("plan", "--observed-domain").code == 2

    def test_an_observed_domain_is_read_off_the_table(self, folder, run):
        assert run("plan", "people.csv", "--observed-domain").code == 0

    def test_a_wrong_budget_is_exit_2(self, folder, run):
        assert run(*PLAN, "--epsilon", 0).code == 2
