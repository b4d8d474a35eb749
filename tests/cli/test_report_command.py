from __future__ import annotations

import json

import pytest


class TestReport:
    @pytest.mark.thorough
    def test_writes_one_page_with_the_statement_of_the_release(self, run, folder, released):
        ran = run(
            "report", "people.csv", "first.csv", "-s", "schema.yaml", "--release", released, "-o", "page.html"
        )

        assert ran.code == 0, ran.err
        html = (folder / "page.html").read_text(encoding="utf-8")
        assert html.startswith("<!doctype html>")
        assert "differentially private" in html
        assert "NOT private" in ran.out
        assert "not covered" in ran.err.lower()

    @pytest.mark.thorough
    def test_takes_what_evaluate_printed(self, run, folder, released):
        shown = run("evaluate", "people.csv", "first.csv", "-s", "schema.yaml", "-m", "tvd-1", "--json")
        (folder / "results.json").write_text(shown.out, encoding="utf-8")

        ran = run(
            "report", "people.csv", "first.csv", "-s", "schema.yaml", "--evaluation", "results.json",
            "-o", "page.html", "--json", "--title", "Ours",
        )  # fmt: skip

        assert ran.code == 0, ran.err
        facts = json.loads(ran.out)
        assert facts["title"] == "Ours"
        assert facts["bytes"] == (folder / "page.html").stat().st_size

    @pytest.mark.thorough
    def test_does_not_replace_a_file_unasked(self, run, folder, released):
        (folder / "page.html").write_text("mine", encoding="utf-8")

        ran = run("report", "people.csv", "first.csv", "-o", "page.html")

        assert ran.code == 6
        assert (folder / "page.html").read_text(encoding="utf-8") == "mine"

    def test_refuses_to_call_a_page_anything_but_html(self, run, folder):
        ran = run("report", "people.csv", "people.csv", "-o", "page.pdf")

        assert ran.code == 2
        assert "must end in .html" in ran.err
        assert not (folder / "page.pdf").exists()

    def test_refuses_results_that_are_none_before_reading_tables(self, run, folder):
        (folder / "results.json").write_text("{}", encoding="utf-8")

        ran = run("report", "absent.csv", "absent.csv", "--evaluation", "results.json", "-o", "page.html")

        assert ran.code == 2
        assert "holds no scores" in ran.err
        assert not (folder / "page.html").exists()

    def test_an_absent_file_of_results_has_the_code_of_files(self, run, folder):
        ran = run("report", "people.csv", "people.csv", "--evaluation", "absent.json", "-o", "page.html")

        assert ran.code == 6
