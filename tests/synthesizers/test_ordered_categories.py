"""Undeclared categories that their type ranks keep this order, whatever they are called."""

from __future__ import annotations

from typing import Any

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


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_a_draft_lists_them_in_this_order(library: str) -> None:
    column = st.draft_schema(FRAMES[library])[0]["level"]

    assert isinstance(column, st.Categorical)
    assert column.categories == ("low", "medium", "high")


@pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
@pytest.mark.parametrize(
    "source",
    [
        pyarrow.dataset.dataset(FRAMES["pyarrow"]),
        pd.DataFrame({"level": pd.Categorical([1, 3, 2] * 300, categories=[3, 2, 1], ordered=True)}),
        pd.DataFrame({"level": pd.Categorical([0.5, 1.5] * 450, categories=[1.5, 0.5], ordered=True)}),
    ],
    ids=["dataset", "numbers of pandas", "fractions of pandas"],
)
def test_categories_whose_order_is_not_read_do_not_come_out_as_ordered(source: Any) -> None:
    for epsilon in (4.0, np.inf):
        level = st.Independent(epsilon=epsilon, seed=0).fit(source).sample(50, seed=1)["level"]

        assert not (level.cat.ordered if isinstance(level, pd.Series) else getattr(level.type, "ordered", 0))


@pytest.mark.filterwarnings("ignore::syntabula.errors.SyntabulaWarning")
def test_a_dictionary_may_hold_a_text_more_than_once() -> None:
    table = dictionary([0, 1, 2] * 300, ["low", "low", "high"])

    for schema in (st.draft_schema(table)[0], st.Independent(epsilon=4.0, seed=0).fit(table).schema):
        column = schema["level"]
        assert isinstance(column, st.Categorical)
        assert column.categories == ("low", "high")
