"""Every numbered table and figure of the papers is listed, and each that is a run makes cells."""

from __future__ import annotations

import pytest

from syntabula._register import entries
from syntabula.bench import NotRun, Study, find_study, list_studies
from syntabula.bench.summary import reported_figures
from syntabula.errors import ArgumentError


def names(collection: str) -> set[str]:
    return {study.name.removeprefix(f"{collection}-") for study in list_studies(collection)}


class TestPapers:
    def test_every_numbered_table_and_figure_is_listed(self) -> None:
        assert names("tab_bench") == {*(f"t{n}" for n in range(1, 19)), *(f"f{n}" for n in range(1, 6))}
        assert names("margnet") == {*(f"t{n}" for n in range(1, 12)), *(f"f{n}" for n in range(1, 10))}
        appendix = {*(f"a{n}" for n in range(1, 9)), *(f"c{n}" for n in range(9, 17))}
        first = {
            *(f"t{n}" for n in range(1, 7)),
            *(f"d{n}" for n in range(17, 30)),
            *(f"f{n}" for n in range(1, 9)),
        }
        second = {"v2-f8a", "v2-f8b", *(f"v2-{t}" for t in ("t3", "t4", "t5", "t6"))}
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
        for study in list_studies():
            if isinstance(study, NotRun):
                assert study.why
                with pytest.raises(ArgumentError, match="is not run"):
                    find_study(study.name)

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
