"""Keys of undeclared text columns come out in the form that most of them have, under a budget."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import DomainWarning

N = 4_000


def release(source: object, epsilon: float = 1.0) -> tuple[st.Release, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DomainWarning)
        made = st.Independent(epsilon=epsilon, delta=1e-5, seed=0).fit(source)
    return made, [str(w.message) for w in caught if w.category is DomainWarning]


def keys(form: str, seed: int = 0) -> list[str]:
    """Return random keys; # stands for a digit and @ for a letter."""
    rng = np.random.default_rng(seed)
    letters = {"#": "0123456789", "@": "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
    columns = [rng.choice([*letters.get(place, place)], N) for place in form]
    return ["".join(row) for row in zip(*columns, strict=True)]


def table(**columns: list[object]) -> pd.DataFrame:
    # A column whose domain is always found.
    return pd.DataFrame(columns | {"sort": ["a", "b"] * (N // 2)})


@pytest.mark.thorough
def test_most_keys_show_the_form_of_new_ones() -> None:
    frame = table(customer=keys("####-@@@@@"), invoice=keys("INV-#######"))
    frame.loc[:99, "invoice"] = [f"old {i}" for i in range(100)]
    frame.loc[100:999, "customer"] = None

    made, messages = release(frame)

    assert made.schema["customer"].pattern == r"\d{4}-[A-Z]{5}"
    assert made.schema["invoice"].pattern == r"INV-\d{7}"
    drawn = made.sample(seed=0)
    assert drawn["customer"].dropna().str.fullmatch(r"\d{4}-[A-Z]{5}").all()
    assert drawn["customer"].isna().mean() == pytest.approx(0.225, abs=0.1)
    assert drawn["invoice"].is_unique
    (message,) = messages
    assert "2 columns ('customer', 'invoice'), each: no category" in message
    assert "new keys of the form" in message
    assert "the form of keys" in made.privacy.text()
    assert made.lost_columns() == []


@pytest.mark.thorough
def test_texts_of_many_forms_and_patterns_of_too_few_keys_become_running_numbers() -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice([*"abcdefgh"], int(k))) for k in rng.integers(3, 30, N)]
    few = [f"K{i:04d}" for i in range(N)]

    prefixed = [f"{('INV', 'CRN', 'OLD')[i % 3]}-{i:06d}" for i in range(N)]

    made, messages = release(table(said=words, few=few, prefixed=prefixed))

    assert {made.schema[name].pattern for name in ("said", "few", "prefixed")} == {None}
    (message,) = messages
    assert "running numbers" in message


def test_a_shape_that_less_than_half_have_is_none() -> None:
    mixed = [
        *keys("@@@@-####")[: N * 2 // 5],
        *keys("####/######")[: N * 2 // 5],
        *keys("@#@#@#@##")[: N // 5],
    ]

    assert release(table(key=mixed))[0].schema["key"].pattern is None


def test_categories_are_learned_as_before() -> None:
    often = ["A-1", "B-2", "C-3", "D-4"] * (N // 4)

    made, _ = release(table(code=often))

    assert set(made.schema["code"].categories) >= {"A-1", "B-2", "C-3", "D-4"}


@pytest.mark.thorough
def test_a_table_in_parts_has_the_same_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from syntabula.table.parts import found_parts

    frame = table(customer=keys("####-@@@@@"), invoice=keys("INV-#######"))
    for i in range(4):
        frame.iloc[i * N // 4 : (i + 1) * N // 4].to_parquet(tmp_path / f"{i}.parquet")
    whole, _ = release(frame)

    held, _ = release(tmp_path)
    monkeypatch.setattr(found_parts, "HELD_VALUES", 100)
    many, _ = release(tmp_path)

    assert held.schema == whole.schema
    assert many.schema["customer"].pattern == r"\d{4}-[A-Z]{5}"
