"""Keys of several patterns: their shares, that they differ, and which are refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

import syntabula as st
from syntabula.errors import SchemaError
from syntabula.table.new_keys import identifier_of
from syntabula.table.schema.key_mixtures import KeyMixture, keys_of
from syntabula.table.schema.key_patterns import KeyPattern, alternatives_of

TAILS = r"N\d{3}[A-Z]{2}|N\d{5}|N\d{4}"


def test_each_has_its_share_and_no_key_comes_twice() -> None:
    found = keys_of(TAILS, (0.6, 0.3, 0.1), "tail")
    assert isinstance(found, KeyMixture)
    # Of 10,000 keys of the last one, 100 are used by each block.
    assert found.n_keys == 100_000

    keys = found.at(found.positions(0, 100_000))

    assert len(set(keys)) == 100_000
    for pattern, share in zip(TAILS.split("|"), (0.6, 0.3, 0.1), strict=True):
        fitting = [re.fullmatch(pattern, key) is not None for key in keys]
        assert np.mean(fitting) == pytest.approx(share)
        # In a part of a block as well: a hypergeometric number, 10 standard deviations are below 0.2.
        assert np.mean(fitting[:500]) == pytest.approx(share, abs=0.2)
    assert found.at(found.positions(300, 400)) == keys[300:700]
    assert all(map(found.fits, keys))
    assert not found.fits("M1234")
    with pytest.raises(SchemaError, match="different keys for 100,000 rows"):
        found.positions(99_999, 2)


@pytest.mark.parametrize(
    ("shares", "counts"),
    [
        ((0.9999, 0.0001), (999, 1)),
        ((5e-324, 1e308), (1, 999)),
        ((1e308, 1e308), (500, 500)),
        ((0.7, 0.3), (700, 300)),
    ],
)
def test_each_comes_at_least_once_in_a_block(shares: tuple[float, ...], counts: tuple[int, ...]) -> None:
    found = st.Identifier(pattern=r"A\d{5}|B\d{5}", shares=shares).keys()
    keys = found.at(found.positions(0, 1000))

    assert tuple(sum(key[0] == letter for key in keys) for letter in "AB") == counts


def test_a_single_one_is_as_before_and_numbers_are_the_same_keys() -> None:
    assert keys_of(r"a\|\d", None, "x") == KeyPattern.of(r"a\|\d", "x")
    found = keys_of(r"[1-9]\d{3}|[1-9]\d{5}", (2, 1))
    assert found.is_number
    some = found.positions(0, 600)
    assert found.numbers_at(some).tolist() == [int(key) for key in found.at(some)]


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        (r"\d{3}\|", [r"\d{3}\|"]),
        (r"\||\|\|", [r"\|", r"\|\|"]),
        (r"a\\|b", [r"a\\", "b"]),
        (r"\[|\]", [r"\[", r"\]"]),
    ],
)
def test_only_a_bar_without_a_backslash_joins(pattern: str, parts: list[str]) -> None:
    assert alternatives_of(pattern) == parts
    assert st.Identifier(pattern=pattern).keys() == keys_of(pattern)


def test_keys_that_end_in_a_bar_are_drafted() -> None:
    keys = dict.fromkeys([f"{i:05d}|" for i in range(500)], 1)
    assert identifier_of(keys, nullable=False, provenance="observed").pattern == r"\d{5}\|"


def test_a_draft_has_the_few_patterns_of_its_keys() -> None:
    rng = np.random.default_rng(0)
    tails = {f"N{i}{'JB' if i % 4 else 'AA'}": 1 for i in range(100, 900)}
    tails |= {f"N{i}": 1 for i in range(10_000, 10_200)}
    key = identifier_of(tails, nullable=False, provenance="observed")
    assert key.pattern == r"N\d{3}JB|N\d{3}AA|N\d{5}"
    assert key.shares == (0.6, 0.2, 0.2)

    random = {"".join(row): 1 for row in rng.choice([*"XYZ123"], (800, 8))}
    assert identifier_of(random, nullable=False, provenance="observed").pattern == "[A-Z0-9]{8}"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pattern": r"N\d{3}|[A-Z]\d{3}"}, "keys in common"),
        ({"pattern": r"N\d|"}, "no characters on one side"),
        ({"pattern": r"|N\d"}, "no characters on one side"),
        ({"pattern": r"N\d||M\d"}, "no characters on one side"),
        ({"pattern": "a|b\\"}, "ends in a backslash"),
        ({"pattern": "[|]"}, "from its character 1 on"),
        ({"pattern": "|".join(f"{i:04d}" for i in range(1001))}, "joins 1,001 patterns"),
        ({"pattern": r"N\d", "shares": [1]}, "shares must be"),
        ({"pattern": r"N\d|M\d", "shares": [1]}, "shares must be"),
        ({"pattern": r"N\d|M\d", "shares": [1, 0]}, "shares must be"),
        ({"shares": [1, 2]}, "shares must be"),
        ({"pattern": r"1\d|0\d", "integer": True}, "integer identifiers need"),
    ],
)
def test_wrong_ones_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        st.Identifier(**options)  # type: ignore[arg-type]


def test_schema_files_keep_them() -> None:
    schema = st.Schema({"tail": st.Identifier(pattern=TAILS, shares=(0.6, 0.3, 0.1))})
    assert st.Schema.from_json(schema.to_json()) == schema
