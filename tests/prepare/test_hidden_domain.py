"""A column of too few values to find their bounds does not stop the release of the others."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import DomainWarning, PrivateDomainError
from syntabula.prepare.hidden_domain import hidden_domain
from syntabula.table.raw import PhysicalType

N = 20_000


def frame(n_known: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    start = pd.Timestamp("2021-03-04")
    table = pd.DataFrame({"age": rng.integers(18, 90, N), "pay": rng.normal(500, 9, N).round()})
    table["debt"] = np.where(np.arange(N) < n_known, 7.5, np.nan)
    table["settled"] = pd.Series([start] * n_known + [pd.NaT] * (N - n_known))
    return table


def test_its_values_count_as_one_and_a_warning_says_so() -> None:
    with (
        pytest.warns(DomainWarning, match="'debt': .*counts as 0;"),
        pytest.warns(DomainWarning, match="'settled': .*counts as 1970-01-01;"),
    ):
        release = st.Independent(epsilon=2.0, seed=0).fit(frame()[["debt", "age", "pay", "settled"]])

    made = release.sample(500, seed=0)
    assert list(made) == ["debt", "age", "pay", "settled"]
    assert (made.dtypes == frame().dtypes[made.columns]).all()
    assert made["debt"].isna().mean() > 0.9
    assert made["settled"].isna().mean() > 0.9
    assert set(made["debt"].dropna()) <= {0.0}
    assert made["age"].between(0, 127).all()


@pytest.mark.filterwarnings("ignore::syntabula.errors.DomainWarning")
def test_where_most_are_hidden_it_is_refused() -> None:
    with pytest.raises(PrivateDomainError, match="found no bounds"):
        st.Independent(epsilon=2.0, seed=0).fit(frame()[["age", "debt", "settled"]])


@pytest.mark.parametrize(
    ("physical", "lower"),
    [
        (PhysicalType("integer", "int64"), 0),
        (PhysicalType("decimal", "decimal128(5, 2)", scale=2), 0),
        (PhysicalType("date", "DATE"), dt.date(1970, 1, 1)),
        (PhysicalType("datetime", "datetime64[us]"), dt.datetime(1970, 1, 1)),
        (PhysicalType("datetime", "x", timezone="Europe/Paris"), dt.datetime(1970, 1, 1, tzinfo=dt.UTC)),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_it_rests_on_the_stored_type_alone(physical: PhysicalType, lower: object) -> None:
    column = hidden_domain(physical)

    assert column.objection(physical) is None
    assert (column.lower, column.upper) == (lower, lower)
    assert (column.nullable, column.provenance) == (True, "private")
