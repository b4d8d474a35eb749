"""Generated rows: weights that keep the marginals, rows drawn by weight, and a model whose rows have paid marginals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from syntabula.errors import ReleaseFileError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import Measurement
from syntabula.models.base import model_array_bytes, model_from_state, model_state
from syntabula.models.pgm import PGM
from syntabula.record_models.generated_rows import (
    RakedRows,
    code_shares,
    drawn_again,
    independent_rows,
    odds,
    raked,
)
from syntabula.record_models.representation import column_lookups

DOMAIN = Domain(("a", "b"), (3, 2), frozenset({"a"}))
COUNTS = {"a": np.array([50.0, -3.0, 150.0]), "b": np.array([30.0, 70.0])}


def shares() -> dict[str, np.ndarray]:
    lookups = column_lookups(DOMAIN, COUNTS, waves=4)
    return code_shares(DOMAIN, dict(zip(DOMAIN, lookups, strict=True)))


def counted(rows: EncodedTable, weights: np.ndarray) -> np.ndarray:
    found = np.zeros((3, 2))
    np.add.at(found, (rows.column("a"), rows.column("b")), weights)
    return found


class TestShares:
    def test_they_are_those_of_the_marginals_with_nothing_below_zero(self) -> None:
        np.testing.assert_allclose(shares()["a"], [0.25, 0, 0.75], atol=0.01)
        np.testing.assert_allclose(shares()["b"], [0.3, 0.7], atol=0.01)

    def test_independent_rows_have_them(self) -> None:
        rows = independent_rows(shares(), DOMAIN, 20_000, seed=0)

        found = counted(rows, np.full(20_000, 1 / 20_000))

        # The standard deviation of a cell is below 0.0036.
        np.testing.assert_allclose(found, np.outer(shares()["a"], shares()["b"]), atol=0.02)


class TestWeights:
    def test_odds_grow_with_what_the_student_thinks_and_have_a_bound(self) -> None:
        np.testing.assert_allclose(odds(np.array([0.5, 0.75, 7.0]), 2.0), [1, 9, 361])

    def test_raking_keeps_the_marginals_and_the_odds_ratio(self) -> None:
        rows = independent_rows(shares(), DOMAIN, 20_000, seed=0)
        raw = np.where((rows.column("a") == 2) == (rows.column("b") == 1), 4.0, 1.0)

        found = counted(rows, raked(raw, rows, shares()))

        np.testing.assert_allclose(found.sum(1), shares()["a"], atol=1e-3)
        np.testing.assert_allclose(found.sum(0), shares()["b"], atol=1e-9)
        before, after = counted(rows, raw)[[0, 2]], found[[0, 2]]
        ratio = before[0, 0] * before[1, 1] / before[0, 1] / before[1, 0]
        assert after[0, 0] * after[1, 1] / after[0, 1] / after[1, 0] == pytest.approx(ratio)

    def test_a_code_that_no_row_has_is_left_out(self) -> None:
        rows = EncodedTable(DOMAIN, (np.array([0, 0], np.uint8), np.array([0, 1], np.uint8)))

        np.testing.assert_allclose(raked(np.ones(2), rows, shares()), shares()["b"], atol=1e-9)

    def test_rows_are_drawn_as_often_as_their_weights_say(self) -> None:
        rows = EncodedTable(DOMAIN, (np.array([0, 1, 2], np.uint8), np.array([0, 1, 0], np.uint8)))

        found = drawn_again(rows, np.array([0.5, 0.0, 0.25]), 300, seed=0)

        counts = np.bincount(found.column("a"), minlength=3)
        assert counts.sum() == 300
        assert abs(counts[0] - 200) <= 1
        assert counts[1] == 0
        assert np.any(np.diff(found.column("a").astype(int)) < 0)


UNORDERED = Domain(("a", "b"), (3, 2))
# The columns depend on each other, and the model errs in both.
JOINT = np.array([[300.0, 100.0], [100.0, 200.0], [100.0, 200.0]])
PAID = {"a": np.array([500.0, 200.0, 300.0]), "b": np.array([600.0, 400.0])}


def raked_model() -> RakedRows:
    inner = PGM(stop_at_noise=False).over(UNORDERED).fit([Measurement(("a", "b"), JOINT, 0.0)])
    return RakedRows(inner, PAID)


def counts_of(rows: EncodedTable) -> np.ndarray:
    found = np.zeros(UNORDERED.sizes)
    np.add.at(found, (rows.column("a"), rows.column("b")), 1)
    return found


class TestRows:
    def test_they_have_the_marginals_and_the_odds_ratio_of_the_model(self) -> None:
        found = counts_of(raked_model().sample(20_000, np.random.default_rng(0)))

        # Weights differ by a factor of two, and each of six cells takes all of its weight but a part of a row in a
        # run of rows in random order: below 60 rows of deviation each, six of which are .018.
        np.testing.assert_allclose(found.sum(1) / 20_000, [0.5, 0.2, 0.3], atol=0.018)
        np.testing.assert_allclose(found.sum(0) / 20_000, [0.6, 0.4], atol=0.018)
        ratio = found[0, 0] * found[1, 1] / found[0, 1] / found[1, 0]
        # The logarithm of it has a deviation below .05.
        assert np.log(ratio) == pytest.approx(np.log(6.0), abs=0.3)

    def test_few_rows_are_left_as_they_were_drawn(self) -> None:
        few, model = 49, raked_model()

        found = model.sample(few, np.random.default_rng(0))

        assert np.array_equal(counts_of(found), counts_of(model.inner.sample(few, np.random.default_rng(0))))

    @pytest.mark.parametrize(("lower_half", "drawn"), [(49.0, [2500]), (10.0, [2500, 1500])])
    def test_rows_of_exact_marginals_have_them_and_hardly_repeat(
        self, lower_half: float, drawn: list[int]
    ) -> None:
        # Each row of the model, half of whose numbers are below 25, is known by its code of "which", which no other has.
        n, domain = 2000, Domain(("number", "which"), (50, 10**6), frozenset({"number"}))
        wanted = np.repeat([lower_half, 100 - lower_half], 25) / 2500
        asked = []

        class Even(PGM):
            def sample(
                self, n: int, rng: np.random.Generator, given: EncodedTable | None = None
            ) -> EncodedTable:
                asked.append(n)
                return EncodedTable(domain, (rng.integers(50, size=n), rng.integers(10**6, size=n)))

        model = RakedRows(Even().over(domain), {"number": wanted, "which": np.ones(10**6)}, exact=True)
        found = model.sample(n, np.random.default_rng(0))

        # Where 1.8 times as many rows as the model draws are to have some numbers, a quarter more rows would not do.
        assert asked == drawn
        # Shares of five numbers have a deviation of .0032 (300 seeds), nine of which are .031. Rows drawn one by one
        # would be off by .08 in the second case.
        for start in range(0, 50, 5):
            some = (found.column("number") >= start) & (found.column("number") < start + 5)
            assert np.mean(some) == pytest.approx(wanted[start : start + 5].sum(), abs=0.031)
        # A twentieth of the rows, and seven deviations of 11 from 22 (300 seeds).
        assert n - np.unique(found.column("which")).size < 100

    def test_rows_that_all_lack_a_share_are_left_as_they_were_drawn(self) -> None:
        # All rows have the last code, which the marginal has not.
        only_last = np.zeros(UNORDERED.sizes)
        only_last[2] = 50.0
        inner = PGM(stop_at_noise=False).over(UNORDERED).fit([Measurement(("a", "b"), only_last, 0.0)])
        counts = {"a": np.array([5.0, 5.0, 0.0]), "b": np.array([1.0, 1.0])}

        for exact in (False, True):
            found = RakedRows(inner, counts, exact=exact).sample(1000, np.random.default_rng(0))

            # 500 of 1,000 with a deviation of at most 16.
            assert np.count_nonzero(found.column("b") == 0) == pytest.approx(500, abs=85)

    def test_a_file_says_whether_the_marginals_are_exact(self) -> None:
        exact = replace(raked_model(), exact=True)

        facts, arrays = model_state(exact)
        read = model_from_state(facts, arrays)
        old = model_from_state({k: v for k, v in facts.items() if k != "exact"}, arrays)

        assert isinstance(read, RakedRows)
        assert read.exact
        assert isinstance(old, RakedRows)
        assert not old.exact

    def test_given_columns_come_back_and_the_others_are_the_model_s(self) -> None:
        given = EncodedTable(UNORDERED.project(["a"]), (np.repeat([0, 1, 2], 100).astype(np.uint8),))
        model = raked_model()

        found = model.sample(300, np.random.default_rng(0), given)

        same = model.inner.sample(300, np.random.default_rng(0), given)
        assert np.array_equal(found.column("a"), given.column("a"))
        assert np.array_equal(found.column("b"), same.column("b"))

    def test_conditions_that_many_satisfy_are_met_by_raked_rows(self) -> None:
        found = raked_model().restricted({"b": np.array([0.0, 1.0])})

        # Of 20,000 rows, whose shares are off as above; the model has half of its rows there.
        assert found.probability == pytest.approx(0.4, abs=0.018)
        drawn = found.draw(2_000, np.random.default_rng(0))
        assert drawn.n_rows == 2_000
        assert (drawn.column("b") == 1).all()

    @pytest.mark.thorough
    def test_conditions_that_few_satisfy_are_left_to_the_model(self) -> None:
        weights = {"a": np.array([0.0, 0.1, 0.0])}

        assert (
            raked_model().restricted(weights).probability
            == raked_model().inner.restricted(weights).probability
        )

    @pytest.mark.thorough
    def test_marginals_are_those_of_the_rows(self) -> None:
        (found,) = raked_model().marginals([("a",)])

        assert found.sum() == pytest.approx(raked_model().total)
        # As above.
        np.testing.assert_allclose(found / found.sum(), [0.5, 0.2, 0.3], atol=0.018)


class TestStorage:
    @pytest.mark.thorough
    def test_a_stored_model_draws_the_same_rows(self) -> None:
        facts, arrays = model_state(raked_model())

        found = model_from_state(facts, arrays)

        drawn = [model.sample(1_000, np.random.default_rng(3)) for model in (raked_model(), found)]
        assert np.array_equal(counts_of(drawn[0]), counts_of(drawn[1]))
        stated = model_array_bytes(facts)
        assert stated is not None
        assert all(array.nbytes <= stated[name] for name, array in arrays.items())

    def test_marginals_that_are_none_are_refused(self) -> None:
        for one_way in [
            np.ones(4),
            np.array([1.0, 1, 1, -1, 3]),
            np.array([1.0, 1, 1, 0, 0]),
            np.array([1.0, 1, np.nan, 1, 1]),
        ]:
            facts, arrays = model_state(raked_model())
            changed: Mapping[str, Any] = arrays | {"one_way": one_way}

            with pytest.raises(ReleaseFileError, match="incomplete or inconsistent"):
                model_from_state(facts, changed)
