"""Circuit, beside `contracts/test_record_models.py`: its marginals and conditions are exact."""

from __future__ import annotations

import numpy as np
import pytest
from record_cases import fitted, learned, records

from syntabula.errors import ConditionWarning, SchemaError
from syntabula.marginals.counting import MemoryEngine
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.record_models.circuit import Circuit

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def model() -> Circuit:
    found: Circuit = learned("circuit")
    return found


class TestMarginals:
    @pytest.mark.thorough
    def test_they_are_near_the_records_and_add_up_to_them(self, model: Circuit) -> None:
        cliques = [("a",), ("b", "a"), ("c", "b"), ("a", "c", "b"), ()]

        found = model.marginals(cliques)

        for table, real in zip(found, MemoryEngine(records()).counts(cliques), strict=True):
            assert table.shape == real.shape
            assert table.sum() == pytest.approx(4_000, rel=1e-4)
            assert np.abs(table - real).sum() / 2 / 4_000 < 0.1

    @pytest.mark.thorough
    def test_rows_follow_them(self, model: Circuit) -> None:
        n = 100_000
        wanted = model.marginals([("a", "b", "c")])[0] / 4_000

        rows = model.sample(n, np.random.default_rng(0))

        shares = MemoryEngine(rows).counts([("a", "b", "c")])[0] / n
        # The largest of 240 shares is off by more than 7 of its standard deviations with chance below 1e-9.
        assert (np.abs(shares - wanted) < 7 * np.sqrt(wanted / n) + 1e-6).all()

    def test_an_unknown_column_is_refused(self, model: Circuit) -> None:
        with pytest.raises(SchemaError, match="no column 'z'"):
            model.marginals([("a", "z")])


class TestSamples:
    def test_one_column_is_enough(self) -> None:
        only = records(600).project(["b"])

        made = fitted("circuit", only, steps=20).marginals([("b",)])[0]

        # Other devices draw other batches.
        np.testing.assert_allclose(made, np.bincount(only.column("b"), minlength=30), atol=5)


class TestGiven:
    def test_the_others_have_their_distribution_given_the_codes(self, model: Circuit) -> None:
        n = 50_000
        given = EncodedTable(Domain(("c",), (2,)), (np.ones(n, np.uint8),))
        joint = model.marginals([("c", "a", "b")])[0][1]
        wanted = joint / joint.sum()

        made = model.sample(n, np.random.default_rng(0), given)

        shares = MemoryEngine(made).counts([("a", "b")])[0] / n
        # As above: chance below 1e-9.
        assert (np.abs(shares - wanted) < 7 * np.sqrt(wanted / n) + 1e-6).all()

    def test_a_code_that_no_record_had_stays_and_tells_nothing(self, model: Circuit) -> None:
        n = 20_000
        given = EncodedTable(Domain(("a",), (4,)), (np.full(n, 3, np.uint8),))

        with pytest.warns(ConditionWarning, match=r"no record had some .* of 'a'"):
            made = model.sample(n, np.random.default_rng(0), given)

        wanted = model.marginals([("b",)])[0] / 4_000
        assert (made.column("a") == 3).all()
        assert np.abs(np.bincount(made.column("b"), minlength=30) / n - wanted).max() < 0.02

    def test_a_code_beyond_those_of_an_ordered_column_tells_what_the_nearest_does(
        self, model: Circuit
    ) -> None:
        given = EncodedTable(Domain(("b",), (30,)), (np.full(500, 27, np.uint8),))

        drawn = model.sample(500, np.random.default_rng(0), given)

        assert (drawn.column("b") == 27).all()
        assert np.mean(drawn.column("a") == 2) > 0.9


class TestRestricted:
    def test_probability_and_rows_are_those_of_the_weighed_marginals(self, model: Circuit) -> None:
        n = 50_000
        weights = {"a": np.array([0.0, 1.0, 0.5, 1.0]), "b": np.arange(30) / 30, "c": np.array([1.0, 0.0])}
        table = model.marginals([("a", "b", "c")])[0] / 4_000
        table = table * weights["a"][:, None, None] * weights["b"][:, None] * weights["c"]

        found = model.restricted(weights)
        rows = found.draw(n, np.random.default_rng(0))

        assert found.probability == pytest.approx(table.sum(), rel=1e-4)
        assert not found.tried
        wanted = table / table.sum()
        shares = MemoryEngine(rows).counts([("a", "b", "c")])[0] / n
        # As above: chance below 1e-9.
        assert (np.abs(shares - wanted) < 7 * np.sqrt(wanted / n) + 1e-6).all()
