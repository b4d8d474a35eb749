"""Synthpop from end to end, beside `contracts/test_record_methods.py`: columns that come first are given exactly."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from record_cases import method, release, require_library, table

import syntabula as st
from syntabula.errors import ArgumentError


class TestRows:
    def test_they_keep_dependences_of_numbers_and_labels(self) -> None:
        made = release("column_trees").sample(3_000, seed=0)

        assert np.corrcoef(made["size"], made["double"])[0, 1] > 0.97
        assert (
            made["size"][made["kind"] == "large"].mean()
            > 11
            > 9
            > made["size"][made["kind"] == "small"].mean()
        )
        assert abs(made["size"].mean() - table()["size"].mean()) < 0.5

    @pytest.mark.filterwarnings("ignore:this model cannot be restricted:syntabula.errors.ConditionWarning")
    def test_conditions_and_given_values_hold(self) -> None:
        require_library("column_trees")
        release = method("column_trees", allow_observed=True).with_options(first=("double",)).fit(table())

        above = release.sample(200, where={"size": (12.0, 13.0), "kind": "large"}, seed=0)
        given = release.sample(given=pd.DataFrame({"double": [14.0, 26.0]}), seed=0)

        assert above["size"].between(12, 13).all()
        assert (above["double"] > 20).all()
        assert given["double"].tolist() == [14.0, 26.0]
        assert given["size"][0] < given["size"][1]


class TestOptions:
    def test_they_are_those_of_the_trees_alone(self) -> None:
        assert {*st.option_notes("synthpop")} == {"least_leaf", "least_split", "complexity", "first"}

    def test_wrong_ones_are_refused(self) -> None:
        for name, value in {"least_leaf": 0, "least_split": 0, "complexity": 1.0, "first": "age"}.items():
            with pytest.raises(ArgumentError, match=name):
                method("column_trees").with_options(**{name: value})
