"""Columns that noise hides are named together, and no value of theirs is."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import CoercionWarning, DomainWarning
from syntabula.prepare.domain_warnings import warn_of_rare_categories

N = 20_000


def told(source: object, epsilon: float) -> list[str]:
    return fitted(source, epsilon)[1]


def fitted(source: object, epsilon: float) -> tuple[st.Release, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DomainWarning)
        release = st.Independent(epsilon=epsilon, seed=0).fit(source)
    return release, [str(w.message) for w in caught]


def test_one_warning_names_all_columns_of_a_kind() -> None:
    names = [f"person {i}" for i in range(N)]
    gaps = np.where(np.arange(N) < 5, 7.5, np.nan)
    frame = pd.DataFrame({"age": np.arange(N) % 70, "pay": np.arange(N) % 90, "sex": np.arange(N) % 2})
    frame = frame.assign(name=names, mother=names[::-1], debt=gaps)

    release, messages = fitted(frame, epsilon=2.0)

    assert release.privacy.made_anew == ("name", "mother")
    assert len(messages) == 2
    assert messages[0].startswith("2 columns ('name', 'mother'), of each: no category is frequent")
    assert messages[1].startswith("column 'debt': at this budget")
    assert "person" not in messages[0]


def test_types_that_noise_hides_are_told_together(tmp_path: Path) -> None:
    rows = "".join(f"{i % 2},,\n" for i in range(N))
    (tmp_path / "t.csv").write_text("sex,one,other\n" + rows)

    assert any(
        m.startswith("2 columns ('one', 'other'), of each: it is empty")
        for m in told(tmp_path / "t.csv", epsilon=2.0)
    )


def test_it_points_to_the_line_that_fitted_the_table() -> None:
    frame = pd.DataFrame({"age": np.arange(N) % 70, "name": [f"person {i}" for i in range(N)]})
    frame.index.name = "row"

    with pytest.warns() as caught:
        st.Independent(epsilon=2.0, seed=0).fit(frame)

    assert {w.category for w in caught} == {DomainWarning, CoercionWarning}
    assert {w.filename for w in caught} == {__file__}


def test_of_very_many_columns_some_are_named() -> None:
    with pytest.warns(DomainWarning, match=r"30 columns \('c0', .*'c19' and 10 more\), of each: no category"):
        warn_of_rare_categories([f"c{i}" for i in range(30)])
