from __future__ import annotations

import json

import pytest

from syntabula import _register, register

EVALUATE = ("evaluate", "people.csv", "other.csv", "--metric", "tvd-1", "--metric", "ks", "--workers", 1)


@pytest.fixture
def tables(folder):
    lines = (folder / "people.csv").read_text(encoding="utf-8").splitlines()
    (folder / "other.csv").write_text("\n".join(lines[:201]) + "\n", encoding="utf-8")
    (folder / "unseen.csv").write_text("\n".join([lines[0], *lines[201:]]) + "\n", encoding="utf-8")
    return folder


class TestEvaluate:
    @pytest.mark.thorough
    def test_prints_scores_with_their_scale_and_warns(self, tables, run):
        ran = run(*EVALUATE)

        assert ran.code == 0, ran.err
        assert "lower is better; HALF" in ran.out
        assert (ran.out + ran.err).count("NOT covered by any privacy guarantee") == 1
        assert "tvd-1" in ran.err

    def test_json_holds_scores_facts_and_the_warning(self, tables, run):
        ran = run(*EVALUATE, "--json", "--quiet", "--schema", "schema.yaml", "--holdout", "unseen.csv")

        facts = json.loads(ran.out)
        assert ran.code == 0, ran.err
        assert facts["rows_real"] == 300
        assert facts["rows_holdout"] == 100
        assert [(s["metric"], s["against"]) for s in facts["scores"]] == [
            ("tvd-1", "real"), ("tvd-1", "holdout"), ("ks", "real"), ("ks", "holdout"),
        ]  # fmt: skip
        assert "NOT covered" in facts["warning"]

    @pytest.mark.thorough
    def test_quiet_keeps_the_warning(self, tables, run):
        ran = run(*EVALUATE, "--quiet")

        assert (ran.out + ran.err).count("NOT covered") == 1

    @pytest.mark.thorough
    def test_baselines_are_chosen_by_name_or_left_out(self, tables, run):
        chosen = json.loads(run(*EVALUATE, "--json", "--baseline", "self").out)
        without = json.loads(run(*EVALUATE, "--json", "--baseline", "none").out)

        assert [*chosen["scores"][0]["baselines"]] == ["SELF"]
        assert without["scores"][0]["baselines"] == {}
        assert run(*EVALUATE, "--baseline", "none", "--baseline", "half").code == 2
        assert run(*EVALUATE, "--baseline", "third").code == 2

    @pytest.mark.thorough
    def test_writes_all_numbers_as_a_table(self, tables, run):
        ran = run(*EVALUATE, "--out", "scores.csv")

        assert ran.code == 0, ran.err
        header = (tables / "scores.csv").read_text(encoding="utf-8").splitlines()[0]
        assert header == "metric,group,against,direction,table,part,value"
        assert run(*EVALUATE, "--out", "scores.csv").code == 6
        assert run(*EVALUATE, "--out", "scores.csv", "--force").code == 0
        assert run(*EVALUATE, "--out", "other.csv", "--force").code == 2

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            (("evaluate", "people.csv", "nowhere.csv"), 3),
            (("evaluate", "people.csv", "other.csv", "--metric", "nonsense"), 2),
            (("evaluate", "people.csv", "other.csv", "--seed", "-1"), 2),
            (("evaluate", "people.csv", "other.csv", "--out", "scores.doc"), 2),
            (("evaluate", "people.csv"), 2),
        ],
    )
    def test_failures_are_one_line_with_a_code(self, tables, run, words, code):
        ran = run(*words)

        assert ran.code == code
        assert ran.err.strip().splitlines()[-1].startswith("error: ")

    def test_numbers_can_go_to_a_workbook(self, tables, run):
        pytest.importorskip("openpyxl")

        assert run(*EVALUATE, "--out", "scores.xlsx").code == 0
        assert (tables / "scores.xlsx").read_bytes().startswith(b"PK")

    def test_a_table_of_one_row_is_told_which_baselines_it_has(self, tables, run):
        (tables / "one.csv").write_text("age,sex,job\n30,f,cook\n", encoding="utf-8")

        ran = run("evaluate", "one.csv", "other.csv", "--metric", "tvd-1", "--quiet")
        named = run(
            "evaluate", "one.csv", "other.csv", "--metric", "tvd-1", "--quiet", "--baseline", "HISTOGRAM"
        )

        assert ran.code == 2
        assert "a table of one row has no halves; name others, such as --baseline HISTOGRAM" in ran.err
        assert named.code == 0

    @pytest.mark.thorough
    def test_a_text_among_numbers_is_told_by_its_column_and_not_shown(self, tables, run):
        text = "age,sex,job\nsecretcell,f,cook\n"
        (tables / "other.csv").write_text(text, encoding="utf-8")

        ran = run(*EVALUATE)

        assert ran.code == 0, ran.err
        assert "count as missing, in 'age'" in ran.err
        assert "secretcell" not in ran.err + ran.out

    @pytest.mark.thorough
    def test_errors_show_no_cell(self, tables, run):
        text = "age,sex,job\n1e200,secretcell,cook\n"
        (tables / "other.csv").write_text(text, encoding="utf-8")

        ran = run(*EVALUATE)

        assert ran.code == 3
        assert "secretcell" not in ran.err + ran.out


def test_a_broken_plug_in_leaves_the_other_scores_and_sets_the_exit_code(tables, run, monkeypatch):
    def fail(self, compared, rng):
        raise KeyError("secretcell")

    facts = {"key": "mine", "group": "rows", "direction": "lower", "__call__": fail}
    monkeypatch.setattr(_register, "_of_session", {})
    register("metric")(type("Mine", (), facts))

    ran = run(*EVALUATE, "--metric", "mine", "--json", "--quiet")

    assert ran.code == 8
    assert ran.err.startswith("error: not all scores were computed: the metric 'mine'")
    assert "secretcell" not in ran.err + ran.out
    assert [score["value"] is None for score in json.loads(ran.out)["scores"]] == [True, False, False]


class TestMetrics:
    def test_lists_metrics_with_direction_and_paper(self, run):
        ran = run("metrics")

        assert ran.code == 0, ran.err
        assert "tvd-2" in ran.out
        assert "lower is better" in ran.out

    def test_json_lists_what_evaluate_takes(self, run):
        facts = json.loads(run("metrics", "--json").out)

        assert {"wasserstein", "query-error-3"} <= {metric["key"] for metric in facts}
