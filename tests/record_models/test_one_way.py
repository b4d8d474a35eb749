"""What learners of records begin with: merged codes."""

from __future__ import annotations

import numpy as np

from syntabula.marginals.domain import Domain
from syntabula.record_models.levels import merged_levels


class TestLevels:
    def test_runs_of_an_ordered_column_hold_as_many_records_and_frequent_codes_stay_alone(self) -> None:
        domain = Domain(("n", "k", "few"), (1_000, 100, 3), frozenset({"n"}))
        frequent = np.ones(100)
        frequent[[7, 50]] = 1_000.0
        counts = {"n": np.ones(1_000), "k": frequent, "few": np.ones(3)}

        found = merged_levels(domain, counts, 10)

        assert found.target.sizes == (10, 10, 3)
        assert (np.bincount(found.maps["n"]) == 100).all()
        assert (np.diff(found.maps["n"]) >= 0).all()
        assert all((found.maps["k"] == found.maps["k"][code]).sum() == 1 for code in (7, 50))

    def test_counts_that_noise_made_negative_are_no_trouble(self) -> None:
        domain = Domain(("n",), (50,), frozenset({"n"}))

        found = merged_levels(domain, {"n": np.full(50, -3.0)}, 5)

        assert found.target.sizes == (5,)
