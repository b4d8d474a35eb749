from __future__ import annotations

import pytest

from syntabula.bench import Candidate
from syntabula.bench.random_pairs import RandomPairs
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Domain

DOMAIN = Domain.from_sizes(dict.fromkeys("abcde", 3))


def test_more_pairs_have_those_of_fewer_and_all_columns() -> None:
    few, many, all_of_them = (RandomPairs(pairs=n)._workload(DOMAIN).cliques for n in (3, 6, 99))

    assert [len(cliques) for cliques in (few, many, all_of_them)] == [5 + 3, 5 + 6, 5 + 10]
    assert set(few) < set(many) < set(all_of_them)
    assert {("a",), ("e",)} < set(few)


def test_a_row_of_a_study_sets_their_number() -> None:
    made = Candidate(method="random_pairs+pgm", options={"pairs": 7}).synthesizer(epsilon=1.0)

    assert made.selector == RandomPairs(pairs=7)
    with pytest.raises(ArgumentError, match="pairs must be"):
        RandomPairs(pairs=0)
