"""What cells keep for pictures: which pairs were measured, how near the model came, planes and associations."""

from __future__ import annotations

from pathlib import Path

import pytest

from syntabula.bench import Binning, Study, run, summarize
from syntabula.bench.kept import KEPT
from syntabula.bench.summary import Row, Summary
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


class TestMarginals:
    @pytest.mark.thorough
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


class TestRounds:
    def test_a_method_of_rounds_has_a_loss_for_each(self, summary: Summary) -> None:
        losses = row_of(summary, "aim").kept["rounds"]

        assert len(losses) > 2
        assert all(loss >= 0 for loss in losses)


class TestPictures:
    @pytest.mark.thorough
    def test_each_row_and_group_has_its_own(self, summary: Summary) -> None:
        titles = [title for title, _ in kept_figures(summary)]

        assert len(titles) == 3 + 2 + 2  # pairs, one method against the other, losses; planes; associations
        assert len(set(titles)) == len(titles)
        assert any(title.startswith("aim against mst, a point for each pair") for title in titles)
        page = make_study_page(summary)
        assert all(title in page for title in titles)

    def test_a_plane_has_as_many_points_as_rows_within_a_square(self, summary: Summary) -> None:
        plane = row_of(summary, "mst").kept["plane"]

        assert len(plane["real"]) == 120
        assert all(0 <= value <= 1 for rows in plane.values() for point in rows for value in point)


def test_an_unknown_picture_is_named_with_what_is_near() -> None:
    with pytest.raises(ArgumentError, match="no picture in `keep` 'planes'; did you mean 'plane'"):
        Study(name="s", datasets=("census",), methods=("mst",), options={"keep": ("planes",)})
