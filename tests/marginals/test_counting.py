from __future__ import annotations

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syntabula.errors import ArgumentError, ResourceError, SchemaError
from syntabula.marginals import parts
from syntabula.marginals.counting import MemoryEngine, cover
from syntabula.marginals.domain import Domain, EncodedTable


def table(sizes, n, seed=0) -> EncodedTable:
    rng = np.random.default_rng(seed)
    domain = Domain(tuple(f"c{i}" for i in range(len(sizes))), tuple(sizes))
    return EncodedTable(domain, tuple(rng.integers(0, s, n) for s in sizes))


def brute_force(encoded: EncodedTable, clique) -> np.ndarray:
    """Count row by row, with Python's own integers."""
    counts = np.zeros(encoded.domain.shape(clique), dtype=object)
    for row in range(encoded.n_rows):
        counts[tuple(int(encoded.column(c)[row]) for c in clique)] += 1
    return counts


def assert_exact(encoded: EncodedTable, cliques) -> None:
    results = MemoryEngine(encoded).counts(cliques)
    assert len(results) == len(cliques)
    for clique, counts in zip(cliques, results, strict=True):
        assert counts.dtype == np.int64
        assert counts.shape == encoded.domain.shape(clique)
        assert (counts == brute_force(encoded, clique)).all()


@st.composite
def tables_and_cliques(draw):
    sizes = draw(st.lists(st.sampled_from([1, 1, 2, 3, 7, 16, 300]), min_size=1, max_size=6))
    encoded = table(sizes, draw(st.integers(0, 60)), draw(st.integers(0, 1000)))
    columns = st.lists(st.sampled_from(encoded.domain.columns), unique=True, max_size=3)
    return encoded, [tuple(c) for c in draw(st.lists(columns, max_size=12))]


class TestCounts:
    @pytest.mark.thorough
    @settings(max_examples=150)
    @given(tables_and_cliques())
    def test_equal_row_by_row_counts_for_any_cliques_in_any_order(self, case):
        """Equal a count row by row, for cliques of any width, order and number of repeats."""
        assert_exact(*case)

    @settings(max_examples=30)
    @given(tables_and_cliques(), st.integers(1, 70))
    def test_do_not_depend_on_where_the_rows_are_cut(self, case, chunk):
        encoded, cliques = case
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parts, "CHUNK_ROWS", chunk)
            assert_exact(encoded, cliques)

    def test_agree_with_numpys_histogram_around_the_real_chunk_size(self):
        for n in [65_535, 65_536, 65_537, 131_073]:
            encoded = table((5, 300, 2), n)
            cliques = list(combinations(encoded.domain.columns, 2))
            for clique, counts in zip(cliques, MemoryEngine(encoded).counts(cliques), strict=True):
                sample = np.stack([encoded.column(c) for c in clique], axis=1)
                edges = [np.arange(s + 1) - 0.5 for s in encoded.domain.shape(clique)]
                assert (counts == np.histogramdd(sample, edges)[0]).all()

    def test_are_exact_where_keys_change_their_type(self):
        for sizes in [
            (256, 2),
            (257, 2),
            (128, 2),
            (2, 32_768),
            (2, 32_769),
            (65_536, 3),
            (65_537, 3),
            (70_000, 2),
        ]:
            encoded = table(sizes, 200)
            last = EncodedTable(
                encoded.domain,
                tuple(np.append(c, s - 1) for c, s in zip(encoded.codes, sizes, strict=True)),
            )
            assert_exact(last, [("c0", "c1"), ("c1", "c0"), ("c0",), ("c1",)])

    def test_of_no_columns_are_the_number_of_rows(self):
        counts = MemoryEngine(table((3, 2), 17)).counts([()])[0]
        assert counts.shape == ()
        assert counts.dtype == np.int64
        assert int(counts) == 17

    def test_of_columns_of_one_code_are_the_number_of_rows(self):
        assert_exact(table((1, 1, 4), 9), [("c0", "c1"), ("c1",), ("c1", "c2", "c0")])

    def test_of_no_rows_are_zero(self):
        assert_exact(table((3, 2, 1), 0), [("c0", "c1"), ("c2",), ()])

    def test_of_nothing_are_an_empty_list(self):
        assert MemoryEngine(table((3,), 4)).counts([]) == []

    def test_that_are_asked_for_twice_share_no_memory(self):
        first, second, turned = MemoryEngine(table((3, 1), 8)).counts(
            [("c0", "c1"), ("c0", "c1"), ("c1", "c0")]
        )
        kept = second.copy()
        first += 1
        assert (second == kept).all()
        assert (turned == kept.T).all()

    def test_of_an_unknown_or_repeated_column_are_refused(self):
        engine = MemoryEngine(table((3, 2), 4))
        with pytest.raises(SchemaError, match="nothing"):
            engine.counts([("c0", "nothing")])
        with pytest.raises(SchemaError, match="twice"):
            engine.counts([("c0", "c0")])


class TestMemory:
    def test_too_wide_a_clique_is_refused_before_it_is_allocated(self):
        encoded = table((60_000, 60_000, 2), 4)
        with pytest.raises(ResourceError, match=r"c0.*c1.*3,600,000,000 cells of 8 bytes.*fewer bins"):
            MemoryEngine(encoded).counts([("c2",), ("c0", "c1")])

    def test_many_cliques_that_are_too_large_together_are_refused(self):
        encoded = table((500, 500, 500), 4)
        cliques = list(combinations(encoded.domain.columns, 2))
        assert len(MemoryEngine(encoded, limit_mb=7).counts(cliques[:1])) == 1
        with pytest.raises(ResourceError, match="3 marginals"):
            MemoryEngine(encoded, limit_mb=7).counts(cliques)

    def test_a_limit_that_is_no_size_is_refused(self):
        for limit in [0, float("nan"), float("inf"), "9"]:
            with pytest.raises(ArgumentError, match="limit_mb"):
                MemoryEngine(table((3,), 4), limit_mb=limit)

    def test_the_prediction_is_an_upper_bound_of_what_is_allocated(self):
        for sizes, k, turn in [
            ((10,) * 10, 2, False),
            ((10,) * 10, 3, True),
            ((1000, 1000, 3), 2, True),
            ((3000, 1000), 2, False),
        ]:
            encoded = table(sizes, 150_000)
            engine = MemoryEngine(encoded)
            cliques = [c[::-1] if turn else c for c in combinations(encoded.domain.columns, k)]
            engine.counts(cliques)
            tracemalloc.start()
            engine.counts(cliques)
            peak = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
            predicted = engine.memory_mb(cliques)
            assert peak <= predicted <= 3 * peak + 3

    def test_the_prediction_does_not_depend_on_the_rows(self):
        few, many = (MemoryEngine(table((4, 5, 6), n)) for n in (1, 3000))
        cliques = [("c0", "c1"), ("c2", "c1")]
        assert few.memory_mb(cliques) == many.memory_mb(cliques)


class TestCover:
    def test_all_pairs_of_ten_columns_come_from_ten_histograms_at_most(self):
        domain = Domain(tuple("abcdefghij"), (10,) * 10)
        pairs = list(combinations(domain.columns, 2))
        blocks = cover(domain, pairs, n_rows=1_000_000, block_cells=65_536)
        assert len(blocks) <= 10
        assert sorted(m for _, members in blocks for m in members) == sorted(pairs)

    def test_blocks_stay_below_their_cells(self):
        domain = Domain(tuple("abcdef"), (40, 2, 9, 70_000, 300, 5))
        pairs = list(combinations(domain.columns, 2))
        for block, members in cover(domain, pairs, n_rows=10**9, block_cells=65_536):
            assert domain.cells(block) <= 65_536 or members[0] == block

    def test_a_wide_table_of_few_rows_is_not_summed_over(self):
        domain = Domain(("a", "b"), (5000, 5000))
        blocks = cover(domain, [("a",), ("b",), ("a", "b")], n_rows=10, block_cells=65_536)
        assert blocks[0][0] == ("a", "b")
        assert ("a",) not in blocks[0][1]

    def test_every_clique_is_read_off_one_block_that_holds_it(self):
        for seed in range(20):
            rng = np.random.default_rng(seed)
            domain = Domain(tuple("abcdefgh"), tuple(rng.integers(1, 40, 8).tolist()))
            every = [c for width in range(5) for c in combinations(domain.columns, width)]
            cliques = [every[i] for i in rng.permutation(len(every))[: rng.integers(1, len(every))]]

            blocks = cover(domain, cliques, n_rows=int(rng.choice([10, 50_000])), block_cells=65_536)

            assert sorted(m for _, members in blocks for m in members) == sorted(cliques)
            assert all(set(m) <= set(block) for block, members in blocks for m in members)
            assert all(block == domain.canonical(block) for block, _ in blocks)
