"""PrivMRF's refinement: how it is spread over steps, and what a choice looks at."""

from __future__ import annotations

from itertools import combinations

from syntabula.marginals.domain import Domain
from syntabula.select.refinement import looked_at, refinement_count, spread_over_steps

COLUMNS = ("a", "b", "c", "d")
DEPENDENCE = {pair: 0.1 * number for number, pair in enumerate(combinations(COLUMNS, 2))}
PAIRS = list(DEPENDENCE)
TRIPLES = list(combinations(COLUMNS, 3))


def test_there_are_four_refinements_for_five_columns() -> None:
    assert refinement_count(Domain(tuple("abcde"), (2,) * 5)) == 4


def test_refinements_are_spread_over_the_steps() -> None:
    assert spread_over_steps(11, 14) == [1, 2, 1, 2, 1, 2, 2]
    assert sum(spread_over_steps(80, 100)) == 80
    assert len(spread_over_steps(80, 100)) == 8
    assert spread_over_steps(1, 2) == [1]


def test_the_most_dependent_come_first_and_those_looked_at_before_last() -> None:
    assert looked_at(PAIRS, set(), DEPENDENCE, {}, most=2) == [("c", "d"), ("b", "d")]
    assert looked_at(PAIRS, set(), DEPENDENCE, {("c", "d"): 1}, most=2) == [("b", "d"), ("b", "c")]


def test_wider_marginals_get_a_larger_part() -> None:
    found = looked_at([*PAIRS, *TRIPLES], set(), DEPENDENCE, {}, most=5)

    assert [len(clique) for clique in found] == [2, 2, 3, 3, 3]


def test_what_was_measured_is_left_out_unless_nothing_else_is_there() -> None:
    assert looked_at(PAIRS, set(PAIRS[1:]), DEPENDENCE, {}, most=9) == PAIRS[:1]
    assert set(looked_at(PAIRS, set(PAIRS), DEPENDENCE, {}, most=9)) == set(PAIRS)
