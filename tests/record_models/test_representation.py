"""Lookup tables of codes from their one-way marginals."""

from __future__ import annotations

import numpy as np

from syntabula.marginals.domain import Domain
from syntabula.record_models.representation import column_lookup, column_lookups, normal_scores


class TestPlaces:
    def test_encoding_and_decoding_a_code_with_records_gives_it_back(self) -> None:
        counts = np.array([0.0, 5, 0, 1, 2, 0])
        for waves in (None, 3):
            lookup = column_lookup(counts, waves=waves)

            seen = np.flatnonzero(counts)
            assert lookup.codes[lookup.places[seen]].tolist() == seen.tolist()

    def test_a_code_without_records_is_unknown_or_in_an_ordered_column_the_nearest_one(self) -> None:
        counts = np.array([0.0, 5, 0, 0, 2, 0])

        assert column_lookup(counts, waves=None).places.tolist() == [2, 0, 2, 2, 1, 2]
        assert column_lookup(counts, waves=2).places.tolist() == [0, 0, 0, 1, 1, 1]

    def test_without_any_record_all_codes_are_as_frequent(self) -> None:
        lookup = column_lookup(np.array([0.0, -1.5, 0.0]), waves=None)

        np.testing.assert_allclose(np.exp(lookup.log_shares), [1 / 3] * 3, rtol=1e-6)


class TestNumbers:
    def test_shares_are_those_of_the_marginal_and_one_record_more(self) -> None:
        lookup = column_lookup(np.array([3.0, 6.0]), waves=None)

        np.testing.assert_allclose(np.exp(lookup.log_shares), [0.35, 0.65], rtol=1e-6)

    def test_waves_follow_the_rank_and_are_orthogonal_on_records(self) -> None:
        n = 400
        lookup = column_lookup(np.ones(n), waves=4)

        assert lookup.waves is not None
        np.testing.assert_allclose(lookup.waves.T @ lookup.waves / n, np.eye(4), atol=1e-4)
        assert lookup.waves[0, 0] > 1.41 > -1.41 > lookup.waves[-1, 0]

    def test_only_ordered_columns_have_waves(self) -> None:
        domain = Domain(("a", "b"), (2, 3), frozenset({"b"}))

        found = column_lookups(domain, {"a": np.ones(2), "b": np.ones(3)}, waves=5)

        assert found[0].waves is None
        assert found[1].waves is not None
        assert found[1].waves.shape == (3, 5)


class TestNormalScores:
    def test_encoding_and_decoding_a_code_with_records_gives_it_back(self) -> None:
        for counts in ([3.0, 1, 900, 2, 2], [7.0], [1.0, 0, 1e9]):
            lookup = column_lookup(np.array(counts), waves=0)
            scores = normal_scores(lookup)

            assert np.searchsorted(scores.cuts, scores.scores).tolist() == list(range(lookup.size))

    def test_normal_numbers_decode_to_the_marginal(self) -> None:
        counts = np.array([50.0, 920, 10, 20])
        lookup = column_lookup(counts, waves=0)

        places = np.searchsorted(
            normal_scores(lookup).cuts, np.random.default_rng(0).normal(size=400_000).astype(np.float32)
        )

        # Six standard errors of a share are below .005; the record that is added moves them by .001.
        np.testing.assert_allclose(np.bincount(places) / 400_000, counts / 1_000, atol=0.006)

    def test_steps_fill_the_ranks(self) -> None:
        scores = normal_scores(column_lookup(np.array([2.0, 5, 3]), waves=0))

        np.testing.assert_allclose(scores.starts[1:], np.cumsum(scores.widths)[:-1], atol=1e-6)
        assert scores.widths.sum() == np.float32(1)
        assert (scores.scores[:-1] < scores.cuts).all()
        assert (scores.cuts < scores.scores[1:]).all()
