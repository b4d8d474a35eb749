"""Tests of the targets of a fit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import Measurement
from syntabula.models import mirror_descent
from syntabula.models.pgm import PGM
from syntabula.models.targets import Target


class TestWhatNoiseExplains:
    def test_the_true_table_is_explained_in_all_targets_together(self) -> None:
        for cells in [1, 20, 1000]:
            for among in [1, 300]:
                target = Target(("a",), np.ones(cells), np.ones(cells), noise=cells / 2)

                level = target.explained(among)

                # Twice the loss of the true table has a chi-square distribution.
                beyond = among * stats.chi2.sf(2 * level, cells)
                assert 1e-5 < beyond <= math.exp(-3)

    def test_a_fit_does_not_go_after_the_noise_of_one_target_among_many(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        n_columns, size, sigma = 60, 20, 10.0
        domain = Domain.from_sizes({f"c{i}": size for i in range(n_columns)})
        even = np.full(size, 1000.0)
        # The counts of a pair are off by as much as noise moves one pair in some hundreds.
        off = np.full((size, size), 50.0) + sigma * math.sqrt(1.2) * (-1.0) ** np.indices((size, size)).sum(
            axis=0
        )
        measured = [Measurement((c,), even, sigma) for c in domain.columns]
        measured.append(Measurement(("c0", "c1"), off, sigma))
        start = PGM().over(domain).fit(measured[:-1])
        tried = []
        evaluate = mirror_descent._Objective.__call__
        monkeypatch.setattr(
            mirror_descent._Objective, "__call__", lambda self, x: tried.append(0) or evaluate(self, x)
        )

        start.fit(measured)

        loss = size * size * 1.2 / 2
        assert Target(("a",), off, off, size * size / 2).explained(1) < loss
        assert len(tried) == 1

    def test_a_strong_pair_does_not_stop_halfway_to_independence(self) -> None:
        for seed in range(3):
            size, records, sigma = 40, 50_000, 20.0
            places = np.arange(size)
            shares = np.exp(-np.square(places[:, None] - places) / 8.0) * np.exp(-places / 10.0)
            exact = records * shares / shares.sum()
            noise = np.random.default_rng(seed)
            measured = [
                Measurement(("a",), exact.sum(axis=1) + noise.normal(0, sigma, size), sigma),
                Measurement(("b",), exact.sum(axis=0) + noise.normal(0, sigma, size), sigma),
                Measurement(("a", "b"), exact + noise.normal(0, sigma, (size, size)), sigma),
            ]

            model = PGM().over(Domain.from_sizes({"a": size, "b": size})).fit(measured).finished()

            # It was 0.15 and more.
            (found,) = model.marginals([("a", "b")])
            assert np.abs(found - exact).sum() / (2 * records) < 0.14
