from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syntabula.errors import ArgumentError, DataError, ReleaseFileError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import Measurement
from syntabula.marginals.recoding import Recoding, compress, merge_rare

DOMAIN = Domain(("a", "b", "c"), (5, 3, 4))


def recoding() -> Recoding:
    maps = {"a": np.array([0, 2, 1, 2, 2]), "c": np.array([0, 0, 1, 1])}
    return Recoding(DOMAIN, maps, {"a": np.array([7.0, 1.0, 9.0, 0.0, 3.0])})


def table(n=400, seed=0) -> EncodedTable:
    rng = np.random.default_rng(seed)
    return EncodedTable(DOMAIN, tuple(rng.integers(0, s, n) for s in DOMAIN.sizes))


@st.composite
def recodings(draw):
    maps, shares = {}, {}
    for column, size in zip(DOMAIN.columns, DOMAIN.sizes, strict=True):
        if draw(st.booleans()):
            given = draw(st.lists(st.integers(0, size - 1), min_size=size, max_size=size))
            maps[column] = np.unique(given, return_inverse=True)[1]
            shares[column] = np.array(draw(st.lists(st.floats(0, 1e6), min_size=size, max_size=size)))
    return Recoding(DOMAIN, maps, shares)


class TestCounts:
    @settings(max_examples=50)
    @given(recodings(), st.permutations(DOMAIN.columns), st.integers(0, 3))
    def test_merged_counts_are_the_counts_of_the_merged_table(self, merging, order, k):
        clique = tuple(order[:k])
        before = MemoryEngine(table()).counts([clique])[0]
        after = MemoryEngine(merging.encode(table())).counts([clique])[0]
        merged = merging.merge_counts(clique, before)
        assert merged.dtype == np.int64
        assert (merged == after).all()

    @settings(max_examples=50)
    @given(recodings(), st.permutations(DOMAIN.columns), st.integers(0, 3))
    def test_expanded_counts_merge_back_to_themselves(self, merging, order, k):
        clique = tuple(order[:k])
        counts = np.random.default_rng(0).random(merging.target.shape(clique))
        expanded = merging.expand_counts(clique, counts)
        assert expanded.shape == DOMAIN.shape(clique)
        assert np.allclose(merging.merge_counts(clique, expanded), counts, rtol=1e-12)

    def test_expanded_counts_follow_the_shares(self):
        expanded = recoding().expand_counts(("a",), np.array([10.0, 20.0, 8.0]))
        assert expanded.tolist() == [10.0, 2.0, 20.0, 0.0, 6.0]

    def test_counts_of_another_shape_are_refused(self):
        with pytest.raises(ArgumentError, match="shape"):
            recoding().merge_counts(("a",), np.ones(6))
        with pytest.raises(ArgumentError, match="shape"):
            recoding().expand_counts(("a",), np.ones(5))

    def test_the_variances_of_merged_cells_add_up(self):
        merged = recoding().merge_measurement(Measurement(("b", "a"), np.ones((3, 5)), 2.0))
        assert merged.values[0].tolist() == [1.0, 1.0, 3.0]
        assert merged.variances[0] == pytest.approx([4.0, 4.0, 12.0])

    def test_a_measurement_without_merged_columns_stays_as_it_is(self):
        measurement = Measurement(("b",), np.ones(3), 2.0)
        assert recoding().merge_measurement(measurement) is measurement

    def test_an_exact_measurement_stays_exact(self):
        assert recoding().merge_measurement(Measurement(("a",), np.ones(5), 0.0)).sigma == 0.0


class TestRows:
    @settings(max_examples=50)
    @given(recodings(), st.integers(0, 50))
    def test_decoded_rows_encode_to_themselves(self, merging, n):
        merged = merging.encode(table(n))
        decoded = merging.decode(merged, np.random.default_rng(0))
        assert decoded.domain == DOMAIN
        again = merging.encode(decoded)
        assert all((x == y).all() for x, y in zip(merged.codes, again.codes, strict=True))

    def test_the_identity_copies(self):
        same = Recoding.identity(DOMAIN)
        assert same.target == DOMAIN
        decoded = same.decode(same.encode(table()), np.random.default_rng(0))
        assert all((x == y).all() for x, y in zip(decoded.codes, table().codes, strict=True))

    def test_old_codes_are_drawn_by_their_shares(self):
        # 40000 draws, share 1/4: standard error 0.0022, bound at 6 of them; false alarm 2e-9.
        target = recoding().target
        rows = EncodedTable(target, (np.full(40_000, 2), np.zeros(40_000, int), np.zeros(40_000, int)))
        drawn = recoding().decode(rows, np.random.default_rng(3)).column("a")
        frequency = np.bincount(drawn, minlength=5) / drawn.size
        assert frequency[[0, 2, 3]].tolist() == [0.0, 0.0, 0.0]
        assert frequency[1] == pytest.approx(0.25, abs=0.013)

    def test_numbers_of_old_codes_are_their_shares_but_for_rounding(self):
        rng = np.random.default_rng(0)
        merging = Recoding(Domain(("a",), (12,)), {"a": np.arange(12) // 4}, {"a": rng.random(12)})
        rows = EncodedTable(merging.target, (rng.integers(0, 3, 5_000),))
        numbers = merging.shares["a"] * np.repeat(np.bincount(rows.column("a")), 4)

        drawn = merging.decode(rows, rng).column("a")

        assert np.abs(np.bincount(drawn, minlength=12) - numbers).max() < 1.5
        # In random order: neighbours are as alike as any, in 4,999 pairs with a deviation of 35.
        alike = merging.encode(EncodedTable(merging.domain, (drawn,))).column("a")
        same = (drawn[1:] == drawn[:-1]).sum()
        assert (alike == rows.column("a")).all()
        assert abs(same - 4_999 * np.square(np.bincount(drawn) / drawn.size).sum()) < 5 * 35

    def test_edges_stay_with_the_columns_whose_codes_stay(self):
        domain = Domain(("a", "b"), (3, 2), frozenset("ab"), edges={"a": (0, 1, 2, 3), "b": (0, 1, 2)})

        merging = Recoding(domain, {"a": np.array([0, 0, 1])})

        assert merging.target.edges == {"b": (0, 1, 2)}
        assert domain.project(("a",)).edges == {"a": (0, 1, 2, 3)}

    def test_a_code_of_no_share_is_not_drawn_where_rounding_leaves_a_gap_below_one(self):
        class Largest:
            def random(self, n):
                return np.full(n, np.nextafter(1.0, 0.0))

            def permutation(self, n):
                return np.arange(n)

        # Seven sevenths add up to less than the largest number below one.
        merging = Recoding(Domain(("a",), (8,)), {"a": np.zeros(8, int)}, {"a": np.array([1.0] * 7 + [0.0])})

        drawn = merging.decode(EncodedTable(merging.target, (np.zeros(3, int),)), Largest())

        assert drawn.column("a").tolist() == [2, 4, 6]

    def test_many_groups_lose_no_precision(self):
        size = 60_000
        domain = Domain(("a",), (size,))
        merging = Recoding(domain, {"a": np.arange(size) // 3}, {"a": np.random.default_rng(0).random(size)})
        rows = EncodedTable(merging.target, (np.arange(size // 3),))
        assert (merging.decode(rows, np.random.default_rng(1)).codes[0] // 3 == rows.codes[0]).all()

    def test_a_table_of_another_domain_is_refused(self):
        with pytest.raises(DataError):
            recoding().encode(recoding().encode(table()))
        with pytest.raises(DataError):
            recoding().decode(table(), np.random.default_rng(0))


class TestComposition:
    def test_one_after_the_other_equals_both(self):
        second = Recoding(recoding().target, {"a": np.array([0, 1, 1]), "b": np.array([0, 1, 0])})
        both = recoding().then(second)
        one_by_one = second.encode(recoding().encode(table()))
        assert both.target == second.target
        assert all((x == y).all() for x, y in zip(both.encode(table()).codes, one_by_one.codes, strict=True))
        counts = np.random.default_rng(0).random(both.target.shape(("a", "b")))
        stepwise = recoding().expand_counts(("a", "b"), second.expand_counts(("a", "b"), counts))
        assert np.allclose(both.expand_counts(("a", "b"), counts), stepwise)

    def test_with_another_domain_is_refused(self):
        with pytest.raises(ArgumentError, match="domain of the second recoding"):
            recoding().then(recoding())

    def test_a_projection_keeps_the_maps_of_its_columns(self):
        part = recoding().project(("c", "b"))
        assert part.target.shape(("c", "b")) == (2, 3)
        assert list(part.maps) == ["c"]


class TestState:
    @settings(max_examples=30)
    @given(recodings())
    def test_is_read_back(self, merging):
        facts, arrays = merging.state()
        back = Recoding.from_state(json.loads(json.dumps(facts)), arrays)
        assert (back.domain, back.target) == (merging.domain, merging.target)
        assert all((back.maps[c] == merging.maps[c]).all() for c in merging.maps)
        assert all(np.allclose(back.shares[c], merging.shares[c], rtol=1e-15) for c in merging.maps)

    def test_with_a_part_missing_is_refused(self):
        facts, arrays = recoding().state()
        with pytest.raises(ReleaseFileError):
            Recoding.from_state(facts, {k: v for k, v in arrays.items() if k != "map/0"})
        with pytest.raises(ReleaseFileError):
            Recoding.from_state(facts, arrays | {"map/0": np.array([0, 1])})


class TestValidation:
    def test_a_map_or_share_that_does_not_fit_is_refused(self):
        for codes, shares in [
            ([0, 1, 1, 1], None),
            ([0, 2, 2, 2, 2], None),
            ([-1, 0, 0, 0, 0], None),
            ([0.0, 1, 1, 1, 1], None),
            ([0, 1, 1, 1, 1], [1.0, 1.0]),
            ([0, 1, 1, 1, 1], [1.0, -1.0, 1.0, 1.0, 1.0]),
            ([0, 1, 1, 1, 1], [1.0, float("nan"), 1.0, 1.0, 1.0]),
        ]:
            given_shares = {} if shares is None else {"a": np.array(shares)}
            with pytest.raises(ArgumentError, match="'a'"):
                Recoding(DOMAIN, {"a": np.array(codes)}, given_shares)

    def test_shares_without_a_map_are_refused(self):
        with pytest.raises(ArgumentError, match="has no map"):
            Recoding(DOMAIN, {}, {"a": np.ones(5)})


class TestCompress:
    def merged(self, values, sigma=1.0, **options):
        domain = Domain(("a",), (len(values),))
        return compress([Measurement(("a",), np.array(values, dtype=float), sigma)], domain=domain, **options)

    def test_drowned_codes_become_one_last_code_with_equal_shares(self):
        done = self.merged([1.0, 10.0, 3.0, -2.0, 2.9])
        assert done.maps["a"].tolist() == [2, 0, 1, 2, 2]
        assert done.shares["a"] == pytest.approx([1 / 3, 1, 1, 1 / 3, 1 / 3])

    def test_one_drowned_code_stays_as_it_is(self):
        assert self.merged([10.0, 1.0, 8.0]).maps == {}

    def test_all_codes_stay_if_none_passes(self):
        assert self.merged([1.0, 0.0, 2.0]).maps == {}

    def test_all_codes_stay_without_noise_or_threshold(self):
        assert self.merged([0.0, 0.0, 5.0], sigma=0.0).maps == {}
        assert self.merged([-1.0, 0.0, 5.0], threshold_sigmas=0).maps == {}

    def test_an_impossible_threshold_is_refused(self):
        for threshold in [-1.0, float("nan"), "3"]:
            with pytest.raises(ArgumentError, match="threshold_sigmas"):
                self.merged([1.0, 2.0], threshold_sigmas=threshold)

    def test_a_measurement_of_two_columns_is_refused(self):
        pair = Measurement(("a", "b"), np.eye(3)[:, :2] * 9, 1.0)
        for merge in (compress, merge_rare):
            with pytest.raises(ArgumentError, match="single columns"):
                merge([pair], domain=Domain(("a", "b"), (3, 2)))


class TestMergeRare:
    def test_the_threshold_is_the_larger_of_part_and_noise(self):
        domain = Domain(("a",), (4,))
        measured = [Measurement(("a",), np.array([900.0, 60.0, 35.0, 5.0]), 2.0)]
        assert merge_rare(measured, domain=domain, theta=0.05).maps["a"].tolist() == [0, 1, 2, 2]
        assert merge_rare(measured, domain=domain, theta=0.0).maps == {}
        noisier = [Measurement(("a",), measured[0].values, 12.0)]
        assert merge_rare(noisier, domain=domain, theta=0.0).maps["a"].tolist() == [0, 1, 2, 2]

    def test_shares_follow_the_noisy_counts(self):
        domain = Domain(("a",), (4,))
        measured = [Measurement(("a",), np.array([900.0, 5.0, -3.0, 1.0]), 4.0)]
        assert merge_rare(measured, domain=domain).shares["a"] == pytest.approx([1, 6 / 9, 1 / 9, 2 / 9])

    def test_an_impossible_theta_is_refused(self):
        for theta in [-0.1, 1.1, float("nan")]:
            with pytest.raises(ArgumentError, match="theta"):
                merge_rare([], domain=DOMAIN, theta=theta)


def test_rows_are_divided_by_chance_where_a_release_of_before_drew_them_so() -> None:
    domain = Domain.from_sizes({"a": 4})
    recoding = Recoding(domain, {"a": np.array([0, 0, 0, 1])}, {"a": np.array([0.5, 0.25, 0.25, 1.0])})
    facts, arrays = recoding.state()
    earlier = Recoding.from_state({k: v for k, v in facts.items() if k != "evenly"}, arrays)
    rows = EncodedTable(recoding.target, (np.zeros(400, np.uint8),))

    drawn, before = (
        np.bincount(r.decode(rows, np.random.default_rng(0)).column("a"), minlength=4)
        for r in (Recoding.from_state(facts, arrays), earlier)
    )

    assert drawn.tolist() == [200, 100, 100, 0]
    assert before.tolist() != drawn.tolist()
