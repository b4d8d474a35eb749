"""Patterns of keys: what they mean, which are refused, and that drawn keys fit, differ and need no data."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import SchemaError
from syntabula.table.schema.key_patterns import UUID, KeyPattern, pattern_of, repeated_positions

PATTERNS = {
    r"\d{4}-[A-Z]{5}": 10**4 * 26**5,
    r"C-\d{6}": 10**6,
    "uuid": 16**30 * 4,
    "[0-9a-f]{4}": 16**4,
    r"A\.[A-Za-z]\d": 520,
    "x": 1,
    "[ab]{2}": 4,
}


def drawn(pattern: KeyPattern, first: int, n: int) -> list[str]:
    return pattern.at(pattern.positions(first, n))


def test_they_say_which_keys_there_are() -> None:
    for pattern, n_keys in PATTERNS.items():
        found = KeyPattern.of(pattern)
        n = min(n_keys, 5000)

        keys = drawn(found, 0, n)

        assert found.n_keys == n_keys
        assert len(set(keys)) == n
        assert all(map(re.compile(UUID if pattern == "uuid" else pattern).fullmatch, keys))


def test_all_keys_are_drawn_once() -> None:
    keys = drawn(KeyPattern.of(r"[A-Z]\d[xyz]"), 0, 780)

    assert len(set(keys)) == 780


def test_pieces_go_on_where_others_end() -> None:
    pattern = KeyPattern.of(r"\d{4}-[A-Z]{5}")

    assert drawn(pattern, 0, 50) + drawn(pattern, 50, 70) == drawn(pattern, 0, 120)
    assert drawn(pattern, 3, 0) == []


def test_numbers_are_the_same_keys() -> None:
    for text in [r"[1-9]\d{7}", r"[1-9]\d{17}", "[24][13]"]:
        pattern = KeyPattern.of(text)
        some = pattern.positions(0, min(pattern.n_keys, 1000))

        assert pattern.numbers_at(some).tolist() == [int(key) for key in pattern.at(some)]
        assert pattern.numbers_at(some[:0]).size == 0


def test_keys_of_two_columns_do_not_follow_from_each_other() -> None:
    # Of 1,000 pairs of equal chance 1 in 90 is expected: 11, and 60 with a probability below 1e-20.
    for text, most in [(r"[1-9]\d", 60), ("uuid", 0)]:
        one, other = (KeyPattern.of(text, name) for name in ("order", "customer"))
        some = np.arange(1000, dtype=np.uint64) % np.uint64(90)
        alike = [a[-4:] == b[-4:] for a, b in zip(one.at(some), other.at(some), strict=True)]

        assert sum(alike) <= most
        assert drawn(one, 0, 9) == drawn(KeyPattern.of(text, "order"), 0, 9)


def test_neighbours_look_unlike() -> None:
    keys = drawn(KeyPattern.of(r"\d{6}"), 0, 10_000)
    steps = np.diff([int(key) for key in keys])

    assert len(set(steps.tolist())) > 9000
    # 10,000 drawn digits of each place: a count of 1,000 has a standard deviation of 30.
    counts = np.array([[key[place] == str(d) for key in keys] for place in range(6) for d in range(10)]).sum(
        1
    )
    assert np.abs(counts - 1000).max() < 250


def test_repeated_positions_are_all_taken_before_one_comes_again() -> None:
    found = repeated_positions(0, 1_000, 40, "store").reshape(25, 40)

    assert [sorted(run) for run in found.tolist()] == [list(range(40))] * 25
    assert found[0].tolist() == list(range(40))
    assert len({tuple(run) for run in found.tolist()}) == 25
    assert repeated_positions(0, 3, 1, "store").tolist() == [0, 0, 0]


def test_repeated_positions_of_pieces_are_those_of_the_whole() -> None:
    pieces = [repeated_positions(first, 35, 40, "store") for first in range(0, 140, 35)]

    assert np.concatenate(pieces).tolist() == repeated_positions(0, 140, 40, "store").tolist()
    assert repeated_positions(7, 0, 40, "store").size == 0


def test_repeated_positions_of_two_columns_do_not_follow_from_each_other() -> None:
    one, two = (repeated_positions(0, 100_000, 40, name) for name in ("origin", "destination"))

    # Of 2,500 rows of each position, in the first round all are equal, then 1 in 40: 63 with a deviation of 8.
    together = np.bincount((40 * one + two).astype(np.intp), minlength=1600)
    assert together.max() < 63 + 1 + 8 * 8
    assert together.min() > 63 - 7.5 * 8


def test_more_rows_than_keys_are_refused() -> None:
    with pytest.raises(SchemaError, match="pattern has 100 different keys, and more rows"):
        drawn(KeyPattern.of(r"\d{2}"), 90, 11)


def test_others_are_refused() -> None:
    for pattern in [
        "",
        7,
        "[A-Z",
        "a|b",
        "(ab)",
        "a*",
        r"\w{3}",
        "[^a]",
        r"\d{0}",
        r"\d{2,3}",
        "a{",
        "^a$",
        "a\\",
    ]:
        with pytest.raises(SchemaError, match="pattern"):
            KeyPattern.of(pattern)


def test_wrong_classes_are_refused() -> None:
    for pattern in ["[Z-A]", "[A-z]", "[0-Z]", "[aa]", r"\d{201}"]:
        with pytest.raises(SchemaError, match="pattern"):
            KeyPattern.of(pattern)


def test_a_draft_proposes_the_narrowest() -> None:
    for keys, pattern in [
        (["7590-VHVEG", "5575-GNXDE", "0001-ABCFG"], r"\d{4}-[A-Z]{5}"),
        (["C-000123", "C-000999"], r"C-\d{6}"),
        (["a.1", "b.2"], r"[a-z]\.\d"),
        (["00f1", "12a4", "12bf"], r"\d{2}[a-z][0-9a-f]"),
        (["aB3", "Zz9"], r"[A-Za-z]{2}\d"),
        (["123e4567-e89b-42d3-a456-426614174000", "00112233-4455-4677-8899-aabbccddeeff"], "uuid"),
        (["ab", "abc"], None),
        (["é1", "a1"], None),
        ([], None),
    ]:
        found = pattern_of(keys)

        assert found == pattern
        if pattern is not None:
            assert all(map(re.compile(UUID if pattern == "uuid" else pattern).fullmatch, keys))


def test_columns_with_other_entries_are_refused() -> None:
    for given, said in (
        ({"pattern": r"\d{4}", "prefix": "a"}, "drop prefix and width"),
        ({"pattern": r"\d{4}", "width": 4}, "drop prefix and width"),
        ({"pattern": r"\d{4}", "integer": True}, "does not begin with zero"),
        ({"pattern": r"[1-9]\d{18}", "integer": True}, "1 to 18 digits"),
        ({"pattern": r"\d{2}", "distinct": 101}, "100 different keys, fewer than `distinct`"),
    ):
        with pytest.raises(SchemaError, match=said):
            st.Identifier(**given)


def test_a_release_draws_new_keys_of_the_same_shape(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    keys = [f"{i:04d}-{''.join(rng.choice([*'ABCDEFGH'], 5))}" for i in range(500)]
    frame = pd.DataFrame(
        {"customerID": keys, "n": rng.integers(10_000_000, 99_999_999, 500), "x": [1, 2] * 250}
    )
    schema = st.Schema(
        {
            "customerID": st.Identifier(pattern=r"\d{4}-[A-Z]{5}"),
            "n": st.Identifier(pattern=r"[1-9]\d{7}", integer=True),
            "x": st.Numeric(1, 2, integer=True),
        }
    )
    schema.to_yaml(tmp_path / "s.yaml")

    release = st.Independent(epsilon=1.0, seed=0).fit(frame, st.Schema.from_yaml(tmp_path / "s.yaml"))
    release.save(tmp_path / "r.syn")
    made = st.load(tmp_path / "r.syn").sample(1000, seed=0)

    assert made["customerID"].is_unique
    assert made["customerID"].str.fullmatch(r"\d{4}-[A-Z]{5}").all()
    assert made["n"].is_unique
    assert made["n"].between(10**7, 10**8 - 1).all()
    assert made["n"].dtype == np.int64
    assert st.draft_schema(frame)[0]["customerID"].pattern == r"\d{4}-[A-Z]{5}"


def test_declared_keys_repeat_in_a_release_but_those_of_units_do_not(tmp_path: Path) -> None:
    frame = pd.DataFrame({"person": [*"abcdef"] * 50, "store": "S-1", "till": 1, "x": [1, 2] * 150})
    declared = st.Schema(
        {
            "person": st.Identifier(distinct=2),
            "store": st.Identifier(pattern=r"S-\d{3}", distinct=40),
            "till": st.Identifier(integer=True, distinct=3),
            "x": st.Numeric(1, 2, integer=True),
        },
        unit="person",
        rows_per_unit=1,
    )
    declared.to_yaml(tmp_path / "s.yaml")

    release = st.Independent(epsilon=1.0, seed=0).fit(frame, st.Schema.from_yaml(tmp_path / "s.yaml"))
    release.save(tmp_path / "r.syn")
    made = st.load(tmp_path / "r.syn").sample(200, seed=0)

    assert made["person"].is_unique
    assert made["store"].value_counts().tolist() == [5] * 40
    assert made["store"].str.fullmatch(r"S-\d{3}").all()
    assert sorted(made["till"].unique()) == [1, 2, 3]
