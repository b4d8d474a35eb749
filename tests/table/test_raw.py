"""Raw tables hold together, print no values, and their origin survives JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

from syntabula.errors import DataError
from syntabula.table.raw import Origin, PhysicalType, RawColumn, RawTable

CANARY = "zebra-canary-7731"
TEXT = PhysicalType("text", "object")


def column(*texts: str) -> RawColumn:
    return RawColumn(np.array(texts, dtype=object), np.zeros(len(texts), dtype=bool), TEXT)


class TestRaw:
    def test_repr_shows_no_value(self) -> None:
        table = RawTable({"a": column(CANARY)}, 1, Origin("csv", {"a": TEXT}))

        assert CANARY not in repr(table) + repr(table.columns) + str(table.columns["a"])

    def test_values_and_mask_of_unlike_length_are_refused(self) -> None:
        with pytest.raises(DataError, match="length"):
            RawColumn(np.zeros(2), np.zeros(3, dtype=bool), PhysicalType("float", "float64"))

    def test_columns_of_unlike_length_are_refused(self) -> None:
        with pytest.raises(DataError, match="length"):
            RawTable({"a": column("x"), "b": column("x", "y")}, 1, Origin("csv", {"a": TEXT, "b": TEXT}))

    def test_origin_survives_json(self) -> None:
        origin = Origin(
            "polars",
            {
                "t": PhysicalType("datetime", "datetime64[ns, Europe/Paris]", timezone="Europe/Paris"),
                "d": PhysicalType("decimal", "decimal128(10, 2)", scale=2),
            },
        )

        assert Origin.from_json(json.loads(json.dumps(origin.to_json()))) == origin

    def test_malformed_origin_is_refused(self) -> None:
        for facts in [{}, {"container": "excel", "physical": {}}, {"container": "csv"}]:
            with pytest.raises((KeyError, ValueError)):
                Origin.from_json(facts)
