"""What a fit reads of a table: units stay beside the records that are about them."""

from __future__ import annotations

import pandas as pd

import syntabula as st
from syntabula.marginals.counting import MemoryEngine
from syntabula.prepare.persons import limited
from syntabula.privacy.units import Units
from syntabula.synthesizers.reading import encoded
from syntabula.table.coding.codec import Codec
from syntabula.table.raw import RawTable
from syntabula.table.read import read

SCHEMA = st.Schema(
    {"who": st.Identifier(), "colour": st.Categorical(("red", "blue"))}, unit="who", rows_per_unit=2
)


def test_units_are_those_of_the_records_that_could_be_encoded() -> None:
    whole = pd.DataFrame({"who": ["a", "a", "b", "c", "c"], "colour": ["red", "blue", "red", "blue", "red"]})
    # No code holds this cell, so that its record is left out.
    broken = whole.assign(colour=["red", "green", "red", "blue", "red"])
    found = []
    for frame in (broken, whole.drop(index=1)):
        table, units = limited(read(frame, SCHEMA), SCHEMA, bytes(32), limit_mb=100.0)
        assert isinstance(table, RawTable)
        codec = Codec.plan(SCHEMA, bins=8)
        coded = encoded(st.MST(), table, codec, units, strict=False, found=(), let_go=False)
        assert isinstance(coded.engine, MemoryEngine)
        assert isinstance(coded.units, Units)
        found.append(coded.units.words)

    assert found[0].size == 4
    assert (found[0] == found[1]).all()
