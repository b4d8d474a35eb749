"""Tables of extreme shapes."""

from __future__ import annotations

import numpy as np
import pandas as pd

import syntabula as st
from bad_input.matrix import CANARY_TEXT, assert_within, base, case, fit, refuses, unzipped
from syntabula.errors import (
    DataError,
    ResourceError,
)


@case("shapes", "no rows")
def _(folder):
    frame, schema = base()
    release = fit(frame.iloc[:0], schema)
    assert len(release.sample(5, seed=1)) == 5
    assert_within(release.sample(5, seed=1), schema)


@case("shapes", "no columns")
@refuses(DataError, "column")
def _(folder):
    fit(pd.DataFrame(index=range(5)), base()[1])


@case("shapes", "one row")
def _(folder):
    frame, schema = base()
    assert_within(fit(frame.iloc[:1], schema).sample(20, seed=1), schema)


@case("shapes", "two rows")
def _(folder):
    frame, schema = base()
    assert_within(fit(frame.iloc[:2], schema).sample(20, seed=1), schema)


@case("shapes", "constant column")
def _(folder):
    frame, schema = base()
    frame["age"] = 30
    assert_within(fit(frame, schema).sample(200, seed=1), schema)


@case("shapes", "all-unique text is never echoed")
def _(folder):
    frame, schema = base()
    frame["who"] = [f"{CANARY_TEXT}-{i}" for i in range(len(frame))]
    release = fit(frame, schema.with_column("who", st.Identifier(prefix="p")))
    assert not set(release.sample(60, seed=1)["who"]) & set(frame["who"])
    release.save(folder / "x.syn")
    assert CANARY_TEXT.encode() not in unzipped(folder / "x.syn")


@case("shapes", "200 columns")
def _(folder):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{i}": rng.integers(0, 4, 300) for i in range(200)})
    schema = st.Schema({c: st.Numeric(0, 3, integer=True) for c in frame})
    sample = fit(frame, schema, method=st.Independent).sample(50, seed=1)
    assert_within(sample, schema)


@case("shapes", "2,000 columns")
def _(folder):
    frame = pd.DataFrame(np.zeros((20, 2000), dtype=int), columns=[f"c{i}" for i in range(2000)])
    schema = st.Schema({c: st.Numeric(0, 1, integer=True) for c in frame})
    assert fit(frame, schema, method=st.Independent).sample(5, seed=1).shape == (5, 2000)


@case("shapes", "100,000 categories")
def _(folder):
    labels = tuple(f"v{i}" for i in range(100_000))
    frame = pd.DataFrame(
        {"code": np.array(labels, dtype=object)[np.arange(500) % 7], "x": np.arange(500) % 3}
    )
    schema = st.Schema({"code": st.Categorical(labels), "x": st.Numeric(0, 2, integer=True)})
    assert_within(fit(frame, schema).sample(100, seed=1), schema)


@case("shapes", "two columns too wide for a joint")
@refuses(ResourceError, "wide", "MB")
def _(folder):
    labels = tuple(f"v{i}" for i in range(20_000))
    frame = pd.DataFrame({"wide1": ["v1"] * 9, "wide2": ["v2"] * 9})
    schema = st.Schema({"wide1": st.Categorical(labels), "wide2": st.Categorical(labels)})
    fit(frame, schema, rare=None)
