"""Keys of patterns: other ones in each release, and the same in all tables that are drawn from one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import SchemaError

FRAME = pd.DataFrame({"key": [f"{i:04d}-AAAAA" for i in range(60)], "a": np.arange(60) % 3})
FRAME["number"] = 10_000_000 + FRAME["a"]
FRAME["running"] = np.arange(60)
SCHEMA = st.Schema(
    {
        "key": st.Identifier(pattern=r"\d{4}-[A-Z]{5}|\d{9}"),
        "number": st.Identifier(pattern=r"[1-9]\d{9}", integer=True),
        "running": st.Identifier(integer=True),
        "a": st.Numeric(0, 2, integer=True),
    }
)


def keys(release: st.Release, n: int = 500) -> pd.DataFrame:
    return release.sample(n, seed=1)[["key", "number"]]


def test_no_two_releases_have_keys_in_common_but_by_chance() -> None:
    one, other = (keys(st.Independent(epsilon=5.0).fit(FRAME, SCHEMA)) for _ in range(2))

    # Of 500 times 500 pairs of numbers one in 9e9 is expected to be equal, and 3 with a probability below 1e-12; half of
    # the keys have one of a billion numbers: likewise.
    assert len(set(one["number"]) & set(other["number"])) < 3
    assert len(set(one["key"]) & set(other["key"])) < 4


def test_a_seed_and_a_file_keep_them_and_so_do_all_tables_of_a_release(tmp_path: Path) -> None:
    fitted = {seed: st.Independent(epsilon=5.0, seed=seed).fit(FRAME, SCHEMA) for seed in (1, 2)}
    again = st.Independent(epsilon=5.0, seed=1).fit(FRAME, SCHEMA)
    fitted[1].save(tmp_path / "r.syn")

    assert keys(fitted[1]).equals(keys(again))
    assert not keys(fitted[1]).equals(keys(fitted[2]))
    # Machines without a common seed may draw the parts of one table.
    assert fitted[1].sample(90)[["key", "number"]].equals(keys(st.load(tmp_path / "r.syn"), 90))
    assert fitted[1].sample(5)["running"].tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("epsilon", [10.0, np.inf])
def test_too_few_keys_are_told_before_anything_but_the_number_of_records_is_spent(
    tmp_path: Path, epsilon: float
) -> None:
    short = st.Schema({"key": st.Identifier(pattern=r"A\d"), "a": st.Numeric(0, 1000, integer=True)})
    journal = tmp_path / "run.journal"
    method = st.Independent(epsilon=epsilon, seed=1, journal=journal)

    with pytest.raises(SchemaError, match=r"column 'key': its pattern has 10 .* say by `distinct`"):
        method.fit(FRAME[["key", "a"]], short)

    assert journal.read_text().count("outcome") == 1

    again = short.with_column("key", st.Identifier(pattern=r"A\d", distinct=10))
    drawn = st.Independent(epsilon=epsilon, seed=1).fit(FRAME[["key", "a"]], again).sample(40)
    assert set(drawn["key"]) == {f"A{i}" for i in range(10)}


def test_as_many_keys_as_records_suffice_whatever_the_noise() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"key": [f"A{i:02d}" for i in range(100)], "a": rng.integers(0, 1000, 100)})
    schema = st.Schema({"key": st.Identifier(pattern=r"A\d\d"), "a": st.Numeric(0, 1000, integer=True)})

    # Half of the released numbers of records are above 100.
    for seed in range(8):
        release = st.Independent(epsilon=1.0, seed=seed).fit(frame, schema)
        assert len(release.sample(100)) == 100


def test_a_draw_of_more_rows_than_keys_names_the_column() -> None:
    frame, short = FRAME[["key", "a"]][:9], {"key": st.Identifier(pattern=r"A\d")}
    release = st.Independent(epsilon=10.0, seed=1).fit(frame, st.Schema({**short, "a": SCHEMA["a"]}))

    with pytest.raises(SchemaError, match=r"column 'key': pattern has 10 different keys, and more rows"):
        release.sample(11)
