"""What cells keep for pictures: which pairs were measured, how near the model came, planes and associations."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from syntabula.bench import Binning, Study, find_study, run, summarize
from syntabula.bench.kept import KEPT
from syntabula.bench.summary import Row, Summary
from syntabula.bench.tasks import TASKS
from syntabula.errors import ArgumentError
from syntabula.report.study_page import make_study_page
from syntabula.report.study_pictures import kept_figures

STUDY = Study(
    name="pictures",
    datasets=("census@150",),
    methods=("mst", "aim"),
    preprocessing=(Binning(bins=6, discretizer="uniform"),),
    epsilons=(5.0,),
    scores=("tvd-2",),
    against=("learned",),
    options={"keep": tuple(KEPT)},
)


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    """Run both methods once."""
    store: Path = tmp_path_factory.mktemp("kept") / "s.jsonl"
    return summarize(STUDY, run(STUDY, store, workers=2))


def row_of(summary: Summary, label: str) -> Row:
    (row,) = [row for row in summary.rows if row.label == label]
    assert not row.problems
    return row


@pytest.mark.thorough
class TestMarginals:
    def test_a_spanning_tree_measures_one_pair_less_than_there_are_columns(self, summary: Summary) -> None:
        pairs = row_of(summary, "mst").kept["marginals"]
        columns = {name for pair in pairs for name in pair[:2]}

        measured = [pair for *pair, _, chosen in pairs if chosen]

        assert len(pairs) == len(columns) * (len(columns) - 1) // 2
        assert len(measured) == len(columns) - 1

    def test_their_mean_is_the_score(self, summary: Summary) -> None:
        row = row_of(summary, "mst")

        mean = sum(error for *_, error, _ in row.kept["marginals"]) / len(row.kept["marginals"])

        assert mean == pytest.approx(row.means["tvd-2"], abs=1e-4)


@pytest.mark.thorough
class TestRounds:
    def test_a_method_of_rounds_has_a_loss_for_each(self, summary: Summary) -> None:
        losses = row_of(summary, "aim").kept["rounds"]

        assert len(losses) > 2
        assert all(loss >= 0 for loss in losses)


@pytest.mark.thorough
class TestPictures:
    def test_each_row_and_group_has_its_own(self, summary: Summary) -> None:
        titles = [title for title, _ in kept_figures(summary)]

        assert len(titles) == 3 + 2 + 2  # pairs, one method against the other, losses; planes; associations
        assert len(set(titles)) == len(titles)
        nearer, farther = (row.label for row in summary.rows if "marginals" in row.kept)
        assert any(t.startswith(f"{farther} against {nearer}, a point for each pair") for t in titles)
        page = make_study_page(summary)
        assert all(title in page for title in titles)

    def test_names_of_many_rows_stand_below_the_axes(self, summary: Summary) -> None:
        row = row_of(summary, "mst")
        row = replace(row, kept={"marginals": row.kept["marginals"]})
        many = replace(summary, rows=tuple(replace(row, label=f"a row, number {i}") for i in range(12)))

        picture = dict(kept_figures(many))[
            "Distance of each pair, filled if it was measured: census@150, epsilon 5"
        ]

        height = {words: float(y) for y, words in re.findall(r'y="([\d.]+)"[^>]*>([^<]+)</text>', picture)}
        names = [y for words, y in height.items() if words.startswith("a row")]
        assert len(names) == 12
        assert min(names) > height["pairs of columns, in order"]

    def test_a_plane_has_as_many_points_as_rows_within_a_square(self, summary: Summary) -> None:
        plane = row_of(summary, "mst").kept["plane"]

        assert len(plane["real"]) == 120
        assert all(0 <= value <= 1 for rows in plane.values() for point in rows for value in point)


class TestBins:
    def test_shares_of_a_redrawn_column_lie_between_the_edges_of_its_bins(self) -> None:
        study = Study(
            name="s", task="columns", datasets=("controlled_mixture@500",), methods=("bins",),
            epsilons=(math.inf,), preprocessing=(Binning(bins=10, discretizer="quantile"),),
            scores=("query-similarity",), options={"keep": ("bins",)},
        )  # fmt: skip

        bins = TASKS["columns"].run(study.cells[0]).facts["kept"]["bins"]

        assert len(bins["shares"]) == len(bins["edges"]) - 1 == 10
        assert bins["edges"] == sorted(bins["edges"])
        assert sum(bins["shares"]) == pytest.approx(1, abs=1e-3)
        assert sum(bins["column"]) == pytest.approx(1, abs=1e-3)
        # Without privacy each bin of this discretizer holds about a tenth of the values.
        assert all(share == pytest.approx(0.1, abs=0.02) for share in bins["shares"])

    @pytest.mark.thorough
    def test_each_column_has_a_picture_of_all_discretizers(self, tmp_path: Path) -> None:
        study = find_study("discretization-f4").quick()

        titles = [title for title, _ in kept_figures(summarize(study, run(study, tmp_path / "s.jsonl")))]

        assert titles == ["Bins: controlled_uniform@1000, epsilon inf"]

    @pytest.mark.thorough
    def test_points_have_a_picture_of_each_discretizer(self, tmp_path: Path) -> None:
        study = find_study("discretization-f17").quick()

        pictures = kept_figures(summarize(study, run(study, tmp_path / "s.jsonl")))

        assert len(pictures) == 4
        assert all(title.startswith("Regions, ") and "accuracy" in svg for title, svg in pictures)

    def test_a_task_keeps_only_what_it_draws(self) -> None:
        assert set(TASKS["tables"].pictures) == set(KEPT)
        with pytest.raises(ArgumentError, match="no picture in `keep` 'plane'"):
            Study(
                name="s", task="columns", datasets=("controlled_normal",), methods=("bins",),
                preprocessing=(Binning(bins=4),), scores=("query-similarity",), options={"keep": ("plane",)},
            )  # fmt: skip


def test_an_unknown_picture_is_named_with_what_is_near() -> None:
    with pytest.raises(ArgumentError, match="no picture in `keep` 'planes'; did you mean 'plane'"):
        Study(name="s", datasets=("census",), methods=("mst",), options={"keep": ("planes",)})
