from __future__ import annotations

import csv
import json
from datetime import date

import pytest

import syntabula as st
from syntabula.cli.commands.sample import read_where


class TestSample:
    @pytest.mark.thorough
    def test_draws_the_rows_asked_for(self, released, folder, run):
        ran = run("sample", released, "--rows", 12, "-o", "more.csv")

        assert ran.code == 0, ran.err
        assert (folder / "more.csv").read_text().count("\n") == 13

    @pytest.mark.thorough
    def test_no_rows_are_a_table_of_a_header(self, released, folder, run):
        assert run("sample", released, "--rows", 0, "-o", "none.csv").code == 0
        assert (folder / "none.csv").read_text().strip() == "age,sex,job"

    @pytest.mark.thorough
    def test_the_same_seed_gives_the_same_rows(self, released, folder, run):
        for name in ("a.csv", "b.csv"):
            run("sample", released, "--rows", 50, "-o", name, "--seed", 5)

        assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()

    def test_an_existing_file_is_exit_6(self, released, run):
        assert run("sample", released, "-o", "first.csv").code == 6

    @pytest.mark.thorough
    def test_the_release_cannot_be_the_output(self, released, run):
        before = released.read_bytes()

        assert run("sample", released, "-o", released, "--force").code == 2
        assert released.read_bytes() == before

    def test_a_negative_number_of_rows_is_exit_2(self, released, run):
        assert run("sample", released, "--rows", -1, "-o", "x.csv").code == 2

    def test_what_was_written_is_a_remark(self, released, run):
        said = run("sample", released, "--rows", 3, "-o", "x.csv")
        quiet = run("sample", released, "--rows", 3, "-o", "y.csv", "--quiet")

        assert (said.out, said.err) == ("", "wrote 3 rows to x.csv\n")
        assert (quiet.out, quiet.err) == ("", "")

    @pytest.mark.thorough
    def test_json_says_what_was_written(self, released, run):
        ran = run("sample", released, "--rows", 3, "-o", "x.csv", "--json")

        assert json.loads(ran.out) == {"out": "x.csv", "rows": 3, "release": str(released)}


class TestParts:
    @pytest.mark.thorough
    def test_one_part_is_the_file_that_all_have(self, released, folder, run):
        whole = run("sample", released, "-n", 50, "-o", "all.csv", "--parts", 12, "--seed", 5)
        alone = run("sample", released, "-n", 50, "-o", "one.csv", "--part", "7/12", "--seed", 5, "--json")

        assert (whole.code, alone.code) == (0, 0), whole.err + alone.err
        assert json.loads(alone.out)["rows"] == 4
        assert len([*(folder / "all.csv").iterdir()]) == 12
        names = [*(folder / "one.csv").iterdir()]
        assert [path.name for path in names] == ["part-07-of-12.csv"]
        assert names[0].read_bytes() == (folder / "all.csv" / "part-07-of-12.csv").read_bytes()

    @pytest.mark.thorough
    def test_an_existing_part_is_exit_6(self, released, folder, run):
        words = ["sample", released, "-n", 20, "-o", "x.csv", "--seed", 5]
        assert run(*words, "--part", "2/3").code == 0

        ran = run(*words, "--parts", 3)

        assert ran.code == 6
        assert "part-2-of-3.csv' exists already" in ran.err
        assert [path.name for path in (folder / "x.csv").iterdir()] == ["part-2-of-3.csv"]
        assert run(*words, "--parts", 3, "--force").code == 0
        assert run(*words, "--parts", 4, "--force").code == 6

    @pytest.mark.thorough
    def test_what_is_no_part_is_exit_2(self, released, folder, run):
        wrong = [
            ["--part", word] for word in ("7", "7/", "/3", "0/3", "4/3", "a/3", "-1/3", "1/200000", "1/2/3")
        ]
        for words in [*wrong, ["--parts", "0"], ["--parts", "200000"], ["--part", "1/3", "--parts", "4"]]:
            ran = run("sample", released, "-o", "x.csv", *words)
            assert (ran.code, ran.err.count("error:")) == (2, 1), words
        assert run("sample", released, "-o", "x.xml", "--parts", 2).code == 2
        assert not [*folder.glob("x.*")]


class TestConditions:
    def rows(self, path):
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    @pytest.mark.thorough
    def test_all_rows_satisfy_what_is_said_of_several_columns(self, released, folder, run):
        words = ["--where", "age=30..40", "--where", "age=65..", "--where", "job=nurse", "--where", "job="]

        ran = run("sample", released, "-n", 40, "-o", "x.csv", *words)

        assert ran.code == 0, ran.err
        made = self.rows(folder / "x.csv")
        assert len(made) == 40
        assert all(30 <= int(row["age"]) <= 40 or int(row["age"]) >= 65 for row in made)
        assert {row["job"] for row in made} == {"nurse", ""}

    @pytest.mark.thorough
    def test_as_many_rows_as_are_estimated_are_drawn_if_no_number_is_said(self, released, folder, run):
        ran = run("sample", released, "-o", "x.csv", "--where", "sex=f", "--json")

        assert 50 < json.loads(ran.out)["rows"] < 250
        assert {row["sex"] for row in self.rows(folder / "x.csv")} == {"f"}

    @pytest.mark.thorough
    def test_given_rows_keep_their_values(self, released, folder, run):
        (folder / "given.csv").write_text("sex,age\nf,20\nm,90\nf,17\n")

        ran = run("sample", released, "-o", "x.csv", "--given", "given.csv")

        assert ran.code == 0, ran.err
        kept = [(row["age"], row["sex"]) for row in self.rows(folder / "x.csv")]
        assert kept == [("20", "f"), ("90", "m"), ("17", "f")]

    @pytest.mark.thorough
    def test_what_makes_no_sense_is_exit_2(self, released, folder, run):
        cases = [
            (["--where", "age"], "--where 'age' must be COLUMN=VALUE"),
            (["--where", "aeg=3"], "no column 'aeg'; did you mean 'age'"),
            (["--where", "aeg>5"], "no column 'aeg'; did you mean 'age'"),
            (["--where", "aeg >= 5"], "no column 'aeg'; did you mean 'age'"),
            (["--where", "age = 30"], "must be age=VALUE, without spaces"),
            (["--where", "age=3"], "it goes from 17 to 90"),
            (["--where", "sex>f"], "has no order; ask for its values"),
            (["--where", "age>x"], "cannot be read as a number"),
            (["--where", "age=x..y"], "cannot be read as a number"),
            (["--where", "age=40..30"], "the range is empty: swap its ends"),
            (["--where", "sex="], "missing cells of column 'sex', which has none"),
            (["--where", "sex=f..m"], "asks for 'f..m'"),
            (["--given", "given.csv", "--rows", "2"], "leave out --rows"),
            (["--given", "given.csv"], "column 'age' has 1 cell with a value outside the bounds"),
        ]
        for words, message in cases:
            (folder / "given.csv").write_text("age\n99\n")

            ran = run("sample", released, "-o", "x.csv", *words)

            assert ran.code == 2
            assert message in ran.err
            assert ran.err.count("\n") == 1
            assert not (folder / "x.csv").exists()

    def test_given_numbers_with_texts_beside_them_keep_their_spelling(self, tmp_path, run):
        schema = st.Schema({"crp": st.Numeric(0, 9, decimals=1, texts=("n/a",))})
        (tmp_path / "real.csv").write_text("crp\n" + "3.4\nn/a\n" * 20)
        st.Independent(epsilon=1.0, seed=1).fit(tmp_path / "real.csv", schema).save(tmp_path / "a.syn")
        (tmp_path / "given.csv").write_text("crp\n3.40\nn/a\n2.00\n")

        ran = run("sample", tmp_path / "a.syn", "-o", tmp_path / "x.csv", "--given", tmp_path / "given.csv")

        assert ran.code == 0, ran.err
        assert (tmp_path / "x.csv").read_text().split() == ["crp", "3.40", "n/a", "2.00"]

    def test_a_given_table_that_is_not_there_is_exit_3(self, released, run):
        assert run("sample", released, "-o", "x.csv", "--given", "none.csv").code == 3

    def test_the_given_table_cannot_be_the_output(self, released, folder, run):
        (folder / "given.csv").write_text("age\n20\n")

        assert run("sample", released, "-o", "given.csv", "--given", "given.csv", "--force").code == 2


class TestWords:
    schema = st.Schema(
        {
            "a": st.Categorical(("x", "x=y..z|", "b=x")),
            "a=b": st.Categorical(("x", "..")),
            "n": st.Numeric(-5, 5, decimals=1, nullable=True),
            "k": st.Categorical((1, 2)),
            "d": st.Date(date(2020, 1, 1), date(2020, 12, 31)),
            "f": st.Boolean(spelling="yes/no"),
            "t": st.Categorical((True, False)),
            "age": st.Numeric(0, 110, integer=True, nullable=True, missing_as="999"),
            "net": st.Numeric(0, 9_000, decimals=2, format="1.234,50"),
            "pay": st.Numeric(0, 9_000, decimals=2, format="$1,234.50"),
        }
    )

    def test_hold_any_name_and_value(self):
        cases = [
            (["a=x", "a=x=y..z|"], {"a": ["x", "x=y..z|"]}),
            (["a=b=x"], {"a=b": ["x"]}),
            (["a=b=.."], {"a=b": [".."]}),
            (["n=-1.5..2", "n=..-3", "n=", "n=.."], {"n": [(-1.5, 2), (None, -3), None, (None, None)]}),
            (["n=1e0"], {"n": [1]}),
            (["k=2"], {"k": [2]}),
            (["d=2020-01-05..2020-01-06"], {"d": [("2020-01-05", "2020-01-06")]}),
            (["n>1", "n <= 2.5"], {"n": [">1 and <= 2.5"]}),
            (["n>=1", "n="], {"n": [None, ">=1"]}),
            # Numbers as their file writes them, or with a point.
            (["net=1.000,50", "net=1.000", "net=7,5", "net=7.5"], {"net": [1000.5, 1000, 7.5, 7.5]}),
            (["net=1.000..2.000,25", "net>1.000,50"], {"net": [(1000, 2000.25), ">1.000,50"]}),
            (["pay=$1,000.50", "pay=1,000", "pay=1000"], {"pay": [1000.5, 1000, 1000]}),
            (["age=999", "age=99"], {"age": [None, 99]}),
            (["f=yes", "f=no", "t=true"], {"f": [True, False], "t": [True]}),
        ]
        for words, where in cases:
            assert read_where(words, self.schema) == where


class TestInfo:
    def test_shows_method_columns_and_statement(self, released, run):
        ran = run("info", released)

        assert ran.code == 0, ran.err
        assert "method auto" in ran.out
        assert all(name in ran.out for name in ("age", "sex", "job"))
        assert "PRIVACY STATEMENT" in ran.out

    def test_json_can_be_parsed(self, released, run):
        facts = json.loads(run("info", released, "--json").out)

        assert facts["method"] == "auto"
        assert set(facts["schema"]["columns"]) == {"age", "sex", "job"}

    def test_json_lists_the_draws_with_their_parameters(self, released, run):
        statement = json.loads(run("info", released, "--json").out)["statement"]

        assert statement["statement_version"] == 2
        events = [event for step in statement["steps"] for event in step["events"]]
        assert {"gaussian", "exponential"} <= {event["kind"] for event in events}
        assert all(event["sigma"] > 0 for event in events if event["kind"] == "gaussian")
        assert statement["composition"]["spent"] <= statement["composition"]["limit"]

    def test_a_truncated_file_is_exit_6(self, released, run):
        for share in [0.0, 0.9, 0.999]:
            content = released.read_bytes()
            released.write_bytes(content[: int(len(content) * share)])

            ran = run("info", released)

            assert ran.code == 6
            assert ran.err.count("\n") == 1

    def test_a_file_that_is_not_there_or_of_another_kind_is_exit_6(self, folder, run):
        assert run("info", "nothing.syn").code == 6
        assert run("info", "people.csv").code == 6
        assert run("info", folder).code == 6
