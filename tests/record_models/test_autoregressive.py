"""Autoregressive, beside `contracts/test_record_models.py`: what it learns, and conditions on several columns."""

from __future__ import annotations

import math

import numpy as np
import pytest
from record_cases import DOMAIN, cell_shares, fitted, learned, records, share_near

from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.record_models.autoregressive import Autoregressive

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def model() -> Autoregressive:
    found: Autoregressive = learned("autoregressive")
    return found


@pytest.mark.thorough
def test_rows_follow_the_records(model: Autoregressive) -> None:
    made, real = model.sample(20_000, np.random.default_rng(0)), records(20_000)

    # All three columns at once; two samples of this size differ by .016.
    assert np.abs(cell_shares(made) - cell_shares(real)).sum() / 2 < 0.12
    assert not (made.column("a") == 3).any()


class TestGiven:
    @pytest.mark.thorough
    def test_a_code_between_those_of_an_ordered_column_tells_what_its_neighbour_does(self) -> None:
        table = records()
        even = EncodedTable(DOMAIN, (table.codes[0], table.codes[1] // 7 * 7, table.codes[2]))
        made = fitted("autoregressive", even)
        given = EncodedTable(Domain(("b",), (30,)), (np.full(500, 15, np.uint8),))

        drawn = made.sample(500, np.random.default_rng(0), given)

        assert (drawn.column("b") == 15).all()
        assert np.mean(drawn.column("a") == 2) > 0.9


class TestRestricted:
    def test_one_condition_is_drawn_from_exactly(self, model: Autoregressive) -> None:
        weights = {"a": np.array([0.0, 1.0, 0.5, 1.0])}

        found = model.restricted(weights)
        rows = found.draw(6_000, np.random.default_rng(0))

        assert found.probability == pytest.approx(0.5, abs=0.05)
        counts = np.bincount(rows.column("a"), minlength=4)
        assert counts[0] == counts[3] == 0
        assert counts[2] / counts[1] == pytest.approx(0.5, abs=0.12)
        assert share_near(rows) > 0.9

    def test_their_probability_is_exact_over_orders_however_rare_they_are(
        self, model: Autoregressive
    ) -> None:
        common = {"a": np.array([1.0, 1.0, 0.0, 0.0]), "c": np.array([0.2, 1.0])}
        rare = {"a": 1e-4 * common["a"], "c": 1e-4 * common["c"]}
        masks = {c: w[model._lookup(c).codes] for c, w in common.items()}

        found, rarely = model.restricted(common), model.restricted(rare)

        tried = [
            model._tried(order, masks, 20_000, np.random.default_rng(0)) for order in (["a", "c"], ["c", "a"])
        ]
        estimates = [first * kept.mean() for _, first, kept in tried]
        assert found.error == rarely.error == 0.0
        # Six standard errors: each row is kept with a chance of at most 1.
        assert found.probability == pytest.approx(np.mean(estimates), abs=6 * 0.5 / math.sqrt(20_000))
        assert rarely.probability == pytest.approx(1e-8 * found.probability)
        rows = rarely.draw(500, np.random.default_rng(0))
        assert set(rows.column("a")) == {0, 1}

    @pytest.mark.thorough
    def test_several_are_as_among_rows_that_are_tried(self, model: Autoregressive) -> None:
        weights = {"a": np.array([1.0, 1.0, 0.0, 0.0]), "c": np.array([0.2, 1.0])}
        every = model.sample(60_000, np.random.default_rng(1))
        chances = weights["a"][every.column("a")] * weights["c"][every.column("c")]

        found = model.restricted(weights)
        rows = found.draw(6_000, np.random.default_rng(0))

        assert rows.n_rows == 6_000
        assert found.probability == pytest.approx(chances.mean(), rel=0.1)
        assert np.mean(rows.column("c")) == pytest.approx(
            np.average(every.column("c"), weights=chances), abs=0.05
        )
