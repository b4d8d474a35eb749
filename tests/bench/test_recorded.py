"""Numbers that are read off what cells keep for pictures."""

from __future__ import annotations

import pytest

from syntabula.bench import Record, Study
from syntabula.bench.recorded import RECORDED

(CELL,) = Study(name="s", datasets=("census",), methods=("mst",)).cells


def read(name: str, **kept: object) -> float | None:
    return RECORDED[name](Record(study="s", cell=CELL, status="done", facts={"kept": kept}))


def test_distances_of_measured_pairs_and_others_are_apart() -> None:
    pairs = [["a", "b", 0.1, True], ["a", "c", 0.2, False], ["b", "c", 0.4, False]]

    found = [read(name, marginals=pairs) for name in ("pairs measured", "measured pairs", "other pairs")]

    assert found == [1.0, 0.1, pytest.approx(0.3)]


def test_losses_are_the_first_and_the_last() -> None:
    assert [read(name, rounds=[3.0, 2.0, 0.5]) for name in ("first loss", "last loss")] == [3.0, 0.5]


def test_associations_are_of_the_real_table() -> None:
    pairs = [["a", "b", -0.8, 0.0], ["a", "c", 0.2, 0.9]]

    assert [read(name, associations=pairs) for name in ("mean association", "strong pairs")] == [0.5, 0.5]


def test_neighbours_are_of_the_own_table_where_both_lie_apart_and_of_the_other_where_rows_are_copies() -> (
    None
):
    real = [[0.1 * n, 0.0] for n in range(5)]

    apart = read("own neighbours", plane={"real": real, "synthetic": [[x, 9.0] for x, _ in real]})
    copies = read("own neighbours", plane={"real": real, "synthetic": [[x, 0.001] for x, _ in real]})

    assert (apart, copies) == (1.0, 0.0)


def test_what_is_not_kept_is_not_known() -> None:
    assert read("last loss", marginals=[]) is None
    assert read("other pairs") is None
