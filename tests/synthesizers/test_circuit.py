"""Circuit from end to end, beside `contracts/test_record_methods.py`: probabilities are those of one distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from record_cases import method, release, require_library, table

from syntabula.errors import ArgumentError


class TestRows:
    @pytest.mark.thorough
    def test_they_keep_dependences_of_numbers_and_labels(self) -> None:
        made = release("circuit").sample(3_000, seed=0)

        assert min(release("circuit").codec.domain.sizes[:2]) > 200
        assert np.corrcoef(made["size"], made["double"])[0, 1] > 0.93
        large = made["kind"] == "large"
        assert made["size"][large].mean() > 11 > 9 > made["size"][~large].mean()
        assert abs(made["size"].mean() - table()["size"].mean()) < 0.5

    @pytest.mark.thorough
    def test_probabilities_add_up_as_those_of_one_distribution(self) -> None:
        large, small = (release("circuit").probability({"kind": kind}) for kind in ("large", "small"))
        both = release("circuit").probability({"kind": "large", "size": (12.0, 13.0)})

        assert large + small == pytest.approx(1, rel=1e-4)
        assert large == pytest.approx((table()["kind"] == "large").mean(), abs=0.01)
        wanted = ((table()["kind"] == "large") & table()["size"].between(12, 13)).mean()
        assert both == pytest.approx(wanted, abs=0.03)

    def test_one_column(self) -> None:
        require_library("circuit")

        made = method("circuit", allow_observed=True).fit(table()[["kind"]])

        share = made.probability({"kind": "large"})
        assert share == pytest.approx((table()["kind"] == "large").mean(), abs=0.01)


class TestOptions:
    def test_they_are_changed_by_name(self) -> None:
        changed = method("circuit").with_options(states=7, smoothing=3)

        assert (changed.model.states, changed.model.smoothing) == (7, 3.0)

    def test_wrong_ones_are_refused(self) -> None:
        for name, wrong in [("states", 0), ("smoothing", -1), ("smoothing", math.inf)]:
            with pytest.raises(ArgumentError, match=name):
                method("circuit").with_options(**{name: wrong})
