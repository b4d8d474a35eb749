"""Memory in messages: what is needed is always seen to be more than what is allowed."""

from __future__ import annotations

import math
import re

from hypothesis import given
from hypothesis import strategies as st

from syntabula._memory import above_limit, table_mb

sizes = st.floats(min_value=1e-12, max_value=1e15, allow_nan=False)


def test_small_and_close_sizes_are_told_apart():
    for needed, limit, said in [
        (0.0004, 0.0001, "0.0004 MB, above the limit of 0.0001 MB"),
        (4000.3, 4000.2, "4,001 MB, above the limit of 4,000 MB"),
        (12.3401, 12.34, "12.4 MB, above the limit of 12.3 MB"),
        (5_000_000.0, 4000.0, "5,000,000 MB, above the limit of 4,000 MB"),
        (math.inf, 4000.0, "more than 1e+308 MB, above the limit of 4,000 MB"),
    ]:
        assert above_limit(needed, limit) == said


@given(sizes, sizes)
def test_the_larger_size_is_printed_as_the_larger_one(one, other):
    needed, limit = max(one, other), min(one, other)

    first, second = (
        float(n.replace(",", "")) for n in re.findall(r"([\d.,]+) MB", above_limit(needed, limit))
    )

    assert first >= needed >= limit >= second
    assert first > second or needed == limit


def test_a_table_of_more_cells_than_a_float_holds_is_infinite():
    assert table_mb(2**17) == 1.0
    assert table_mb(10**400) == math.inf
