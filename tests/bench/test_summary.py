from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from syntabula.bench import Binning, Candidate, Record, Store, Study, compare, export_parquet, summarize
from syntabula.bench.cell import Cell
from syntabula.bench.collection import list_studies
from syntabula.bench.runner import Work
from syntabula.bench.study_fields import ALL_TABLES, Reported
from syntabula.bench.timing import Timing
from syntabula.bench.words import (
    aligned,
    compared,
    duration,
    listed,
    over_tables,
    planned,
    problems,
    shown_scores,
    table,
)
from syntabula.report.study_page import make_study_page
from syntabula.report.study_plots import COLOURS, study_figures

STUDY = Study(
    name="ours",
    datasets=("bank", "census"),
    methods=("mst", "aim", "SELF"),
    seeds=2,
    scores=("tvd-2", "percentile-similarity"),
    reported=(
        Reported(
            paper="tab_bench",
            table="Table 1",
            scores={"tvd-2": "fidelity_error_tvd"},
            methods={"aim": "AIM", "SELF": "Ground Truth"},
            datasets={"bank": "Bank"},
        ),
    ),
    finding="AIM leads.",
)
VALUES = {"mst": 0.3, "aim": 0.1, "SELF": 0.05}


def records(study: Study = STUDY, *, shift: float = 0.0, version: str = "1.0") -> dict[str, Record]:
    """Return results in which AIM is closer than MST, and the second seed is 0.02 above the first."""
    found = {}
    for cell in study.cells:
        value = VALUES[cell.method] + 0.02 * cell.seed + shift
        found[cell.key] = Record(
            study=study.name,
            cell=cell,
            status="done",
            scores={"tvd-2": value, "percentile-similarity": 1 - value},
            facts={"fit_seconds": 2.0, "epsilon_spent": 0.9},
            seconds=3.0,
            processor_seconds=2.5,
            peak_mb=100.0,
            version=version,
            machine={"processor": "P", "processors": 2, "memory_gb": 8, "python": "3.11"},
        )
    return found


class TestSummary:
    def test_rows_have_mean_spread_rank_and_the_papers_figure(self) -> None:
        summary = summarize(STUDY, records())
        rows = {(row.dataset, row.label): row for row in summary.rows}
        aim = rows["bank", "aim"]

        assert aim.means["tvd-2"] == pytest.approx(0.11)
        assert aim.spreads["tvd-2"] == pytest.approx(math.sqrt(2) * 0.01)
        assert (aim.ranks["tvd-2"], aim.ranks["percentile-similarity"]) == (1.0, 1.0)
        assert rows["bank", "mst"].ranks == {"tvd-2": 2.0, "percentile-similarity": 2.0}
        assert aim.paper == {"tvd-2": 0.09}
        assert rows["census", "aim"].paper == {}
        assert (aim.n, aim.n_wanted, aim.fit_seconds, aim.epsilon_spent) == (2, 2, 2.0, 0.9)

    def test_tables_of_known_quality_have_no_rank_and_the_papers_figure_for_all_budgets(self) -> None:
        (row,) = [r for r in summarize(STUDY, records()).rows if r.label == "SELF" and r.dataset == "bank"]

        assert row.ranks == {}
        assert row.epsilon == math.inf
        assert "tvd-2" in row.paper

    def test_what_tuning_gains_is_shown_beside_its_score_and_higher_is_better(self) -> None:
        found = {
            key: replace(r, scores={"tvd-2": 0.5, "gain of tvd-2 %": 100 * r.scores["tvd-2"], "other": 1.0})
            for key, r in records().items()
        }

        summary = summarize(STUDY, found)

        assert shown_scores(summary) == ["tvd-2", "gain of tvd-2 %"]
        assert summary.better("gain of tvd-2 %") == "higher is better"

    @pytest.mark.parametrize("score", ["discriminator-similarity auc", "dcr nearer [learned]"])
    def test_a_part_that_is_best_at_a_half_is_ranked_by_its_distance_from_it(self, score: str) -> None:
        near = {"mst": 0.45, "aim": 0.6, "SELF": 0.5}
        drawn = replace(STUDY.figure, scores=(score,))
        study = replace(STUDY, scores=(score.partition(" ")[0],), figure=drawn, reported=())
        found = {key: replace(r, scores={score: near[r.cell.method]}) for key, r in records(study).items()}

        summary = summarize(study, found)
        rows = [row for row in summary.rows if row.dataset == "bank" and row.ranks]

        assert [(row.label, row.ranks[score]) for row in rows] == [("mst", 1.0), ("aim", 2.0)]
        assert summary.better(score) == "nearer to 0.5 is better"

    def test_equal_rows_share_a_rank(self) -> None:
        found = records()
        same = {key: replace(r, scores={"tvd-2": 0.5}) for key, r in found.items()}

        ranks = [row.ranks["tvd-2"] for row in summarize(STUDY, same).rows if row.ranks]

        assert ranks == [1.5] * 4

    def test_the_best_row_of_a_table_comes_first_and_rows_without_result_last(self) -> None:
        found = {
            key: r
            for key, r in records().items()
            if not (r.cell.method == "aim" and r.cell.dataset == "bank")
        }

        rows = [row for row in summarize(STUDY, found).rows if row.epsilon == 1.0]

        assert [(row.dataset, row.label, row.n) for row in rows] == [
            ("bank", "mst", 2),
            ("bank", "aim", 0),
            ("census", "aim", 2),
            ("census", "mst", 2),
        ]

    def test_tables_and_budgets_of_which_nothing_was_run_are_counted_and_not_shown(self) -> None:
        found = {
            key: r
            for key, r in records().items()
            if (r.cell.dataset, r.cell.method) in (("bank", "aim"), ("bank", "SELF"))
        }

        summary = summarize(STUDY, found)
        text, html = table(summary), make_study_page(summary)

        assert [(row.dataset, row.label, row.n) for row in summary.shown] == [
            ("bank", "aim", 2),
            ("bank", "mst", 0),
            ("bank", "SELF", 2),
        ]
        for shown in (text, html):
            assert "3 of 6 rows are not shown: nothing of their tables and budgets was run" in shown
            assert "0 of 2" in shown
        assert "not shown" not in table(summarize(STUDY, records()))
        assert summarize(STUDY, {}).shown == summarize(STUDY, {}).rows

    def test_average_ranks_count_only_tables_with_all_methods(self) -> None:
        found = {
            key: r
            for key, r in records().items()
            if not (r.cell.method == "aim" and r.cell.dataset == "bank")
        }

        assert summarize(STUDY, records()).average_ranks["tvd-2", 1.0] == {"aim": 1.0, "mst": 2.0}
        assert summarize(STUDY, found).average_ranks["tvd-2", 1.0] == {"aim": 1.0, "mst": 2.0}

    def test_problems_are_told_once_for_each_row(self) -> None:
        found = {
            key: replace(r, status="cut off", reason="not done in 3 s", scores={})
            if r.cell.method == "aim"
            else r
            for key, r in records().items()
        }

        text = table(summarize(STUDY, found))

        assert text.count("cut off: not done in 3 s") == 1
        assert (
            "2 rows (aim on bank at epsilon 1; aim on census at epsilon 1): cut off: not done in 3 s" in text
        )

    def test_a_score_without_value_is_explained(self) -> None:
        facts = {"without_value": {"tvd-2": "no column to compare"}}
        found = {
            key: replace(r, facts=facts) if r.cell.method == "aim" else r for key, r in records().items()
        }

        text = table(summarize(STUDY, found))

        assert (
            "2 rows (aim on bank at epsilon 1; aim on census at epsilon 1): no tvd-2: no column to comp"
            in text
        )

    def test_of_many_rows_with_a_problem_three_are_named(self) -> None:
        study = replace(STUDY, methods=("mst",), epsilons=(0.5, 1.0, 2.0))
        found = {
            key: replace(r, status="failed", reason="no luck", scores={}) for key, r in records(study).items()
        }

        (line,) = problems(summarize(study, found))

        assert line.startswith("6 rows (mst on bank at epsilon 0.5; ")
        assert line.endswith("; and 3 more): failed: no luck")


class TestWords:
    def test_the_table_has_the_papers_figure_in_brackets(self) -> None:
        text = table(summarize(STUDY, records()))

        assert "0.110 ± 0.014 (0.09)" in text
        assert "The paper: AIM leads." in text
        ranks = text.partition("Average ranks over tables:")[2].splitlines()
        assert [line.split()[:3] for line in ranks[2:5]] == [
            ["epsilon", "method", "tvd-2"], ["1", "aim", "1"], ["1", "mst", "2"]
        ]  # fmt: skip

    def test_lengths_of_time_have_two_units(self) -> None:
        assert [duration(s) for s in (4, 59.4, 90, 3600, 5 * 3600 + 120, 500 * 3600)] == [
            "4 s", "59 s", "2 min", "1 h 0 min", "5 h 2 min", "500 h"
        ]  # fmt: skip

    def test_columns_are_aligned(self) -> None:
        assert aligned([["a", "b"], ["long", "c"]]) == "a     b\nlong  c"

    def test_the_list_says_what_is_not_run_and_why(self) -> None:
        text = listed(list_studies("tab_bench"))

        assert "tab_bench-t2" in text
        assert "Not run: " in text

    def test_a_plan_names_hours_and_what_is_missing(self) -> None:
        work = Work(
            study=STUDY,
            cells=STUDY.cells,
            n_known=0,
            missing={"x": "it is not here"},
            timing=Timing(seconds=7200.0, n_run=7, n_measured=2, n_guessed=3),
        )

        text = planned(work, 2)

        assert "12 would run" in text
        assert "about 1 h 0 min with 2 at a time" in text
        assert text.endswith(
            "known from: cells like them in this store (7); measurements of their methods and scores on another machine "
            "(2); a guess (3)"
        )
        assert "'x' is left out: it is not here" in text


class TestRecorded:
    """Figures and tables show what results record, as they show scores."""

    DRAWN = replace(STUDY, figure=replace(STUDY.figure, scores=("fit seconds", "peak MB", "tvd-2")))

    def test_seconds_and_memory_are_printed_once_and_ranked_by(self) -> None:
        found = {
            key: replace(r, facts={"fit_seconds": 9.0 if r.cell.method == "aim" else 4.0 + r.cell.seed})
            for key, r in records(self.DRAWN).items()
        }

        summary = summarize(self.DRAWN, found)
        heads = table(summary).splitlines()[2]

        assert heads.split("  ")[0] == "table"
        assert [heads.count(name) for name in ("fit seconds", "fit s", "peak MB", "MB", "processor s")] == [
            1,
            1,
            1,
            1,
            1,
        ]
        row = next(row for row in summary.rows if (row.dataset, row.label) == ("bank", "mst"))
        assert (row.means["fit seconds"], row.means["peak MB"]) == (4.5, 100.0)
        assert row.spreads["fit seconds"] == pytest.approx(math.sqrt(0.5))
        assert row.ranks["fit seconds"] == 1.0
        assert (summary.main, summary.better("fit seconds")) == ("fit seconds", "lower is better")

    @pytest.mark.thorough
    def test_they_are_drawn(self) -> None:
        html = make_study_page(summarize(self.DRAWN, records(self.DRAWN)))

        assert "<h3>fit seconds, bank</h3>" in html
        assert "<h3>peak MB, bank</h3>" in html

    def test_a_study_that_draws_scores_alone_does_not_have_them(self) -> None:
        assert "fit seconds" not in summarize(STUDY, records()).rows[0].means


@pytest.mark.thorough
def test_means_over_tables_stand_beside_the_papers() -> None:
    place = replace(STUDY.reported[0], datasets={ALL_TABLES: "Bank"})
    study = replace(STUDY, reported=(place,))
    summary = summarize(study, records(study))

    lines = over_tables(summary)

    assert lines[0] == ["epsilon", "method", "tables", "tvd-2", "percentile-similarity"]
    assert ["1", "aim", "2 of 2", "0.11 (0.09)", "0.89"] in lines
    assert "Means over tables:" in table(summary)
    assert "<h3>Means over tables</h3>" in make_study_page(summary)
    assert over_tables(summarize(STUDY, records())) == []
    assert ["1", "aim", "0 of 2", "- (0.09)"] in over_tables(summarize(study, {}))


def test_scores_that_a_table_cannot_have_are_named_before_and_after(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n1,x\n2,y\n")
    rows = str(tmp_path / "rows.csv")
    study = replace(STUDY, datasets=("bank", rows), scores=("tvd-2", "efficacy"), reported=(), finding="")
    line = f"{rows!r} has no column to predict, so it has no efficacy; name one in `target`"
    work = Work(study=study, cells=study.cells, n_known=0, missing={})
    summary = summarize(study, {})

    assert planned(work, 1).splitlines()[1] == line
    assert line in table(summary).splitlines()
    assert "has no column to predict" in make_study_page(summary)
    assert "to predict" not in planned(replace(work, study=STUDY), 1)


def write(path: Path, found: dict[str, Record]) -> Path:
    with Store(path).writing() as writer:
        for record in found.values():
            writer.append(record)
    return path


class TestCompare:
    def test_a_shift_far_beyond_the_spread_is_better_or_worse(self, tmp_path: Path) -> None:
        first = write(tmp_path / "a.jsonl", records())
        second = write(tmp_path / "b.jsonl", records(shift=0.5, version="2.0"))

        found = {(d.dataset, d.label, d.score): d for d in compare(first, second)}

        assert found["bank", "aim", "tvd-2"].verdict == "worse"
        assert found["bank", "aim", "percentile-similarity"].verdict == "worse"
        assert found["bank", "aim", "processor seconds"].verdict == "same"
        assert {d.verdict for d in compare(second, first) if d.score == "tvd-2"} == {"better"}
        assert found["bank", "aim", "tvd-2"].second == pytest.approx(0.61)
        assert "+454" in compared([found["bank", "aim", "tvd-2"]])

    def test_one_seed_is_too_few_to_say(self, tmp_path: Path) -> None:
        study = replace(STUDY, seeds=(0,))
        first, second = (write(tmp_path / f"{n}.jsonl", records(study, shift=n)) for n in (0, 1))

        assert {d.verdict for d in compare(first, second)} == {""}

    def test_rows_that_only_one_store_has_are_left_out(self, tmp_path: Path) -> None:
        first = write(tmp_path / "a.jsonl", records())
        second = write(tmp_path / "b.jsonl", records(replace(STUDY, datasets=("census",))))

        assert {d.dataset for d in compare(first, second)} == {"census"}

    def test_rows_that_differ_in_options_of_the_study_alone_are_compared(self, tmp_path: Path) -> None:
        studies = [replace(STUDY, options={"accounting": accounting}) for accounting in ("gdp", "zcdp")]
        first, second = (write(tmp_path / f"{s.options['accounting']}.jsonl", records(s)) for s in studies)
        both = write(tmp_path / "both.jsonl", records(studies[0]) | records(studies[1]))

        rows = {(d.dataset, d.label) for d in compare(first, second)}

        assert rows == {(name, label) for name in ("bank", "census") for label in ("mst", "aim", "SELF")}
        # Each has its own row there, and the one of the other accounting is no second partner.
        assert len(compare(first, both)) == len(compare(first, second)) == len(compare(both, second))

    def test_which_of_two_rows_is_meant_is_not_guessed(self, tmp_path: Path) -> None:
        studies = [replace(STUDY, options={"holdout": holdout}) for holdout in (0.2, 0.3, 0.4)]
        first = write(tmp_path / "a.jsonl", records(studies[0]))
        second = write(tmp_path / "b.jsonl", records(studies[1]) | records(studies[2]))

        assert compare(first, second) == compare(second, first) == []

    def test_a_part_that_is_best_at_a_half_is_better_nearer_to_it(self, tmp_path: Path) -> None:
        score = "discriminator-similarity auc"
        first, second = (
            write(
                tmp_path / f"{value}.jsonl",
                {key: replace(r, scores={score: value + r.cell.seed / 1000}) for key, r in records().items()},
            )
            for value in (0.4, 0.55)
        )

        assert {d.verdict for d in compare(first, second) if d.score == score} == {"better"}
        assert {d.verdict for d in compare(second, first) if d.score == score} == {"worse"}


class TestExport:
    def test_each_score_of_each_cell_is_a_row(self, tmp_path: Path) -> None:
        import duckdb

        found = records()
        export_parquet([*found.values()], tmp_path / "r.parquet")

        rows = duckdb.sql(
            f"select dataset, label, seed, score, value, epsilon_spent, machine from '{tmp_path / 'r.parquet'}'"
        ).fetchall()

        assert len(rows) == 2 * len(found)
        by_place = {row[:4]: row[4] for row in rows}
        assert by_place["bank", "aim", 1, "tvd-2"] == pytest.approx(0.12)
        assert {row[5] for row in rows} == {0.9}
        assert json.loads(rows[0][6])["processors"] == 2


class TestFigures:
    BUDGETS = replace(STUDY, epsilons=(0.5, 1.0), scores=("tvd-2",), reported=())

    def drawn(self, study: Study, of: Callable[[Cell], float]) -> list[str]:
        found = {
            key: replace(record, scores={"tvd-2": of(record.cell)}) for key, record in records(study).items()
        }
        return [picture for _, picture in study_figures(summarize(study, found))]

    def test_a_method_has_the_same_colour_in_every_panel(self) -> None:
        pictures = self.drawn(
            self.BUDGETS, lambda cell: 0.1 if (cell.dataset == "bank") == (cell.label == "aim") else 0.3
        )

        assert len(pictures) == 2
        for picture in pictures:
            assert picture.index(">mst<") < picture.index(">aim<")
            assert picture.index(COLOURS[0]) < picture.index(COLOURS[1])

    def test_the_budget_is_named_and_long_numbers_are_not_cut_off(self) -> None:
        picture = self.drawn(self.BUDGETS, lambda cell: 0.004 + 0.0005 * (cell.epsilon > 0.5))[0]

        assert ">epsilon<" in picture
        ends = re.findall(r'text-anchor: end[^>]*x="([\d.]+)"[^>]*>([^<]+)<', picture)
        assert max(len(words) for _, words in ends) >= 6
        # A digit of DejaVu Sans is 0.64 of its size wide, the point half of that.
        assert all(float(x) >= 6.4 * (len(words) - 0.5) for x, words in ends)

    def test_methods_at_a_single_budget_have_a_row_each(self) -> None:
        study = replace(
            self.BUDGETS,
            epsilons=(1.0,),
            methods=("mst", Candidate(method="mst", label="second"), "aim", "SELF"),
        )

        picture = self.drawn(study, lambda cell: 0.2)[0]

        places = {
            words: y for y, words in re.findall(r'text-anchor: end[^>]*y="([\d.]+)"[^>]*>([^<]+)<', picture)
        }
        assert [*places] == ["mst", "second", "aim", "SELF"]
        assert len(set(places.values())) == 4

    def test_lines_beyond_the_colours_have_other_dashes_and_the_rest_is_counted(self) -> None:
        methods = tuple(Candidate(method="mst", label=f"m{i}") for i in range(16))
        study = replace(self.BUDGETS, datasets=("bank",), methods=methods, seeds=(0,))

        (picture,) = self.drawn(study, lambda cell: 0.2)

        assert ">2 more in the table<" in picture
        assert ">m13<" in picture
        assert ">m14<" not in picture
        assert "stroke-dasharray" in picture[picture.index(COLOURS[9]) :]


class TestPage:
    @pytest.mark.thorough
    def test_it_has_the_figures_the_table_and_the_source(self) -> None:
        html = make_study_page(summarize(STUDY, records()))

        assert html.startswith("<!doctype html>")
        assert html.count("<svg") == 2 * 2 + 2  # scores by table, and ranks by score
        assert "0.110 ± 0.014 (0.09)" in html
        assert "Chen, Li, Gong, McKenna, Wang" in html
        assert "http" not in html.replace("http-equiv", "")

    @pytest.mark.thorough
    def test_a_name_cannot_write_markup(self) -> None:
        study = replace(STUDY, methods=(Candidate(method="mst", label="<b>bold</b>"),), title="<i>x</i>")

        html = make_study_page(summarize(study, records(study)))

        assert "<b>bold" not in html
        assert "<i>x" not in html

    def test_a_study_without_results_has_a_page(self) -> None:
        html = make_study_page(summarize(STUDY, {}))

        assert "No cell is done yet." in html

    def test_binnings_are_lines_where_the_study_says_so(self) -> None:
        study = Study(
            name="bins",
            task="columns",
            datasets=("controlled_normal@500",),
            methods=("bins",),
            preprocessing=tuple(
                Binning(bins=b, discretizer=d) for d in ("uniform", "kmeans") for b in (5, 20)
            ),
            scores=("query-similarity",),
            figure=replace(STUDY.figure, across="bins", lines="discretizer", panels="epsilon"),
        )
        found = {
            cell.key: Record(study="bins", cell=cell, status="done", scores={"query-similarity": 0.5})
            for cell in study.cells
        }

        html = make_study_page(summarize(study, found))

        assert html.count("<svg") == 1
        assert ">kmeans<" in html
        assert "uniform 20" in html
