"""Columns with odd names."""

from __future__ import annotations

import numpy as np
import pandas as pd

import syntabula as st
from bad_input.matrix import case, fit, fit_observed, refuses
from syntabula.errors import (
    DataError,
    SchemaError,
)


def named(*names) -> pd.DataFrame:
    data = np.arange(40 * len(names)).reshape(40, len(names)) % 3
    return pd.DataFrame(data, columns=list(names))


def round_trip_names(*names: str) -> None:
    schema = st.Schema({n: st.Numeric(0, 2, integer=True) for n in names})
    assert list(fit(named(*names), schema).sample(10, seed=1).columns) == list(names)


@case("names", "duplicate names")
@refuses((SchemaError, DataError), "x")
def _(folder):
    fit_observed(named("x", "x"))


@case("names", "empty name")
@refuses((SchemaError, DataError), "name")
def _(folder):
    fit_observed(named("", "x"))


@case("names", "an empty name in a text file whose types are sought")
@refuses(SchemaError, "to_csv(index=False)")
def _(folder):
    named("", "x").to_csv(folder / "t.csv", index=False)
    try:
        fit(folder / "t.csv", journal=folder / "journal")
    finally:
        # Nothing was spent.
        assert "spend" not in (folder / "journal").read_text()


@case("names", "unicode names")
def _(folder):
    round_trip_names("größe", "年齢", "🙂")


@case("names", "quotes and newlines in names")
def _(folder):
    round_trip_names('a"b', "c'd", "e\nf", "g;h")


@case("names", "integers as names")
@refuses((SchemaError, DataError), "name")
def _(folder):
    fit_observed(named(0, 1))


@case("names", "reserved words as names")
def _(folder):
    round_trip_names("select", "class", "domain", "__class__", "codes")


@case("names", "a name of 10,000 characters")
def _(folder):
    round_trip_names("x" * 10_000, "y")


@case("names", "names equal after case folding")
def _(folder):
    round_trip_names("Age", "age", "AGE")
