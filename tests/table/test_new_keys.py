"""Which values are keys, and that new ones look like them: texts in their form, numbers of as many digits."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.table.new_keys import (
    hardly_repeat,
    how_many_differ,
    identifier_of,
    number_key_of,
    number_of_digits,
)

N = 4_000


@pytest.mark.parametrize(
    ("n_distinct", "n_cells", "expected"),
    [(20, 20, False), (21, 21, True), (1000, 1001, False), (1001, 2001, True), (1001, 2002, False)],
)
def test_texts_are_keys_if_all_differ_or_most_of_very_many_do(
    n_distinct: int, n_cells: int, expected: bool
) -> None:
    assert hardly_repeat(n_distinct, n_cells) is expected


@pytest.mark.parametrize(
    ("pattern", "n_rows", "n_distinct", "expected"),
    [
        (None, 100, None, None),
        (None, 100, 40, 40),
        (r"\d{3}", 100, None, None),
        (r"\d{3}", 101, None, 1000),
        (r"\d{3}", 10_000, None, 1000),
        (r"\d{3}", 10_000, 400, 400),
        (r"\d{3}", 10_000, 1100, 1000),
        ("uuid", 10_000, None, None),
    ],
)
def test_at_most_as_many_keys_differ_as_the_pattern_has(
    pattern: str | None, n_rows: float, n_distinct: int | None, expected: int | None
) -> None:
    assert how_many_differ(pattern, n_rows=n_rows, n_distinct=n_distinct) == expected


def test_the_domain_of_keys_shows_their_form_and_whether_they_repeat() -> None:
    once = identifier_of(Counter(f"C-{i:06d}" for i in range(50)), nullable=True, provenance="observed")
    often = identifier_of(
        Counter(f"S-{i % 30:03d}" for i in range(500)), nullable=False, provenance="observed"
    )

    assert (once.pattern, once.distinct, once.nullable, once.provenance) == (
        r"C-\d{6}",
        None,
        True,
        "observed",
    )
    assert (often.pattern, often.distinct, often.nullable) == (r"S-\d{3}", 30, False)


def test_digits_are_counted_at_powers_of_ten() -> None:
    values = [-5, 0, 1, 9, 10, 99, 100, 10**17, 10**18 - 1, 10**18, 2**63 - 1]

    assert number_of_digits(np.array(values)).tolist() == [0, 0, 1, 1, 2, 2, 3, 18, 18, 0, 0]
    assert number_of_digits(np.array([2**64 - 1, 9], dtype=np.uint64)).tolist() == [0, 1]
    assert number_of_digits(np.array([1e6, 999_999.0])).tolist() == [7, 6]


def test_a_draft_shows_how_many_digits_all_keys_have() -> None:
    for values, pattern, distinct in [
        (np.arange(10**7, 10**7 + 99), r"[1-9]\d{7}", None),
        (np.arange(1, 100), None, None),
        (np.array([1234, 5678, 1234]), r"[1-9]\d{3}", 2),
        (np.arange(1000, 5000), r"[1-9]\d{3}", 9000),
        (np.arange(1, 10), None, None),
    ]:
        key = number_key_of(values, nullable=False, provenance="observed")

        assert (key.integer, key.pattern, key.distinct) == (True, pattern, distinct)


def test_new_keys_fit_the_stored_type() -> None:
    values = np.arange(10**9, 10**9 + 500)

    assert number_key_of(values, nullable=False, provenance="observed").pattern == r"[1-9]\d{9}"
    assert number_key_of(values.astype(np.int32), nullable=False, provenance="observed").pattern is None
    frame = pd.DataFrame({"visit_id": np.tile(values.astype(np.int32), 4), "sort": ["a", "b"] * 1000})
    release = st.Independent(epsilon=np.inf, seed=0).fit(frame)
    assert release.schema["visit_id"].pattern is None
    assert release.sample(seed=0)["visit_id"].dtype == np.int32


def test_keys_that_fill_their_pattern_do_not_repeat() -> None:
    for distinct, pattern, repeats in [
        (None, None, False),
        (40, None, True),
        (40, r"\d{3}", True),
        (1000, r"\d{3}", False),
    ]:
        assert st.Identifier(pattern=pattern, distinct=distinct).repeats is repeats


def found(epsilon: float) -> tuple[st.Release, pd.DataFrame]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "order_id": rng.choice(9 * 10**7, N, replace=False) + 10**7,
            "customer_id": rng.choice(np.arange(10_000, 99_999), 1_000)[rng.integers(0, 1_000, N)],
            "row_id": np.arange(1, N + 1),
            "visit_id": pd.Series(rng.choice(9 * 10**5, N, replace=False) + 10**5).where(rng.random(N) < 0.8),
            "sort": ["a", "b"] * (N // 2),
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = st.Independent(epsilon=epsilon, delta=1e-5, seed=0).fit(frame)
        return release, release.sample(seed=0)


@pytest.mark.parametrize("epsilon", [2.0, np.inf])
def test_so_do_noisy_counts(epsilon: float) -> None:
    release, drawn = found(epsilon)

    patterns = {name: getattr(release.schema[name], "pattern", "") for name in release.schema}
    assert patterns == {
        "order_id": r"[1-9]\d{7}",
        "customer_id": r"[1-9]\d{4}",
        "row_id": None,
        "visit_id": r"[1-9]\d{5}",
        "sort": "",
    }
    assert drawn["order_id"].dtype == np.int64
    assert drawn["order_id"].is_unique
    assert drawn["order_id"].between(10**7, 10**8 - 1).all()
    # The standard deviation of noise is below 40.
    assert drawn["customer_id"].nunique() == pytest.approx(1_000, abs=250)
    assert drawn["row_id"].tolist() == [*range(1, len(drawn) + 1)]
    assert drawn["visit_id"].isna().mean() == pytest.approx(0.2, abs=0.05)
    assert drawn["visit_id"].dropna().between(10**5, 10**6 - 1).all()


def test_without_privacy_numbers_of_rows_of_any_name_are_keys() -> None:
    rng = np.random.default_rng(0)
    kept = np.sort(rng.choice(np.arange(1, 1_101), 1_000, replace=False))
    frame = pd.DataFrame({"line": kept, "pay": rng.choice(9_000, 1_000, replace=False), "age": kept // 20})

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = st.Independent(epsilon=np.inf, seed=0).fit(frame)

    assert {name: column.kind for name, column in release.schema.columns.items()} == {
        "line": "identifier",
        "pay": "numeric",
        "age": "numeric",
    }
    assert release.sample(seed=0)["line"].is_unique
