from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from syntabula.bench import Binning, Candidate, Figure, Study, find_study, read_study
from syntabula.bench.cell import Cell
from syntabula.bench.papers.tab_bench import both_settings
from syntabula.bench.study import study_of
from syntabula.bench.table_names import CODED_ADULT, label_of
from syntabula.bench.table_source import load_table
from syntabula.bench.tasks import TASKS
from syntabula.errors import ArgumentError, BudgetError, SyntabulaError

TEN_LINES = """\
title: Which method for our tables?
datasets: [census@200, wine@200]
methods:
  - mst
  - independent
  - {method: aim, options: {max_rounds: 5}, label: short aim}
  - {method: rap++, preset: tab_bench}
epsilons: [0.5, 1, inf]
preprocessing: [{bins: 20, discretizer: uniform}]
seeds: 2
"""
BASE: dict[str, Any] = {"datasets": ["census@50"], "methods": ["mst"]}
JUNK: tuple[Any, ...] = (
    None, 3, -1, 0, 1.5, True, "zzz", "", "5", [], {}, [3], ["zzz"], [[1]], [None], [True], {"zzz": 1}, {"a": {"b": 1}},
    math.nan,
)  # fmt: skip
TEXTS = ("'zzz'", "''", "'5'")
NUMBERS = ("3", "1.5")
ALLOWED: dict[str, tuple[str, ...]] = {
    "name": ("'zzz'", "'5'"), "title": TEXTS, "finding": TEXTS, "note": TEXTS, "overall": TEXTS, "target": ("None",),
    "epsilons": ("3", "1.5", "[3]"), "preprocessing": ("3", "{}", "[3]"), "binnings": ("{}",), "seeds": ("3", "[3]"),
    "score_options": ("{}",), "options": ("{}",), "seconds": NUMBERS, "memory_mb": NUMBERS, "figure": ("{}",),
    "methods.options": ("{}",), "methods.preset": ("''",), "methods.label": TEXTS,
    "methods.binning": ("None", "3", "{}"), "methods.epsilons": ("3", "1.5", "[]", "[3]"),
    "preprocessing.bins": ("3",), "preprocessing.options": ("{}",), "figure.panels": ("''",), "figure.scores": ("[]",),
    "score_options.tvd-2": ("{}",), "tables.keep": ("[]",), "tables.holdout": ("3",), "tuning.trials": ("3",),
    "disclosure.draws": ("3",),
    "tuning.finalists": ("3", "0"), "tuning.relative": ("True",), "tuning.fits": ("3",), "tuning.spaces": ("{}",),
    "disclosure.records": ("None", "3"), "risks.draws": ("3",),
    "risks.records": ("None", "3"), "membership.target": ("3", "0"), "membership.bins_epsilon": ("3", "0", "1.5"),
    "membership.without": ("[]",),
}  # fmt: skip
"""The values of `JUNK` that a field may have, as Python writes them."""
PLACES = (
    *(f.name for f in fields(Study) if f.name != "reported"),
    *(f"methods.{f.name}" for f in fields(Candidate)),
    *(f"preprocessing.{f.name}" for f in fields(Binning)),
    *(f"figure.{f.name}" for f in fields(Figure)),
    "score_options.tvd-2",
    *(f"{task}.{name}" for task, facts in TASKS.items() for name in facts.options),
)


def planted(place: str, value: Any) -> dict[str, Any]:
    """Return a study with a value in one field, or in a field of one of its parts."""
    part, _, name = place.partition(".")
    if not name:
        return {**BASE, part: value}
    if part in ("methods", "preprocessing"):
        return {**BASE, part: [{**({"method": "mst"} if part == "methods" else {}), name: value}]}
    if part in TASKS:
        score = next(iter(TASKS[part].scores), "tvd-2")
        if part == "membership":
            score = "groundhog"
        return {**BASE, "task": part, "scores": [score], "options": {name: value}}
    return {**BASE, part: {name: value}}


PLAIN = {"name": "s", "datasets": ("census",), "methods": ("mst",)}


class TestStudyFile:
    def test_a_study_of_ten_lines_has_a_cell_for_each_combination(self) -> None:
        study = study_of(TEN_LINES, default_name="ours")

        assert study.name == "ours"
        assert len(study.check().cells) == 2 * 4 * 3 * 2
        assert [c.label for c in study.methods] == ["mst", "independent", "short aim", "rap++ (tab_bench)"]
        assert study.epsilons == (0.5, 1.0, math.inf)
        assert study.preprocessing == (Binning(bins=20, discretizer="uniform"),)

    def test_what_is_unknown_is_named_with_what_is_near(self) -> None:
        for wrong, message in [
            ("datasets: [cencus]\nmethods: [mst]", "there is no dataset 'cencus'; did you mean 'census'"),
            ("datasets: [census]\nmethod: [mst]", "a study has no field 'method'; did you mean 'methods'"),
            ("datasets: [census]", "must have 'methods'"),
            (
                "datasets: [census]\nmethods: [mst]\nscores: [tvd2]",
                "there is no metric 'tvd2'; did you mean 'tvd-2'",
            ),
            ("datasets: [census]\nmethods: [{label: mst}]", "must have a `method`"),
            ("datasets: [census]\nmethods: [mst, mst]", "has the method 'mst' twice"),
            ("datasets: [census]\nmethods: [mst]\nepsilons: [-1]", "epsilons must be numbers above 0"),
            ("datasets: [census]\nmethods: [mst]\nseeds: 0", "seeds must be a number of seeds"),
            ("datasets: [census]\nmethods: [mst]\nagainst: [heldout]", "did you mean 'held out'"),
            (
                "datasets: [census]\nmethods: [mst]\npreprocessing: [{discretizer: privtre}]",
                "discretizer must be one of",
            ),
            ("datasets: [census]\nmethods: [mst]\npreprocessing: [{bins: ric}]", "did you mean 'rice'"),
            (
                "datasets: [census]\nmethods: [mst]\npreprocessing: [{options: {treshold: zero}}]",
                "has no option 'treshold'; did you mean 'threshold'",
            ),
            ("datasets: [census]\nmethods: [mst]\nscore_options: {tvd-2: {wy: 3}}", "has no option 'wy'"),
            ("datasets: [census@1]\nmethods: [mst]", "must have at least 2 rows"),
            (
                "datasets: [insurance@1339]\nmethods: [mst]",
                "'insurance@1339' asks for 1,339 rows, and 'insurance' has 1,338; write insurance for all of them",
            ),
            ("datasets: [census@30001]\nmethods: [mst]", "asks for 30,001 rows, and 'census' has 30,000"),
            ("datasets: [notes.txt]\nmethods: [mst]", "the suffix of 'notes.txt' is not supported"),
            ("datasets: [/]\nmethods: [mst]", "'/' is a folder, and a study reads single files; name one"),
            ("datasets: [bank@1.5]\nmethods: [mst]", "'1.5' rows, which is no whole number"),
            ("datasets: [bank@all]\nmethods: [mst]", "'all' rows, which is no whole number"),
            ("- 1", "must have named fields"),
        ]:
            with pytest.raises(ArgumentError) as caught:
                study_of(wrong, default_name="s")

            assert message in str(caught.value)

    def test_tables_may_have_all_of_their_rows_and_simulated_ones_any_number(self) -> None:
        every = (
            "insurance@1338",
            "census@30000",
            "controlled_normal@20000",
            "points_moons@1000",
            "few.xlsx",
            "few.csv@9999",
        )

        study = Study(name="s", datasets=every, methods=("mst",))  # type: ignore[arg-type]

        assert study.datasets == every

    def test_what_no_cell_could_do_is_said_before_any_runs(self) -> None:
        for planted, message in [
            ("figure: {across: epsilom}", "no across of a figure named 'epsilom'; did you mean 'epsilon'"),
            ("figure: {scores: [tvd2]}", "none of the study's; did you mean 'tvd-2'"),
            ("binnings: {cencus: 20}", "no table in `binnings` 'cencus'; did you mean 'census'"),
            ("split: whole", "the split 'whole' holds no rows out"),
            ("delta: 2", "delta must be a number above 0 and below 1; got 2"),
            ("options: {holdout: 2.5}", "the option holdout must be a fraction of the rows"),
            (
                "{task: membership, scores: [groundhog], options: {shadows: 6}}",
                "an even integer of at least 8",
            ),
            ("{task: disclosure, scores: [mean-disclosure], methods: [BINS]}", "not 'BINS'"),
            ("{task: columns, scores: [query-similarity], methods: [bins]}", "needs a number of bins"),
        ]:
            facts = {**BASE, **yaml.safe_load(planted)}

            with pytest.raises(ArgumentError) as caught:
                study_of(yaml.safe_dump(facts), default_name="s")

            assert message in str(caught.value)

    def test_columns_and_rows_are_looked_up_before_anything_runs(self) -> None:
        for planted, message in [
            (
                "target: zzz",
                "target names the column 'zzz', which 'census@50' has not; its columns are person_id",
            ),
            ("target: educaton", "did you mean 'education'"),
            ("scores: [efficacy]", "the score 'efficacy' needs a column to predict; name it in `target`"),
            ("scores: [broken-rules]", "needs rules of a schema"),
            ("{scores: [affinity], target: sex, split: whole, against: [learned]}", "needs rows held out"),
            ("{task: tuning, options: {space: synmetr}}", "no space 'synmetr'; did you mean 'synmeter'"),
            ("{task: tuning, options: {space: {binz: [3]}}}", "did you mean 'bins'"),
            ("{task: tuning, options: {spaces: {mts: {bins: [3]}}}}", "did you mean 'mst'"),
            ("{task: tuning, options: {spaces: {mst: {binz: [3]}}}}", "did you mean 'bins'"),
            (
                "{task: membership, scores: [groundhog], options: {without: [sexx]}}",
                "the option without names the column 'sexx', which 'census@50' has not; did you mean 'sex'",
            ),
            (
                "{task: membership, scores: [groundhog], options: {target: 50}}",
                "the option target is row 50, counted from 0, but 'census@50' has 50 rows",
            ),
        ]:
            facts = {**BASE, **yaml.safe_load(planted)}

            with pytest.raises(ArgumentError) as caught:
                study_of(yaml.safe_dump(facts), default_name="s").check()

            assert message in str(caught.value)

    @pytest.mark.thorough
    def test_a_target_is_looked_up_in_a_file_and_one_that_is_not_there_is_left_for_the_run(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "t.csv").write_text("age,churned\n1,a\n2,b\n")

        def study(target: str, table: str) -> Study:
            return Study(name="s", datasets=(str(tmp_path / table),), methods=("mst",), target=target)

        study("churned", "t.csv").check()
        study("churnd", "none.csv").check()
        with pytest.raises(ArgumentError, match=r"'churnd'.*did you mean 'churned'"):
            study("churnd", "t.csv").check()

    def test_any_wrong_value_in_any_field_is_said_in_a_sentence(self) -> None:
        """Each field gets values of every kind; what it may be is listed, and all else is an error of ours."""
        for place in PLACES:
            for value in JUNK:
                facts = planted(place, value)
                try:
                    study_of(yaml.safe_dump(facts), default_name="s").check()
                except SyntabulaError:
                    continue
                assert repr(value) in ALLOWED.get(place, ()), (place, value)

    def test_methods_are_checked_before_anything_runs(self) -> None:
        for method, message in [
            ("msst", "there is no method 'msst'; did you mean 'mst'"),
            ("peer:mbi-aimm", "there is no peer 'mbi-aimm'; did you mean 'mbi-aim'"),
            ("self", "write 'SELF'"),
            (
                Candidate(method="aim", options={"max_round": 3}),
                "no option 'max_round'; did you mean 'max_rounds'",
            ),
        ]:
            study = Study(name="s", datasets=("census",), methods=(method,))  # type: ignore[arg-type]

            with pytest.raises(ArgumentError) as caught:
                study.check()

            assert message in str(caught.value)

    def test_a_method_without_a_private_form_needs_its_own_budgets(self) -> None:
        with pytest.raises(BudgetError, match=r"infinite epsilon.*\{method: circuit, epsilons: \[inf\]\}$"):
            Study(name="s", datasets=("census",), methods=("circuit",)).check()

        row = Candidate(method="circuit", epsilons=(math.inf,))
        study = Study(name="s", datasets=("census",), methods=("mst", row), epsilons=(1, 2)).check()

        found = [(cell.method, cell.epsilon) for cell in study.cells]
        assert found == [("mst", 1.0), ("mst", 2.0), ("circuit", math.inf)]

    def test_a_file_is_named_in_its_mistake(self, tmp_path: Path) -> None:
        place = tmp_path / "ours.yaml"
        place.write_text("datasets: [a\n")

        with pytest.raises(ArgumentError, match=r"the study file .*ours\.yaml.*line"):
            read_study(place)
        with pytest.raises(ArgumentError, match=r"must end in \.yaml"):
            read_study(tmp_path / "ours.txt")


class TestCandidate:
    def test_options_that_change_later_are_those_of_no_row(self) -> None:
        options: dict[str, Any] = {}
        rows = []
        for rounds in (5, 20):
            options |= {"max_rounds": rounds, "workload": [["age", "sex"]]}
            rows.append(Candidate(method="aim", options=options, label=f"{rounds} rounds"))
        bins = {"threshold": "fraction"}
        binning = Binning(options=bins)
        scores = {"tvd-2": {"cliques": [["age", "sex"]]}}
        study = Study(**PLAIN, score_options=scores)  # type: ignore[arg-type]

        options["workload"][0].append("income")
        bins["threshold"] = "other"
        scores["tvd-2"]["cliques"].clear()

        assert [row.options["max_rounds"] for row in rows] == [5, 20]
        assert rows[1].options["workload"] == [["age", "sex"]]
        assert binning.options == {"threshold": "fraction"}
        assert study.score_options == {"tvd-2": {"cliques": [["age", "sex"]]}}


def test_no_two_binnings_have_one_label() -> None:
    binnings = [Binning(), *(Binning(**{name: value}) for name, value in (  # type: ignore[arg-type]
        ("bins", 7), ("discretizer", "uniform"), ("options", {"threshold": "fraction"}), ("domain", "found"),
        ("within", "normal"), ("share", 0.3),
    ))]  # fmt: skip

    assert len(binnings) == len(fields(Binning)) + 1
    assert len({binning.label for binning in binnings}) == len(binnings)
    assert Binning().label == "privtree auto"


class TestCells:
    def test_a_key_hashes_all_but_the_label(self) -> None:
        study = Study(**PLAIN)  # type: ignore[arg-type]
        (cell,) = study.cells
        named = Study(**{**PLAIN, "methods": (Candidate(method="mst", label="other"),)})  # type: ignore[arg-type]
        different = [
            replace(study, epsilons=(2.0,)),
            replace(study, delta=1e-6),
            replace(study, seeds=(1,)),
            replace(study, scores=("tvd-1",)),
            replace(study, datasets=("census@100",)),
            replace(study, preprocessing=(Binning(bins=7),)),
            replace(study, split="synmeter"),
            replace(study, against=("learned",)),
            replace(study, methods=(Candidate(method="mst", options={"compress_sigmas": 2.0}),)),
        ]

        assert named.cells[0].key == cell.key
        assert len({cell.key, *(other.cells[0].key for other in different)}) == len(different) + 1

    def test_limits_and_words_are_no_part_of_a_key(self) -> None:
        study = Study(**PLAIN)  # type: ignore[arg-type]

        changed = replace(study, seconds=1.0, memory_mb=1.0, title="x", note="y", name="t")

        assert changed.cells[0].key == study.cells[0].key

    def test_a_key_is_the_same_in_every_process(self) -> None:
        (cell,) = Study(**PLAIN).cells  # type: ignore[arg-type]

        assert Cell.from_json(cell.to_json()).key == cell.key
        assert len(cell.key) == 16

    def test_tables_of_known_quality_have_one_cell_for_all_budgets(self) -> None:
        study = Study(name="s", datasets=("census",), methods=("SELF", "mst"), epsilons=(1, 2, 3))

        assert [cell.method for cell in study.cells].count("SELF") == 1
        assert len(study.cells) == 4

    def test_a_preset_sets_options_by_table_and_budget(self) -> None:
        study = Study(
            name="s",
            datasets=("bank", "gauss50"),
            methods=(Candidate(method="margnet", preset="margnet"),),
            epsilons=(1.0, 10.0),
        )

        found = {(cell.dataset, cell.epsilon): cell.options["iterations"] for cell in study.cells}

        assert found == {
            ("bank", 1.0): 200,
            ("bank", 10.0): 100,
            ("gauss50", 1.0): 500,
            ("gauss50", 10.0): 500,
        }

    def test_the_papers_rounds_of_rap_are_six_for_bank_with_three_pairs_each(self) -> None:
        candidate = Candidate(method="top_q+pgm", preset="tab_bench").with_settings("bank", 1.0)

        made = candidate.synthesizer(epsilon=1.0)

        assert math.ceil(made.selector.rounds_per_column * 17) == 6
        assert made.selector.chosen_per_round == 3
        assert (
            Candidate(method="rap++", preset="tab_bench").with_settings("bank", 1.0).options["n_thresholds"]
            == 2_000_000
        )

    def test_methods_that_the_papers_tell_the_label_are_told_it(self) -> None:
        rows = both_settings(("dp-merf", "rap++", "mst"), "tab_bench", ("mst",))

        found = [
            (row.label, dataset, options.get("label"), options.get("crossed_with"))
            for row in rows
            for dataset in ("bank@1000", "gauss10")
            for options in (row.with_settings(dataset, 1.0).options,)
        ]

        assert found == [
            ("dp-merf", "bank@1000", "y", None),
            ("dp-merf", "gauss10", None, None),
            ("dp-merf (tab_bench)", "bank@1000", "y", None),
            ("dp-merf (tab_bench)", "gauss10", None, None),
            ("rap++", "bank@1000", None, "y"),
            ("rap++", "gauss10", None, None),
            ("rap++ (tab_bench)", "bank@1000", None, "y"),
            ("rap++ (tab_bench)", "gauss10", None, None),
            ("mst", "bank@1000", None, None),
            ("mst", "gauss10", None, None),
        ]


def test_the_label_of_the_coded_adult_is_one_of_its_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data" / "adult"
    folder.mkdir(parents=True)
    (folder / "domain.json").write_text('{"num_attr_1": 3, "cat_attr_1": 2, "y_attr": 2}', encoding="utf-8")
    for part, column in (("X_num", [[0], [2]]), ("X_cat", [["0"], ["1"]]), ("y", [0, 1])):
        np.save(folder / f"{part}_train.npy", np.array(column))
    monkeypatch.setenv("MARGNET", str(tmp_path))

    assert label_of(CODED_ADULT) in load_table(CODED_ADULT).columns


class TestQuick:
    def test_it_is_small_and_of_the_same_kind(self) -> None:
        study = study_of(TEN_LINES, default_name="ours")

        quick = study.quick()

        assert quick.datasets == ("census@200",)
        assert (len(quick.cells), quick.epsilons, quick.seeds) == (4, (1.0,), (0,))
        assert [c.label for c in quick.methods] == [c.label for c in study.methods]

    def test_fits_are_short_unless_the_row_says_how_long(self) -> None:
        study = Study(
            name="s",
            datasets=("bank",),
            methods=(
                Candidate(method="rap++", preset="tab_bench"),
                Candidate(method="margnet", options={"iterations": 100}),
                "HALF",  # type: ignore[arg-type]
            ),
        )

        rap, margnet, half = (cell.options for cell in study.quick().cells)

        assert (rap["n_thresholds"], rap["iterations"]) == (2000, 50)
        assert margnet["iterations"] == 100
        assert half == {}

    @pytest.mark.thorough
    def test_a_numbered_target_becomes_the_most_extreme_of_the_few_rows(self) -> None:
        assert find_study("discretization-f15a").quick().options["target"] == "extreme"
        assert find_study("discretization-f15d").quick().options["target"] == "inside"

    def test_a_curve_over_bins_has_several_points_for_each_discretizer(self) -> None:
        for name in ["f1", "f2", "f8"]:
            quick = find_study(f"discretization-{name}").quick()

            bins = {kind: [b.bins for b in quick.preprocessing if b.discretizer == kind] for kind in
                    ("uniform", "quantile", "kmeans", "privtree")}  # fmt: skip
            assert {len(counts) for counts in bins.values()} == {3}
            assert all((counts[0], counts[-1]) == (5, 250) for counts in bins.values())
            assert len(quick.cells) == 24

    def test_both_domains_of_each_discretizer_are_compared(self) -> None:
        quick = find_study("discretization-f14").quick()

        assert len({(b.discretizer, b.domain) for b in quick.preprocessing}) == 8
        assert len(quick.cells) == 24

    def test_a_row_of_a_long_fit_is_left_out_if_its_method_has_shorter_ones(self) -> None:
        training = find_study("synmeter-f7")
        alone = replace(training, methods=training.methods[3:4])

        assert max(c.options["steps"] for c in training.quick().methods) == 400
        assert [c.options["steps"] for c in alone.quick().methods] == [1200]
