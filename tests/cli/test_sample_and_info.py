from __future__ import annotations

import json

import pytest


class TestSample:
    def test_draws_the_rows_asked_for(self, released, folder, run):
        ran = run("sample", released, "--rows", 12, "-o", "more.csv")

        assert ran.code == 0, ran.err
        assert (folder / "more.csv").read_text().count("\n") == 13

    def test_no_rows_are_a_table_of_a_header(self, released, folder, run):
        assert run("sample", released, "--rows", 0, "-o", "none.csv").code == 0
        assert (folder / "none.csv").read_text().strip() == "age,sex,job"

    def test_the_same_seed_gives_the_same_rows(self, released, folder, run):
        for name in ("a.csv", "b.csv"):
            run("sample", released, "--rows", 50, "-o", name, "--seed", 5)

        assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()

    def test_an_existing_file_is_exit_6(self, released, run):
        assert run("sample", released, "-o", "first.csv").code == 6

    def test_the_release_cannot_be_the_output(self, released, run):
        before = released.read_bytes()

        assert run("sample", released, "-o", released, "--force").code == 2
        assert released.read_bytes() == before

    def test_a_negative_number_of_rows_is_exit_2(self, released, run):
        assert run("sample", released, "--rows", -1, "-o", "x.csv").code == 2

    def test_json_says_what_was_written(self, released, run):
        ran = run("sample", released, "--rows", 3, "-o", "x.csv", "--json")

        assert json.loads(ran.out) == {"out": "x.csv", "rows": 3, "release": str(released)}


class TestInfo:
    def test_shows_method_columns_and_statement(self, released, run):
        ran = run("info", released)

        assert ran.code == 0, ran.err
        assert "method mst" in ran.out
        assert all(name in ran.out for name in ("age", "sex", "job"))
        assert "PRIVACY STATEMENT" in ran.out

    def test_json_can_be_parsed(self, released, run):
        facts = json.loads(run("info", released, "--json").out)

        assert facts["method"] == "mst"
        assert set(facts["schema"]["columns"]) == {"age", "sex", "job"}

    @pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
    def test_a_truncated_file_is_exit_6(self, released, run, share):
        content = released.read_bytes()
        released.write_bytes(content[: int(len(content) * share)])

        ran = run("info", released)

        assert ran.code == 6
        assert ran.err.count("\n") == 1

    def test_a_file_that_is_not_there_or_of_another_kind_is_exit_6(self, folder, run):
        assert run("info", "nothing.syn").code == 6
        assert run("info", "people.csv").code == 6
        assert run("info", folder).code == 6
