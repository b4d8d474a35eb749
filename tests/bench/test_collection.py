"""Every numbered table and figure of the papers is listed, and each that is a run makes cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from syntabula._register import entries
from syntabula.bench import NotRun, Store, Study, find_study, list_studies, read_study, summarize
from syntabula.bench.study_fields import ALL_TABLES
from syntabula.bench.summary import reported_figures
from syntabula.bench.words import shown_scores
from syntabula.errors import ArgumentError

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
RANKS = BENCHMARKS / "results" / "synmeter-ranks.jsonl"


def test_the_studies_of_the_repository_can_be_run() -> None:
    for path in sorted((BENCHMARKS / "studies").glob("*.yaml")):
        assert read_study(path).cells


def names(collection: str) -> set[str]:
    return {study.name.removeprefix(f"{collection}-") for study in list_studies(collection)}


class TestPapers:
    def test_every_numbered_table_and_figure_is_listed(self) -> None:
        numbered = {*(f"t{n}" for n in range(1, 19)), *(f"f{n}" for n in range(1, 6))}
        assert names("tab_bench") == numbered | {"levels"}
        assert names("margnet") == {*(f"t{n}" for n in range(1, 12)), *(f"f{n}" for n in range(1, 10))}
        appendix = {*(f"a{n}" for n in range(1, 9)), *(f"c{n}" for n in range(9, 17))}
        first = {
            *(f"t{n}" for n in range(1, 7)),
            *(f"d{n}" for n in range(17, 30)),
            *(f"f{n}" for n in range(1, 9)),
        }
        second = {"d29-three", "v2-f8a", "v2-f8b", *(f"v2-{t}" for t in ("t3", "t4", "t5", "t6"))}
        second |= {f"v2-e{n}" for n in range(17, 28)}
        assert names("synmeter") == first | appendix | second
        figures = {
            *(f"f{n}" for n in range(1, 19) if n != 15),
            *(f"f{n}{p}" for n in (15, 19) for p in "abcd"),
        }
        assert names("discretization") == {"t1", "t2", "t3", *figures}

    def test_only_texts_ideas_and_settings_are_not_run(self) -> None:
        texts = {
            *(f"tab_bench-t{n}" for n in (2, *range(3, 15))), "tab_bench-f1",
            *(f"margnet-t{n}" for n in (1, 2, 3, 4, 7)), "margnet-f1", "margnet-f2",
            *(f"synmeter-t{n}" for n in (1, 2, 3)), "synmeter-f1",
            *(f"synmeter-a{n}" for n in range(1, 9)), *(f"synmeter-c{n}" for n in range(9, 17)),
            # The second version prints these tables of the first again.
            *(f"synmeter-v2-t{n}" for n in range(3, 7)), *(f"synmeter-v2-e{n}" for n in range(17, 28)),
            *(f"discretization-t{n}" for n in (1, 2, 3)), "discretization-f3",
        }  # fmt: skip

        assert {s.name for s in list_studies() if isinstance(s, NotRun)} == texts

    def test_every_method_of_the_library_is_in_a_study(self) -> None:
        compared = {c.method for s in list_studies() if isinstance(s, Study) for c in s.methods}

        assert {entry.key for entry in entries("synthesizer")} <= compared

    @pytest.mark.thorough
    def test_what_is_not_run_says_why(self) -> None:
        not_run = [study for study in list_studies() if isinstance(study, NotRun)]

        assert all(study.why for study in not_run)
        with pytest.raises(ArgumentError, match="is not run"):
            find_study(not_run[0].name)

    @pytest.mark.parametrize(
        "collection",
        [
            "syntabula",
            *(pytest.param(c, marks=pytest.mark.thorough) for c in ("tab_bench", "margnet", "synmeter")),
            pytest.param("discretization", marks=pytest.mark.thorough),
        ],
    )
    def test_methods_and_options_exist(self, collection: str) -> None:
        for study in list_studies(collection):
            if isinstance(study, Study):
                study.check()
                assert study.cells
                assert len(study.quick().cells) <= 24

    @pytest.mark.thorough
    def test_the_papers_figures_stand_beside_their_rows(self) -> None:
        overall = reported_figures(find_study("tab_bench-t1"))
        assert overall["tvd-2", "bank", "aim", 1.0] == 0.09
        assert overall["tvd-2", "bank", "aim (tab_bench)", 1.0] == 0.09
        assert overall["efficacy", "bank", "SELF", float("inf")] == 0.76
        assert reported_figures(find_study("margnet-t5"))["tvd-2", "adult_margnet", "margnet", 1.0] == 0.06
        assert reported_figures(find_study("synmeter-d17"))["wasserstein", "adult", "mst", 1.0] == 0.179
        ranked = reported_figures(find_study("synmeter-f4"))
        assert ranked["wasserstein", "insurance", "tablediffusion", 1.0] == 0.366
        assert ranked["wasserstein [learned]", "insurance", "tablediffusion", 1.0] == 0.343
        assert ranked["query-error-prefix", "insurance", "tablediffusion", 1.0] == 0.195
        memory = reported_figures(find_study("margnet-t11"))
        assert memory["peak MB", "adult_margnet", "aim", 10.0] == 1587.2
        pairs = reported_figures(find_study("tab_bench-t16"))
        assert pairs["cells of a pair", "bank", "Raw", float("inf")] == 105_000

    @pytest.mark.thorough
    def test_types_of_marginals_add_up_to_the_papers_mean_over_them(self) -> None:
        """The printed mean of each table is that of its types, within rounding, so no figure is of another table."""
        for whole, name, mark, parts in (
            ("t4", "wasserstein [learned]", " [learned]", range(18, 23)),
            ("d17", "wasserstein", "", range(23, 28)),
        ):
            means = {place[1:]: v for place, v in of("synmeter-" + whole).items() if place[0] == name}
            found: dict[tuple[str, str, float], list[float]] = {}
            for part in parts:
                for (score, *place), value in of(f"synmeter-d{part}").items():
                    assert score.endswith(mark)
                    assert ("[learned]" in score) == bool(mark)
                    found.setdefault(tuple(place), []).append(value)  # type: ignore[arg-type]

            assert set(found) == set(means)
            assert len(means) == 11 * 10
            assert (
                max(abs(sum(values) / len(values) - means[place]) for place, values in found.items()) < 0.001
            )

    def test_gains_of_tuning_are_means_over_all_tables(self) -> None:
        gains = of("synmeter-t6")

        assert gains["gain of affinity %", ALL_TABLES, "mst", 1.0] == 17.35
        assert {table for _, table, _, _ in gains} == {ALL_TABLES}


def of(name: str) -> dict[tuple[str, str, str, float], float]:
    return dict(reported_figures(find_study(name)))


class TestSharedCells:
    @pytest.mark.thorough
    def test_synmeters_studies_of_one_score_find_the_cells_of_its_ranks(self) -> None:
        names = ["t4", *(f"d{n}" for n in range(17, 28)), "d29", "v2-f8b"]
        known = {cell.key for name in ("f2", "f4") for cell in find_study(f"synmeter-{name}").cells}

        for name in names:
            assert {cell.key for cell in find_study(f"synmeter-{name}").cells} <= known

    @pytest.mark.thorough
    @pytest.mark.skipif(not RANKS.is_file(), reason="the committed results are not here")
    def test_the_committed_cells_fill_their_tables(self) -> None:
        records = Store(RANKS).records()

        for name, score in (("t4", "wasserstein [learned]"), ("d23", "wasserstein categorical")):
            study = find_study(f"synmeter-{name}")
            summary = summarize(study, records)
            assert shown_scores(summary) == [score]
            assert summary.main == score
            # Later seeds may be added to the store, and must be found too.
            n_known = sum(cell.key in records for cell in study.cells)
            assert sum(row.n for row in summary.rows) == n_known >= 138
            assert sum(score in row.means and score in row.paper for row in summary.rows) > 60


class TestNames:
    def test_names_are_found_in_any_case_and_near_ones_suggested(self) -> None:
        assert find_study("TAB_BENCH-T1").name == "tab_bench-t1"
        with pytest.raises(
            ArgumentError, match=r"there is no study 'tab_bench-t99'; did you mean 'tab_bench-t9'"
        ):
            find_study("tab_bench-t99")
        with pytest.raises(ArgumentError, match="did you mean 'synmeter'"):
            list_studies("synmetr")


@pytest.mark.usefixtures("bad_methods")
class TestPlugIn:
    def test_other_packages_add_studies(self) -> None:
        assert [study.name for study in list_studies("shelf")] == ["shelf-one", "shelf-two"]
        assert find_study("shelf-one").methods[0].method == "independent"
