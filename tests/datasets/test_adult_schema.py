"""The public schema of Adult against the real table."""

from __future__ import annotations

import os

import pytest

from syntabula import datasets
from syntabula.table.schema.columns import Categorical, Numeric

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(
        not os.environ.get("SYNTABULA_DATA"), reason="set SYNTABULA_DATA to the folder of the real tables"
    ),
]


class TestAdult:
    def test_every_cell_of_the_table_lies_within_the_schema(self) -> None:
        frame, schema = datasets.load("adult").frame, datasets.schema_of("adult")

        assert list(frame.columns) == list(schema)
        for name, column in schema.columns.items():
            cells = frame[name]
            assert column.nullable == bool(cells.isna().any()), name
            if isinstance(column, Numeric):
                assert cells.between(column.lower, column.upper).all(), name
            elif isinstance(column, Categorical):
                assert set(cells.dropna()) == set(column.categories), name
