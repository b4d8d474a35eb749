"""The same counts from one part, several, an empty one, and from what the first pass kept."""

from __future__ import annotations

import pickle
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syntabula.errors import ResourceError, SchemaError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.parts import CountFold, HeldParts
from syntabula.marginals.passes import PassEngine


def table(sizes=(3, 5, 2, 7), n=400, seed=0) -> EncodedTable:
    rng = np.random.default_rng(seed)
    domain = Domain(tuple(f"c{i}" for i in range(len(sizes))), tuple(sizes))
    return EncodedTable(domain, tuple(rng.integers(0, s, n) for s in sizes))


def cut(rows: EncodedTable, cuts) -> HeldParts[EncodedTable]:
    """Return the rows in parts that end at these rows."""
    ends = [0, *sorted(cuts), rows.n_rows]
    pairs = pairwise(ends)
    return HeldParts(tuple(EncodedTable(rows.domain, tuple(c[a:b] for c in rows.codes)) for a, b in pairs))


def engine(rows: EncodedTable, cuts=(0, 13, 13, 200), **options) -> PassEngine:
    return PassEngine(cut(rows, cuts), rows.domain, **options)


@st.composite
def cases(draw):
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 16, 60]), min_size=1, max_size=5))
    rows = table(tuple(sizes), draw(st.integers(0, 60)), draw(st.integers(0, 1000)))
    cuts = draw(st.lists(st.integers(0, rows.n_rows), max_size=7))
    columns = st.lists(st.sampled_from(rows.domain.columns), unique=True, max_size=3)
    cliques = [tuple(c) for c in draw(st.lists(columns, max_size=8))]
    return rows, cuts, cliques, draw(st.sampled_from([4000.0, 4.0]))


class TestCounts:
    @pytest.mark.thorough
    @settings(max_examples=60)
    @given(cases())
    def test_are_those_of_the_whole_table_wherever_it_is_cut_and_whatever_is_kept(self, case):
        rows, cuts, cliques, limit = case
        parts = engine(rows, cuts, limit_mb=limit)

        try:
            parts.check_memory(cliques)
        except ResourceError:
            assert limit < 4000
            return
        expected = MemoryEngine(rows).counts(cliques)
        for _ in range(2):
            for found, right in zip(parts.counts(cliques), expected, strict=True):
                assert found.shape == right.shape
                assert found.dtype == np.int64
                assert (found == right).all()

    def test_of_a_part_that_is_counted_twice_differ(self):
        """What the other tests would find: a part that a retry adds again."""
        rows = table()
        parts = cut(rows, (100,))
        twice = PassEngine(HeldParts((*parts.parts, parts.parts[0])), rows.domain)

        assert (twice.counts([("c0",)])[0] != MemoryEngine(rows).counts([("c0",)])[0]).any()

    def test_of_an_unknown_column_are_refused(self):
        with pytest.raises(SchemaError, match="nothing"):
            engine(table()).counts([("c0", "nothing")])

    def test_that_are_kept_cannot_be_changed(self):
        (kept,) = engine(table()).counts([("c0", "c1")])

        with pytest.raises(ValueError, match="read-only"):
            kept += 1


class TestPasses:
    def test_one_pass_answers_all_questions_of_up_to_two_columns(self):
        rows = table()
        parts = engine(rows)

        for clique in [(), *combinations(rows.domain.columns, 1), *combinations(rows.domain.columns, 2)]:
            parts.counts([clique])

        assert parts.passes == 1

    def test_wider_questions_take_a_pass_for_each_time_that_they_are_asked(self):
        parts = engine(table())

        parts.counts([("c0", "c1")])
        parts.counts([("c0", "c1", "c2"), ("c1", "c2", "c3"), ("c3",)])

        assert parts.passes == 2

    def test_pairs_for_which_there_is_no_memory_are_counted_when_they_are_asked(self):
        rows = table((2, 3, 2000, 2000), 300)
        small = engine(rows, limit_mb=80)

        found = small.counts([("c0", "c1"), ("c1", "c2")])
        assert small.passes == 1
        (wide,) = small.counts([("c2", "c3")])

        assert small.passes == 2
        for clique, counts in zip([("c0", "c1"), ("c1", "c2"), ("c2", "c3")], [*found, wide], strict=True):
            assert (counts == MemoryEngine(rows).counts([clique])[0]).all()

    def test_a_question_above_the_limit_is_refused_before_a_pass(self):
        rows = table((60_000, 60_000, 2), 4)
        parts = engine(rows, ())

        with pytest.raises(ResourceError, match="3,600,000,000 cells"):
            parts.counts([("c0", "c1")])
        assert parts.passes == 0


class TestRows:
    def test_are_joined_in_the_order_of_their_parts(self):
        rows = table((300, 2), 40)

        found = engine(rows, (7, 7, 30)).records()

        assert all((a == b).all() for a, b in zip(found.codes, rows.codes, strict=True))

    def test_of_no_parts_are_none(self):
        domain = table().domain

        assert PassEngine(HeldParts(()), domain).records().n_rows == 0
        assert (PassEngine(HeldParts(()), domain).counts([("c0", "c3")])[0] == 0).all()

    def test_in_another_coding_are_counted_as_in_memory(self):
        rows = table()
        domain = Domain(("sum",), (8,))

        def recode(some: EncodedTable) -> EncodedTable:
            return EncodedTable(domain, (some.column("c0") + some.column("c1"),))

        expected = MemoryEngine(rows).mapped(domain, recode).counts([("sum",)])[0]
        assert (engine(rows).mapped(domain, recode).counts([("sum",)])[0] == expected).all()

    def test_are_summed_piece_by_piece(self):
        rows = table()

        total = engine(rows).summed(lambda some: np.bincount(some.column("c3"), minlength=7))

        assert (total == np.bincount(rows.column("c3"), minlength=7)).all()


class TestFold:
    def test_counts_the_same_after_it_was_pickled(self):
        rows = table()
        fold = CountFold(rows.domain, (("c0", "c2"), ("c3",)))
        again = pickle.loads(pickle.dumps(fold))
        state = again.start()

        again.add(state, rows)

        for found, right in zip(again.histograms(state), MemoryEngine(rows).counts(fold.blocks), strict=True):
            assert (found == right).all()

    def test_adds_states_in_any_order(self):
        rows = table()
        parts = cut(rows, (50, 300)).parts
        fold = CountFold(rows.domain, (("c0", "c1"),))
        states = [HeldParts((part,)).fold(fold) for part in parts]
        total = fold.start()

        for state in reversed(states):
            fold.merge(total, state)

        assert (fold.histograms(total)[0] == MemoryEngine(rows).counts([("c0", "c1")])[0]).all()
