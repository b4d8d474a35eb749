"""Undeclared categories that their type ranks keep this order, whatever they are called."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest

import syntabula as st

RANKED = ["low", "medium", "high", "extreme"]
CELLS = [RANKED[i % 3] for i in range(900)]
FRAMES = {
    "polars": polars.DataFrame({"level": polars.Series(CELLS, dtype=polars.Enum(RANKED))}),
    "lazy": polars.LazyFrame({"level": polars.Series(CELLS, dtype=polars.Enum(RANKED))}),
    "pandas": pd.DataFrame({"level": pd.Categorical(CELLS, categories=RANKED, ordered=True)}),
    "pyarrow": pyarrow.table(
        {
            "level": pyarrow.DictionaryArray.from_arrays(
                pyarrow.array([RANKED.index(cell) for cell in CELLS], pyarrow.int8()),
                pyarrow.array(RANKED),
                ordered=True,
            )
        }
    ),
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
