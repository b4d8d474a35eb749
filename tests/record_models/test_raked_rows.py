"""Rows of a model that are raked to one-way marginals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from syntabula.errors import ReleaseFileError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import Measurement
from syntabula.models.pgm import PGM
from syntabula.models.storage import model_array_bytes, model_from_state, model_state
from syntabula.record_models.raked_rows import RakedRows

DOMAIN = Domain(("a", "b"), (3, 2))
# The columns depend on each other, and the model errs in both.
JOINT = np.array([[300.0, 100.0], [100.0, 200.0], [100.0, 200.0]])
COUNTS = {"a": np.array([500.0, 200.0, 300.0]), "b": np.array([600.0, 400.0])}


def raked() -> RakedRows:
    inner = PGM(stop_at_noise=False).over(DOMAIN).fit([Measurement(("a", "b"), JOINT, 0.0)])
    return RakedRows(inner, COUNTS)


def counted(rows: EncodedTable) -> np.ndarray:
    found = np.zeros(DOMAIN.sizes)
    np.add.at(found, (rows.column("a"), rows.column("b")), 1)
    return found


class TestRows:
    def test_they_have_the_marginals_and_the_odds_ratio_of_the_model(self) -> None:
        found = counted(raked().sample(20_000, np.random.default_rng(0)))

        # Weights differ by a factor of two, and each of six cells takes all of its weight but a part of a row in a
        # run of rows in random order: below 60 rows of deviation each, six of which are .018.
        np.testing.assert_allclose(found.sum(1) / 20_000, [0.5, 0.2, 0.3], atol=0.018)
        np.testing.assert_allclose(found.sum(0) / 20_000, [0.6, 0.4], atol=0.018)
        ratio = found[0, 0] * found[1, 1] / found[0, 1] / found[1, 0]
        # The logarithm of it has a deviation below .05.
        assert np.log(ratio) == pytest.approx(np.log(6.0), abs=0.3)

    def test_few_rows_are_left_as_they_were_drawn(self) -> None:
        few, model = 49, raked()

        found = model.sample(few, np.random.default_rng(0))

        assert np.array_equal(counted(found), counted(model.inner.sample(few, np.random.default_rng(0))))

    def test_given_columns_come_back_and_the_others_are_the_model_s(self) -> None:
        given = EncodedTable(DOMAIN.project(["a"]), (np.repeat([0, 1, 2], 100).astype(np.uint8),))
        model = raked()

        found = model.sample(300, np.random.default_rng(0), given)

        same = model.inner.sample(300, np.random.default_rng(0), given)
        assert np.array_equal(found.column("a"), given.column("a"))
        assert np.array_equal(found.column("b"), same.column("b"))

    def test_conditions_that_many_satisfy_are_met_by_raked_rows(self) -> None:
        found = raked().restricted({"b": np.array([0.0, 1.0])})

        # Of 20,000 rows, whose shares are off as above; the model has half of its rows there.
        assert found.probability == pytest.approx(0.4, abs=0.018)
        drawn = found.draw(2_000, np.random.default_rng(0))
        assert drawn.n_rows == 2_000
        assert (drawn.column("b") == 1).all()

    def test_conditions_that_few_satisfy_are_left_to_the_model(self) -> None:
        weights = {"a": np.array([0.0, 0.1, 0.0])}

        assert raked().restricted(weights).probability == raked().inner.restricted(weights).probability

    def test_marginals_are_those_of_the_rows(self) -> None:
        (found,) = raked().marginals([("a",)])

        assert found.sum() == pytest.approx(raked().total)
        # As above.
        np.testing.assert_allclose(found / found.sum(), [0.5, 0.2, 0.3], atol=0.018)


class TestStorage:
    def test_a_stored_model_draws_the_same_rows(self) -> None:
        facts, arrays = model_state(raked())

        found = model_from_state(facts, arrays)

        drawn = [model.sample(1_000, np.random.default_rng(3)) for model in (raked(), found)]
        assert np.array_equal(counted(drawn[0]), counted(drawn[1]))
        stated = model_array_bytes(facts)
        assert stated is not None
        assert all(array.nbytes <= stated[name] for name, array in arrays.items())

    @pytest.mark.parametrize(
        "one_way",
        [
            np.ones(4),
            np.array([1.0, 1, 1, -1, 3]),
            np.array([1.0, 1, 1, 0, 0]),
            np.array([1.0, 1, np.nan, 1, 1]),
        ],
    )
    def test_marginals_that_are_none_are_refused(self, one_way: np.ndarray) -> None:
        facts, arrays = model_state(raked())
        changed: Mapping[str, Any] = arrays | {"one_way": one_way}

        with pytest.raises(ReleaseFileError, match="incomplete or inconsistent"):
            model_from_state(facts, changed)
