"""Which texts are keys, and how many of new ones differ."""

from __future__ import annotations

from collections import Counter

import pytest

from syntabula.table.key_texts import hardly_repeat, how_many_differ, identifier_of


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
