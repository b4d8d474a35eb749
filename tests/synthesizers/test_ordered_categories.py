"""Undeclared categories that their type ranks keep this order, whatever they are called."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pyarrow
import pyarrow.dataset
import pytest

import syntabula as st

RANKED = ["low", "medium", "high", "extreme"]
CELLS = [RANKED[i % 3] for i in range(900)]


def dictionary(places: list[int], ranked: list[str]) -> pyarrow.Table:
    values = pyarrow.array(ranked)
    indices = pyarrow.array(places, pyarrow.int8())
    return pyarrow.table({"level": pyarrow.DictionaryArray.from_arrays(indices, values, ordered=True)})


FRAMES = {
    "polars": polars.DataFrame({"level": polars.Series(CELLS, dtype=polars.Enum(RANKED))}),
    "lazy": polars.LazyFrame({"level": polars.Series(CELLS, dtype=polars.Enum(RANKED))}),
    "pandas": pd.DataFrame({"level": pd.Categorical(CELLS, categories=RANKED, ordered=True)}),
    "pyarrow": dictionary([RANKED.index(cell) for cell in CELLS], RANKED),
}


@pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
@pytest.mark.parametrize("library", FRAMES)
def test_categories_are_found_and_come_out_in_the_order_of_their_type(library: str) -> None:
    for epsilon in (4.0, np.inf):
        release = st.Independent(epsilon=epsilon, seed=0).fit(FRAMES[library])

        level = release.sample(50, seed=1)["level"]

        column = release.schema["level"]
        assert isinstance(column, st.Categorical)
        assert column.categories == ("low", "medium", "high")
        match library:
            case "pandas":
                assert level.cat.ordered
                assert [*level.cat.categories][:3] == RANKED[:3]
            case "pyarrow":
                assert level.type.ordered
                assert level.chunk(0).dictionary.to_pylist()[:3] == RANKED[:3]
            case "polars":
                assert level.dtype.categories.to_list()[:3] == RANKED[:3]


@pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
@pytest.mark.parametrize("ranked", [[3, 10, 2, 7], [1.5, 10.5, 0.5, 2.5]])
def test_numbers_of_pandas_keep_the_order_of_their_type(ranked: list[float], tmp_path: Path) -> None:
    cells = [ranked[i % 3] for i in range(900)]
    frame = pd.DataFrame({"level": pd.Categorical(cells, categories=ranked, ordered=True)})
    for epsilon in (4.0, np.inf):
        release = st.Independent(epsilon=epsilon, seed=0).fit(frame)
        release.save(tmp_path / f"{epsilon}.release")

        level = st.load(tmp_path / f"{epsilon}.release").sample(50, seed=1)["level"]

        # The category that no cell has is not told: a library may have read the others off the cells.
        assert level.cat.ordered
        assert [*level.cat.categories] == ranked[:3]
        assert level.cat.categories.dtype == frame["level"].cat.categories.dtype


def test_a_draft_lists_whole_numbers_in_this_order() -> None:
    frame = pd.DataFrame({"level": pd.Categorical([1, 3, 2] * 30, categories=[3, 1, 2, 4], ordered=True)})

    column = st.draft_schema(frame)[0]["level"]

    assert isinstance(column, st.Categorical)
    assert column.categories == (3, 1, 2)


@pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
def test_categories_of_polars_with_a_name_of_their_own_are_read() -> None:
    dtype = polars.Categorical(polars.Categories("levels"))

    level = (
        st.Independent(epsilon=4.0, seed=0)
        .fit(polars.DataFrame({"level": polars.Series(CELLS, dtype=dtype)}))
        .sample(50, seed=1)["level"]
    )

    assert isinstance(level.dtype, polars.Categorical)
    assert {*level.to_list()} == {*CELLS}


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_a_draft_lists_them_in_this_order(library: str) -> None:
    column = st.draft_schema(FRAMES[library])[0]["level"]

    assert isinstance(column, st.Categorical)
    assert column.categories == ("low", "medium", "high")


@pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
def test_categories_whose_order_is_not_read_do_not_come_out_as_ordered() -> None:
    source = pyarrow.dataset.dataset(FRAMES["pyarrow"])
    for epsilon in (4.0, np.inf):
        level = st.Independent(epsilon=epsilon, seed=0).fit(source).sample(50, seed=1)["level"]

        assert not getattr(level.type, "ordered", 0)


@pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
def test_flags_of_pandas_keep_the_order_of_their_type(tmp_path: Path) -> None:
    cells = [True, False, True] * 300
    missing = [None, True, False] * 300
    for values, listed, ordered, comes_out in [
        (cells, [True, False], True, [True, False]),
        (cells, [False, True], True, [False, True]),
        (missing, [True, False], True, [True, False]),
        # One that the type does not list is known all the same.
        ([True] * 900, [True], True, [False, True]),
        (cells, [True, False], False, [False, True]),
    ]:
        frame = pd.DataFrame({"level": pd.Categorical(values, categories=listed, ordered=ordered)})
        for epsilon in (4.0, np.inf):
            release = st.Independent(epsilon=epsilon, seed=0).fit(frame)
            release.save(tmp_path / "flags.syn")
            (tmp_path / "flags.syn").rename(kept := tmp_path / f"{epsilon}.syn")

            level = st.load(kept).sample(200, seed=1)["level"]

            assert level.cat.ordered == ordered
            assert [*level.cat.categories] == comes_out
            assert level.cat.categories.dtype == bool
            assert level.isna().any() == (None in values)
            if ordered and {*listed} == {*comes_out}:
                assert level.max() == listed[-1]
            kept.unlink()


@pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
def test_a_dictionary_may_hold_a_text_more_than_once() -> None:
    table = dictionary([0, 1, 2] * 300, ["low", "low", "high"])

    for schema in (st.draft_schema(table)[0], st.Independent(epsilon=4.0, seed=0).fit(table).schema):
        column = schema["level"]
        assert isinstance(column, st.Categorical)
        assert column.categories == ("low", "high")
