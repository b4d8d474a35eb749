"""Schemas that do not fit, or make no sense."""

from __future__ import annotations

import math

import syntabula as st
from bad_input.matrix import base, case, fit, refuses
from syntabula.errors import (
    DataError,
    ObservedDomainError,
    PrivateDomainError,
    SchemaError,
)


@case("schema", "no schema, and too little budget to find one")
@refuses(PrivateDomainError, "age", "schema")
def _(folder):
    fit(base()[0], epsilon=0.01)


@case("schema", "a column of the schema is not in the table")
@refuses(SchemaError, "height")
def _(folder):
    frame, schema = base()
    fit(frame, schema.with_column("height", st.Numeric(0, 1)))


@case("schema", "a column of the table is not in the schema")
@refuses(SchemaError, "extra")
def _(folder):
    frame, schema = base()
    fit(frame.assign(extra=1), schema)


@case("schema", "reversed bounds")
@refuses(SchemaError, "lower")
def _(folder):
    st.Numeric(10, 1)


@case("schema", "NaN bounds")
@refuses(SchemaError, "finite")
def _(folder):
    st.Numeric(math.nan, 1.0)


@case("schema", "no categories")
@refuses(SchemaError, "categor")
def _(folder):
    st.Categorical(())


@case("schema", "duplicate categories")
@refuses(SchemaError, "categor")
def _(folder):
    st.Categorical(("a", "b", "a"))


@case("schema", "observed domains without leave")
@refuses(ObservedDomainError, "age")
def _(folder):
    frame, schema = base()
    fit(frame, schema.with_column("age", st.Numeric(18, 90, integer=True, provenance="observed")))


@case("schema", "a unit that the schema does not declare")
@refuses(SchemaError, "person", "identifier")
def _(folder):
    _, schema = base()
    st.Schema(schema.columns, unit="person", rows_per_unit=3)


@case("schema", "a unit whose column is missing in some rows")
@refuses(DataError, "person", "unit", "empty")
def _(folder):
    frame, schema = base()
    keyed = st.Schema({"person": st.Identifier(), **schema.columns}, unit="person", rows_per_unit=3)
    fit(frame.assign(person=[None, *range(1, len(frame))]), keyed)


@case("schema", "a unit whose column is not in the table")
@refuses(SchemaError, "person")
def _(folder):
    frame, schema = base()
    fit(frame, st.Schema({"person": st.Identifier(), **schema.columns}, unit="person", rows_per_unit=3))
