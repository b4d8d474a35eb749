"""`syntabula bench` lists, runs, shows and compares studies."""

from __future__ import annotations

import json

import pytest

MINE = """\
title: Which method for people?
datasets: [people.csv]
methods: [independent, mst, SELF]
epsilons: [1, 5]
scores: [tvd-1]
target: age
"""


@pytest.fixture
def mine(folder):
    (folder / "mine.yaml").write_text(MINE)
    return folder


class TestList:
    @pytest.mark.thorough
    def test_it_names_studies_and_what_is_not_run(self, run):
        text, facts = run("bench", "list"), run("bench", "list", "tab_bench", "--json")

        assert (text.code, facts.code) == (0, 0), text.err
        assert "discretization-f8" in text.out
        by_name = {entry["name"]: entry for entry in json.loads(facts.out)}
        assert by_name["tab_bench-t1"]["cells"] > 100
        assert by_name["tab_bench-t2"]["why_not"]


class TestRun:
    @pytest.mark.thorough
    def test_a_study_of_ones_own_runs_shows_and_compares(self, mine, run):
        plan = run("bench", "run", "mine.yaml", "--dry-run")
        ran = run("bench", "run", "mine.yaml", "--workers", 2)
        again = run("bench", "run", "mine.yaml", "--json", "--quiet")
        shown = run("bench", "show", "mine.yaml", "--page", "p.html", "--parquet", "p.parquet")
        (mine / "other.jsonl").write_text((mine / "mine.jsonl").read_text())
        compared = run("bench", "compare", "mine.jsonl", "other.jsonl", "--json")

        for done in (plan, ran, again, shown, compared):
            assert done.code == 0, done.err
        assert "5 cells, of which 0 are known and 5 would run" in plan.out
        assert not (mine / "dry.jsonl").exists()
        assert "5/5" in ran.err
        assert "results are in 'mine.jsonl'" in ran.err
        assert ran.out.count("people.csv") == 5
        facts = json.loads(again.out)
        assert {row["label"] for row in facts["rows"]} == {"independent", "mst", "SELF"}
        assert (mine / "p.html").read_text().startswith("<!doctype html>")
        assert (mine / "p.parquet").stat().st_size > 100
        changes = [(d["first"], d["second"]) for d in json.loads(compared.out) if d["score"] == "tvd-1"]
        assert changes
        assert all(first == second for first, second in changes)

    @pytest.mark.thorough
    def test_a_quick_study_is_small_and_has_a_store_of_its_own(self, mine, run):
        ran = run("bench", "run", "mine.yaml", "--quick")

        assert ran.code == 0, ran.err
        assert (mine / "mine-quick.jsonl").read_text().count("\n") == 3

    def test_a_store_of_the_other_size_is_named_where_there_is_none(self, mine, run):
        (mine / "mine-quick.jsonl").touch()
        whole, quick = run("bench", "show", "mine.yaml"), run("bench", "show", "mine.yaml", "--quick")
        (mine / "mine-quick.jsonl").rename(mine / "mine.jsonl")
        other = run("bench", "show", "mine.yaml", "--quick")

        assert whole.code == other.code == 6
        shown = "show that with `syntabula bench show mine.yaml"
        assert f"there is no store 'mine.jsonl', but 'mine-quick.jsonl'; {shown} --quick`" in whole.err
        assert f"there is no store 'mine-quick.jsonl', but 'mine.jsonl'; {shown}`" in other.err
        assert "there is no store" not in quick.err

    def test_an_infinite_budget_in_another_spelling_is_told_the_right_one(self, mine, run):
        (mine / "mine.yaml").write_text(MINE.replace("[1, 5]", "[1, .inf]"))

        ran = run("bench", "run", "mine.yaml", "--dry-run")

        assert ran.code != 0
        assert "write a finite number, or inf for an infinite epsilon" in ran.err

    def test_mistakes_are_one_sentence(self, mine, run):
        for words, code, message in [
            (("run", "tab_bench-t99"), 2, "there is no study 'tab_bench-t99'; did you mean"),
            (("run", "tab_bench-t2"), 2, "tab_bench-t2 (Sizes of the tables) is not run:"),
            (
                ("run", "none.yaml"),
                6,
                "cannot use the file 'none.yaml': No such file or directory; check the path",
            ),
            (("run", "mine.yaml", "--store", "mine.csv"), 2, "must end in .jsonl"),
            (("run", "mine.yaml", "--store", "none/mine.jsonl"), 6, "does not exist; make it first"),
            (("run", "mine.yaml", "--workers", "0"), 2, "--workers must be an integer of at least 1"),
            (("run", "mine.yaml", "--seconds", "-1"), 2, "seconds must be a finite number above 0"),
            (("show", "mine.yaml"), 6, "make it with `syntabula bench run mine.yaml`"),
            (("compare", "a.jsonl", "b.jsonl"), 6, "there is no store 'a.jsonl'"),
            (("lst",), 2, "lst"),
        ]:
            ran = run("bench", *words)

            assert ran.code == code
            assert message in ran.err
            assert ran.err.count("\n") == 1

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("memry_mb: 5", "no field 'memry_mb'; did you mean 'memory_mb'?"),
            ("memory_mb: lots", "error: memory_mb must be a number of megabytes"),
            ("target: 3", "error: target must be the name of a column, or null; got 3"),
        ],
    )
    def test_a_field_of_the_file_is_named_as_it_is_written(self, mine, run, line, message):
        (mine / "mine.yaml").write_text(f"{MINE.replace('target: age', '')}{line}\n")

        ran = run("bench", "run", "mine.yaml", "--dry-run")

        assert ran.code == 2
        assert message in ran.err
        assert "--" not in ran.err

    def test_an_option_of_the_command_line_is_named_as_such(self, mine, run):
        ran = run("bench", "run", "mine.yaml", "--memory", "-1")

        assert ran.err.startswith("error: --memory must be")

    def test_a_run_in_which_no_cell_succeeds_has_an_exit_code_of_its_own(self, mine, run):
        (mine / "short.yaml").write_text("datasets: [census@80]\nmethods: [independent]\nseconds: 0.01\n")
        (mine / "none.yaml").write_text("datasets: [none.csv]\nmethods: [independent]\n")

        cut, absent = run("bench", "run", "short.yaml"), run("bench", "run", "none.yaml")

        assert (cut.code, absent.code) == (8, 8)
        assert "error: no cell of 'short' has a result; cut off: not done in 0.01 s" in cut.err
        assert "error: no cell of 'none' has a result; there is no file 'none.csv'" in absent.err
        # Nothing is left to run, and what was run has no result.
        assert run("bench", "run", "short.yaml", "--dry-run").code == 8
        assert "1 row (" in cut.out
        assert "): cut off" in cut.out

    def test_a_dry_run_without_any_table_says_where_it_looked_and_ends_as_a_run_would(
        self, mine, run, monkeypatch
    ):
        monkeypatch.setenv("SYNTABULA_DATA", str(mine))
        (mine / "named.yaml").write_text("datasets: [insurance]\nmethods: [independent]\n")
        (mine / "none.yaml").write_text("datasets: [none.csv]\nmethods: [independent]\n")
        (mine / "some.yaml").write_text("datasets: [none.csv, people.csv]\nmethods: [independent]\n")

        named, none, some = (run("bench", "run", f"{n}.yaml", "--dry-run") for n in ("named", "none", "some"))

        assert (named.code, none.code, some.code) == (8, 8, 0)
        assert (
            f"'insurance' is left out: dataset 'insurance' is not in {str(mine)!r} (SYNTABULA_DATA)"
            in named.out
        )
        assert "error: no cell of 'named' has a result; dataset 'insurance' is not in" in named.err
        for ran in (none, some):
            assert f"there is no file 'none.csv' in {str(mine)!r}; correct its path" in ran.out
        assert not [*mine.glob("*.jsonl")]

    def test_a_file_that_is_no_store_is_left_as_it_is(self, mine, run):
        (mine / "mine.jsonl").write_text("my notes\n")

        ran = run("bench", "run", "mine.yaml")

        assert ran.code == 6
        assert "line 1 of the store" in ran.err
        assert (mine / "mine.jsonl").read_text() == "my notes\n"
