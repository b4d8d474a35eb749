"""Each task runs a small cell; the scores of tables are those of `evaluate`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import syntabula as st
from syntabula.bench import Binning, Candidate, Study, find_study, run
from syntabula.bench.cell import Cell
from syntabula.bench.splits import load_split
from syntabula.bench.tasks import TASKS, Outcome
from syntabula.errors import ArgumentError, DataError

pytestmark = pytest.mark.filterwarnings(
    "ignore::syntabula.errors.SyntabulaWarning"
)  # of weak budgets, as in a run


def outcome(cell: Cell) -> Outcome:
    """Run a cell in this process."""
    return TASKS[cell.task].run(cell)


class TestTables:
    def test_a_table_of_too_few_rows_is_refused_by_every_split_that_holds_some_out(
        self, tmp_path: Path
    ) -> None:
        for n_rows, enough in ((0, False), (1, False), (5, True)):
            file = tmp_path / f"{n_rows}.csv"
            file.write_text("a,b\n" + "1,2\n" * n_rows)
            for split in ("holdout", "tab_bench", "margnet"):
                if enough:
                    held_out = load_split(split, str(file), {}, None).held_out
                    assert held_out is not None
                    assert held_out.n_rows
                    continue
                with pytest.raises(DataError, match="has too few rows to learn some and hold others out"):
                    load_split(split, str(file), {}, None)
            if n_rows:
                assert load_split("whole", str(file), {}, None).fit.n_rows == n_rows

    def test_scores_are_those_of_the_metrics_on_the_same_rows(self) -> None:
        study = Study(
            name="s", datasets=("census@300",), methods=("HALF",), scores=("tvd-2",), against=("learned",)
        )
        split = load_split("holdout", "census@300", {}, None)

        found = outcome(study.cells[0]).scores["tvd-2"]

        half = st.attacks.BASELINES["HALF"]().fit(split.fit, split.schema)
        made = half.sample_columns(split.fit.n_rows, seed=1_000_000)
        from syntabula.table.raw import RawTable

        tables = st.metrics.compare(
            split.fit, RawTable(dict(made), split.fit.n_rows, split.fit.origin), schema=split.schema
        )
        assert found == st.metrics.TotalVariation()(tables, np.random.default_rng(0)).value

    def test_why_a_score_has_no_value_is_a_fact(self) -> None:
        study = Study(
            name="s",
            datasets=("census@300",),
            methods=("HALF",),
            scores=("tvd-2", "predictive-utility"),
            target="income",
        )

        found = outcome(study.cells[0])

        assert np.isnan(found.scores["predictive-utility"])
        assert found.facts["without_value"] == {
            "predictive-utility": "the target is a number, which has no F1"
        }

    def test_another_seed_takes_another_half(self) -> None:
        study = Study(name="s", datasets=("census@300",), methods=("HALF",), scores=("tvd-2",), seeds=2)

        first, second = (outcome(cell).scores["tvd-2"] for cell in study.cells)

        assert first != second

    @pytest.mark.thorough
    def test_the_same_cell_gives_the_same_scores_and_another_seed_others(self) -> None:
        study = Study(name="s", datasets=("census@200",), methods=("mst",), scores=("tvd-2",), seeds=2)
        first, second = study.cells

        values = [outcome(cell).scores["tvd-2"] for cell in (first, first, second)]

        assert values[0] == values[1] != values[2]

    def test_held_out_rows_are_not_learned_and_both_roles_have_scores(self) -> None:
        split = load_split("holdout", "census@200", {"holdout": 0.25}, None)
        study = Study(
            name="s",
            datasets=("census@200",),
            methods=("SELF",),
            scores=("tvd-1",),
            against=("held out", "learned"),
        )

        found = outcome(study.cells[0]).scores

        assert split.held_out is not None
        assert (split.fit.n_rows, split.held_out.n_rows) == (150, 50)
        assert found["tvd-1 [learned]"] == 0.0
        assert found["tvd-1"] > 0.0

    def test_so_many_rows_are_held_out_or_half_of_fewer(self) -> None:
        for asked, held_out in ((150, 150), (5_000, 100)):
            split = load_split("holdout", "census@200", {"holdout": asked}, None)

            assert split.held_out is not None
            assert (split.fit.n_rows, split.held_out.n_rows) == (200 - held_out, held_out)

    def test_levels_over_both_tables_stand_beside_fixed_ones(self) -> None:
        study = Study(
            name="s", datasets=("gauss10@300",), methods=("SELF", "HISTOGRAM"), scores=("tvd-1",), split="tab_bench",
            options={"levels": ("fixed", "joint")},
        )  # fmt: skip

        same, apart = (outcome(cell).scores for cell in study.cells)

        assert set(apart) == {"tvd-1", "tvd-1 [joint levels]"}
        # The rows held out end elsewhere than those learned, so that both kinds lie differently.
        assert apart["tvd-1"] != apart["tvd-1 [joint levels]"]
        assert all(0 < value < 1 for value in (*same.values(), *apart.values()))

    @pytest.mark.thorough
    def test_budgets_may_be_counted_in_zcdp(self) -> None:
        study = Study(name="s", datasets=("census@300",), methods=("mst",), scores=("tvd-2",))

        found = [
            outcome(replace(study, options=options).cells[0]).facts["accounting"]
            for options in ({}, {"accounting": "gdp"}, {"accounting": "zcdp"})
        ]

        assert found == ["mu_squared", "mu_squared", "rho"]

    def test_marginals_that_are_named_are_scores_of_their_own(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("a,b,c\n" + "0,0,0\n0,1,1\n1,0,1\n1,1,0\n" * 40)
        cliques = [["a", "b", "c"], ["a", "b"]]
        study = Study(
            name="s", datasets=(str(tmp_path / "t.csv"),), methods=("independent",), scores=("tvd-1",), epsilons=(50.0,),
            score_options={"tvd-1": {"cliques": cliques}}, against=("learned",),
        )  # fmt: skip

        found = outcome(study.cells[0]).scores

        assert set(found) == {"tvd-1", "tvd-1 a+b+c", "tvd-1 a+b"}
        # Columns drawn apart have the right parity in half of the rows.
        assert 0.3 < found["tvd-1 a+b+c"] < 0.7
        assert found["tvd-1"] == pytest.approx((found["tvd-1 a+b+c"] + found["tvd-1 a+b"]) / 2)

    @pytest.mark.thorough
    def test_parts_of_scores_that_tell_tables_apart_are_named(self) -> None:
        scores = ("discriminator-similarity", "dcr")
        study = Study(name="s", datasets=("census@300",), methods=("SELF",), scores=scores)

        found = outcome(study.cells[0]).scores

        assert 0 <= found["discriminator-similarity auc"] <= 1
        assert 0.5 < found["dcr nearer"] <= 1

    def test_auc_and_accuracy_are_scores_of_their_own(self) -> None:
        study = Study(
            name="s",
            datasets=("census@300",),
            methods=("SELF",),
            scores=("efficacy",),
            score_options={"efficacy": {"evaluators": ("tree",)}},
            target="sex",
        )

        found = outcome(study.cells[0]).scores

        assert set(found) == {"efficacy", "efficacy tree", "efficacy auc", "efficacy accuracy"}
        assert all(0 <= value <= 1 for value in found.values())

    @pytest.mark.thorough
    def test_each_evaluator_is_a_score_of_its_own(self) -> None:
        study = Study(
            name="s",
            datasets=("census@300",),
            methods=("HALF",),
            scores=("affinity",),
            score_options={"affinity": {"evaluators": ("tree", "linear")}},
            target="sex",
        )

        found = outcome(study.cells[0]).scores

        assert found["affinity"] == pytest.approx((found["affinity tree"] + found["affinity linear"]) / 2)

    @pytest.mark.thorough
    def test_the_mean_of_scores_is_named_by_the_study(self) -> None:
        scores = ("percentile-similarity", "query-similarity")
        study = Study(name="s", datasets=("census@200",), methods=("SELF",), scores=scores, overall="utility")

        found = outcome(study.cells[0]).scores

        assert found["utility"] == pytest.approx(np.mean([found[name] for name in scores]))

    @pytest.mark.thorough
    def test_bins_alone_lose_less_than_a_model_over_them(self) -> None:
        study = Study(
            name="s",
            datasets=("census@500",),
            methods=("BINS", "independent"),
            preprocessing=(Binning(bins=20, discretizer="uniform"),),
            scores=("tvd-2",),
            split="tab_bench",
            against=("learned",),
        )

        bins, model = (outcome(cell).scores["tvd-2"] for cell in study.cells)

        assert 0 < bins < model

    @pytest.mark.thorough
    @pytest.mark.parametrize("domain", ["public", "observed", "found"])
    def test_domains_come_from_where_the_study_says(self, domain: str) -> None:
        binning = Binning(bins=10, domain=domain)  # type: ignore[arg-type]
        study = Study(name="s", datasets=("census@300",), methods=("independent",), preprocessing=(binning,))

        found = outcome(replace(study, epsilons=(10.0,)).cells[0])

        assert found.facts["epsilon_spent"] <= 10.0
        assert found.scores["tvd-2"] < 1


class TestRisks:
    @pytest.mark.thorough
    def test_copies_are_found_by_all_three_measures(self) -> None:
        study = Study(
            name="s",
            task="risks",
            datasets=("census@40",),
            methods=("SELF", "HISTOGRAM"),
            scores=("dcr", "attack-accuracy", "attack-tpr", "membership-disclosure"),
            options={"shadows": 8, "draws": 2},
            split="synmeter",
        )

        copies, apart = (outcome(cell) for cell in study.cells)

        assert copies.scores["dcr"] < 1e-9 < apart.scores["dcr"]
        assert copies.scores["membership-disclosure"] > apart.scores["membership-disclosure"]
        assert copies.scores["attack-accuracy"] == copies.scores["attack-tpr"] == 1.0

    @pytest.mark.thorough
    def test_a_method_under_a_budget_has_all_scores(self) -> None:
        study = Study(
            name="s",
            task="risks",
            datasets=("census@40",),
            methods=("independent",),
            scores=("dcr", "attack-tpr"),
            options={"shadows": 8, "draws": 1},
            split="synmeter",
        )

        found = outcome(study.cells[0]).scores

        assert [*found] == ["dcr", "attack-tpr"]
        assert found["dcr"] > 0
        assert 0 <= found["attack-tpr"] <= 1


class TestPoints:
    @pytest.mark.thorough
    def test_bins_tell_circles_that_no_line_tells(self) -> None:
        study = find_study("discretization-f17")
        cells = [c for c in study.cells if c.dataset == "points_circles@200" and c.seed == 0]
        raw = next(c for c in cells if c.method == "raw")
        binned = next(c for c in cells if c.method == "bins" and c.epsilon == float("inf"))

        raw_found, found = outcome(raw), outcome(binned)

        assert found.scores["accuracy"] > raw_found.scores["accuracy"] + 0.15
        assert "bins found" not in raw_found.facts
        regions = found.facts["kept"]["regions"]
        assert [len(edges) - 1 for edges in regions["edges"]] == found.facts["bins found"] == [10, 10]
        assert np.shape(regions["second"]) == (10, 10)
        assert len(regions["points"]) == len(regions["classes"]) == 200

    def test_other_tables_are_refused_with_one_that_will_do(self) -> None:
        cell = find_study("discretization-f16").cells[0]

        with pytest.raises(ArgumentError, match=r"points_moons@200; 'bank' is none"):
            outcome(replace(cell, dataset="bank"))


class TestColumns:
    def test_more_bins_are_nearer_without_a_model(self) -> None:
        study = Study(
            name="s",
            task="columns",
            datasets=("controlled_normal@1000",),
            methods=("bins",),
            epsilons=(float("inf"),),
            preprocessing=tuple(Binning(bins=b, discretizer="uniform") for b in (5, 100)),
            scores=("record-similarity", "percentile-similarity", "query-similarity"),
            overall="utility",
        )

        few, many = (outcome(cell).scores["utility"] for cell in study.cells)

        assert few < many < 1

    def test_a_rule_sets_the_number_of_bins(self) -> None:
        study = find_study("discretization-f12")
        cell = next(c for c in study.cells if c.binning.bins == "rice" and c.dataset.endswith("normal@500"))

        found = outcome(cell)

        assert found.facts["bins asked"] == 16  # 2 times the cube root of 500, rounded up

    @pytest.mark.thorough
    def test_a_study_of_columns_runs(self, tmp_path: Path) -> None:
        study = find_study("discretization-f6").quick()
        small = replace(study, preprocessing=study.preprocessing[:2])

        found = run(small, tmp_path / "s.jsonl", workers=2)

        assert {record.status for record in found.values()} == {"done"}
        assert all(0 < record.scores["utility"] < 1 for record in found.values())


class TestTuning:
    @pytest.mark.thorough
    def test_scores_of_the_best_options_stand_beside_what_they_gain(self) -> None:
        study = Study(
            name="s",
            task="tuning",
            datasets=("census@200",),
            methods=("independent",),
            preprocessing=(Binning(bins=2, discretizer="uniform"),),
            epsilons=(float("inf"),),
            scores=("wasserstein",),
            score_options={"wasserstein": {"max_rows": 100, "max_pairs": 2}},
            options={"trials": 2, "space": "usual"},
        )

        found = outcome(study.cells[0])

        before, after = found.facts["without tuning"]["wasserstein"], found.scores["wasserstein"]
        assert found.facts["options"]["bins"] >= 10  # two bins are too few for any score
        assert 0 < after < before
        assert found.scores["gain of wasserstein %"] == pytest.approx(100 * (before - after) / before)


class TestShadows:
    @pytest.mark.thorough
    def test_copies_disclose_more_than_columns_drawn_apart(self) -> None:
        study = Study(
            name="s",
            task="disclosure",
            datasets=("census@60",),
            methods=("SELF", "HISTOGRAM"),
            scores=("membership-disclosure", "mean-disclosure"),
            options={"shadows": 8, "draws": 2},
            split="whole",
        )

        copies, apart = (outcome(cell).scores["mean-disclosure"] for cell in study.cells)

        assert copies > apart

    @pytest.mark.thorough
    def test_an_attack_scores_each_kind(self) -> None:
        study = Study(
            name="s",
            task="membership",
            datasets=("census@40",),
            methods=(Candidate(method="independent"),),
            scores=("groundhog",),
            options={"shadows": 8, "target": "inside", "bins_epsilon": 1.0, "without": ("sex",)},
            split="whole",
        )

        found = outcome(study.cells[0])

        assert 0 <= found.scores["groundhog"] <= 1
        assert found.facts["shadows"] == 8

    @pytest.mark.thorough
    def test_the_extreme_record_can_be_attacked_by_its_range(self, tmp_path: Path) -> None:
        rows = [f"{n + 0.5},{100 - n * n / 16}" for n in range(40)]
        rows[23] = "23.5,-90.0"  # beyond the others, though in the middle of the first column
        (tmp_path / "t.csv").write_text("a,b\n" + "\n".join(rows) + "\n")
        study = Study(
            name="s",
            task="membership",
            datasets=(str(tmp_path / "t.csv"),),
            methods=("independent",),
            preprocessing=(Binning(bins=20, discretizer="uniform", domain="observed"),),
            epsilons=(100.0,),
            scores=("range",),
            options={"shadows": 8, "target": "extreme"},
            split="whole",
        )

        found = outcome(study.cells[0])

        assert found.scores["range"] > 0.9  # a domain that is read off the table gives the record away
