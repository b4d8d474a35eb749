"""Cells that are odd or wrong."""

from __future__ import annotations

import math

import pytest

import syntabula as st
from bad_input.matrix import CANARY_NUMBER, CANARY_TEXT, assert_within, base, case, fit, refuses, with_cells
from syntabula.errors import (
    CoercionWarning,
    DataError,
)


@case("cells", "NaN in a number")
def _(folder):
    frame, schema = with_cells("income", [math.nan] * 20)
    sample = fit(frame, schema, epsilon=50.0).sample(600, seed=1)
    assert 0.2 < sample["income"].isna().mean() < 0.45
    assert_within(sample, schema)


@case("cells", "missing category")
def _(folder):
    frame, schema = with_cells("job", [None] * 20)
    sample = fit(frame, schema, epsilon=50.0).sample(600, seed=1)
    assert 0.2 < sample["job"].isna().mean() < 0.45
    assert_within(sample, schema)


@case("cells", "column all missing")
def _(folder):
    frame, schema = with_cells("job", [None] * 60)
    sample = fit(frame, schema, epsilon=50.0).sample(200, seed=1)
    assert sample["job"].isna().mean() > 0.8
    assert_within(sample, schema)


@case("cells", "plus and minus infinity")
def _(folder):
    frame, schema = with_cells("income", [math.inf, -math.inf])
    with pytest.warns(CoercionWarning, match="income"):
        release = fit(frame, schema)
    assert_within(release.sample(200, seed=1), schema)


@case("cells", "unseen category")
def _(folder):
    frame, schema = with_cells("job", [CANARY_TEXT])
    with pytest.warns(CoercionWarning, match="job"):
        release = fit(frame, schema)
    assert_within(release.sample(200, seed=1), schema)


@case("cells", "unseen category, strict")
@refuses(DataError, "job", "categories")
def _(folder):
    fit(*with_cells("job", [CANARY_TEXT]), strict=True)


@case("cells", "number out of bounds")
def _(folder):
    frame, schema = with_cells("income", [CANARY_NUMBER])
    with pytest.warns(CoercionWarning, match="income"):
        release = fit(frame, schema)
    assert_within(release.sample(200, seed=1), schema)


@case("cells", "text where the schema says number")
def _(folder):
    frame, schema = base()
    frame["income"] = [CANARY_TEXT] * len(frame)
    with pytest.warns(CoercionWarning, match="income"):
        release = fit(frame, schema, epsilon=50.0)
    sample = release.sample(200, seed=1)
    assert sample["income"].isna().mean() > 0.8
    assert_within(sample.astype({"income": float}), schema)


@case("cells", "text where the schema says number, strict")
@refuses(DataError, "income")
def _(folder):
    frame, schema = base()
    frame["income"] = [CANARY_TEXT] * len(frame)
    fit(frame, schema, strict=True)


@case("cells", "minus zero")
def _(folder):
    frame, schema = with_cells("income", [-0.0] * 30)
    assert_within(fit(frame, schema).sample(200, seed=1), schema)


@case("cells", "subnormal number")
def _(folder):
    frame, schema = with_cells("income", [5e-324] * 30)
    assert_within(fit(frame, schema).sample(200, seed=1), schema)


@case("cells", "empty string is a value of its own")
def _(folder):
    frame, _ = with_cells("job", [""] * 30)
    schema = base()[1].with_column("job", st.Categorical(("", "cook", "nurse", "judge")))
    sample = fit(frame, schema, epsilon=50.0).sample(600, seed=1)
    assert sample["job"].notna().all()
    assert 0.3 < (sample["job"] == "").mean() < 0.7


@case("cells", "NUL byte in text")
def _(folder):
    frame, _ = with_cells("job", ["a\0b"] * 30)
    schema = base()[1].with_column("job", st.Categorical(("a\0b", "cook", "nurse", "judge")))
    sample = fit(frame, schema, epsilon=50.0).sample(100, seed=1)
    assert "a\0b" in set(sample["job"])


@case("cells", "text of one megabyte, and a lone surrogate")
def _(folder):
    for text in ("x" * 2**20, "\ud800" + CANARY_TEXT):
        frame, schema = with_cells("job", [text])
        with pytest.warns(CoercionWarning, match="job"):
            fit(frame, schema)


@case("cells", "formula text does not run in a spreadsheet")
def _(folder):
    frame, _ = with_cells("job", ["=1+1"] * 60)
    schema = base()[1].with_column("job", st.Categorical(("=1+1", "cook")))
    release = fit(frame, schema, epsilon=50.0)
    release.sample_to(folder / "out.csv", 50, seed=1)
    text = (folder / "out.csv").read_text()
    assert "=1+1" in text
    assert ",=1+1" not in text
