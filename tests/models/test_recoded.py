"""A model over merged codes, seen in the codes of the original domain."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.errors import ArgumentError, ReleaseFileError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import Measurement
from syntabula.marginals.recoding import Recoding
from syntabula.models.base import model_from_state, model_state
from syntabula.models.pgm import PGM
from syntabula.models.recoded import RecodedModel

DOMAIN = Domain.from_sizes({"a": 5, "b": 3})
# Codes 1, 3 and 4 of column a become one, divided again 1 : 2 : 1; column b stays.
RECODING = Recoding(DOMAIN, {"a": np.array([0, 2, 1, 2, 2])}, {"a": np.array([1.0, 1.0, 1.0, 2.0, 1.0])})
MERGED = np.array([[100.0, 20.0, 0.0], [40.0, 40.0, 40.0], [10.0, 50.0, 100.0]])


def model() -> RecodedModel:
    inner = PGM(stop_at_noise=False).over(RECODING.target).fit([Measurement(("a", "b"), MERGED, 0.0)])
    return RecodedModel(inner, RECODING)


class TestMarginals:
    def test_merged_cells_are_divided_by_their_shares(self) -> None:
        (found,) = model().marginals([("a", "b")])

        expected = MERGED[[0, 2, 1, 2, 2]] * np.array([1, 0.25, 1, 0.5, 0.25])[:, None]
        np.testing.assert_allclose(found, expected, atol=1e-2)

    @pytest.mark.thorough
    def test_the_axes_follow_the_order_of_the_clique(self) -> None:
        ab, ba = model().marginals([("a", "b"), ("b", "a")])

        np.testing.assert_allclose(ba, ab.T)

    def test_columns_that_are_not_merged_are_the_inner_model_s(self) -> None:
        recoded = model()

        (outer,), (inner,) = recoded.marginals([("b",)]), recoded.inner.marginals([("b",)])

        assert np.array_equal(outer, inner)

    @pytest.mark.thorough
    def test_the_number_of_records_stays(self) -> None:
        recoded = model()

        (table,) = recoded.marginals([("a",)])

        assert recoded.total == pytest.approx(400)
        assert table.sum() == pytest.approx(400)


class TestSample:
    @pytest.mark.thorough
    def test_codes_are_the_original_ones_in_their_shares(self) -> None:
        # Merged code 2 gets 0.4 n rows, up to rounding; each is divided independently. Six deviations of a
        # binomial count: a false alarm for one of three codes has probability below 1e-8.
        n = 40_000

        rows = model().sample(n, np.random.default_rng(0))

        counts = np.bincount(rows.column("a"), minlength=5)
        assert rows.domain == DOMAIN
        assert np.abs(counts[[0, 2]] - n * np.array([0.3, 0.3])).max() < 20
        for code, share in ((1, 0.25), (3, 0.5), (4, 0.25)):
            assert abs(counts[code] - 0.4 * n * share) < 6 * np.sqrt(0.4 * n * share * (1 - share)) + 20

    @pytest.mark.thorough
    def test_given_columns_come_back_exactly_even_where_their_codes_were_merged(self) -> None:
        rng = np.random.default_rng(1)
        given = EncodedTable(DOMAIN.project(("a",)), (rng.integers(0, 5, 2_000),))

        rows = model().sample(2_000, rng, given)

        assert rows.domain == DOMAIN
        assert np.array_equal(rows.column("a"), given.column("a"))

    @pytest.mark.thorough
    def test_the_other_columns_follow_the_given_merged_code(self) -> None:
        # Rows with code 3 hold b in the ratio 10 : 50 : 100; six deviations, false-alarm rate below 1e-8.
        n = 16_000
        given = EncodedTable(DOMAIN.project(("a",)), (np.full(n, 3),))

        rows = model().sample(n, np.random.default_rng(2), given)

        expected = n * MERGED[2] / MERGED[2].sum()
        counts = np.bincount(rows.column("b"), minlength=3)
        assert (np.abs(counts - expected) < 6 * np.sqrt(expected) + 20).all()


class TestFit:
    def test_measurements_are_over_the_original_domain(self) -> None:
        values = np.array([100.0, 10.0, 100.0, 30.0, 60.0])

        fitted = RecodedModel(PGM(stop_at_noise=False).over(RECODING.target), RECODING).fit(
            [Measurement(("a",), values, 0.0)]
        )

        (found,) = fitted.marginals([("a",)])
        np.testing.assert_allclose(found, [100, 25, 100, 50, 25], atol=1e-2)

    @pytest.mark.thorough
    def test_over_another_domain_nothing_is_merged(self) -> None:
        other = Domain.from_sizes({"x": 4})

        fresh = model().over(other)

        assert fresh.domain == other
        np.testing.assert_allclose(fresh.marginals([("x",)])[0], np.full(4, 0.25))

    @pytest.mark.thorough
    def test_memory_is_that_of_the_smaller_model(self) -> None:
        recoded = model()

        assert recoded.memory_mb([("a", "b")]) == recoded.inner.memory_mb([("a", "b")])
        assert recoded.memory_mb([("a", "b")]) < PGM().over(DOMAIN).memory_mb([("a", "b")])

    def test_a_model_over_another_domain_than_the_target_is_refused(self) -> None:
        with pytest.raises(ArgumentError, match="must be the target"):
            RecodedModel(PGM().over(DOMAIN), RECODING)


class TestState:
    @pytest.mark.thorough
    def test_a_round_trip_keeps_marginals_and_samples(self) -> None:
        recoded = model()

        back = model_from_state(*model_state(recoded))

        assert isinstance(back, RecodedModel)
        assert np.array_equal(back.marginals([("a", "b")])[0], recoded.marginals([("a", "b")])[0])
        one, other = (m.sample(500, np.random.default_rng(3)) for m in (recoded, back))
        assert all(np.array_equal(x, y) for x, y in zip(one.codes, other.codes, strict=True))

    @pytest.mark.thorough
    def test_recodings_within_recodings_come_back_too(self) -> None:
        inner = model()
        wider = Domain.from_sizes({"a": 6, "b": 3})
        outer = RecodedModel(inner, Recoding(wider, {"a": np.array([0, 1, 2, 3, 4, 4])}))

        back = model_from_state(*model_state(outer))

        assert back.domain == wider
        assert np.array_equal(back.marginals([("a",)])[0], outer.marginals([("a",)])[0])

    @pytest.mark.thorough
    def test_parts_that_do_not_fit_together_are_refused(self) -> None:
        cases = [
            lambda f, a: ({k: v for k, v in f.items() if k != "inner"}, a),
            lambda f, a: ({k: v for k, v in f.items() if k != "recoding"}, a),
            lambda f, a: (f | {"inner": f["inner"] | {"model": "unknown"}}, a),
            lambda f, a: (f | {"recoding": f["recoding"] | {"sizes": [7, 3]}}, a),
            lambda f, a: (f | {"recoding": f["recoding"] | {"merged": []}}, a),
            lambda f, a: (f, {k: v for k, v in a.items() if k != "recoding/map/0"}),
            lambda f, a: (f, a | {"recoding/map/0": np.array([0, 9, 1, 2, 2])}),
            lambda f, a: (f, a | {"recoding/share/0": np.array([1.0, -1.0, 1.0, 1.0, 1.0])}),
        ]
        for damage in cases:
            facts, arrays = model_state(model())

            with pytest.raises(ReleaseFileError):
                model_from_state(*damage(facts, arrays))


class TestHowItDraws:
    @pytest.mark.thorough
    def test_merged_codes_are_groups(self) -> None:
        found = model().drawn_apart

        assert {column: groups.tolist() for column, groups in found.items()} == {"a": [0, 2, 1, 2, 2]}

    def test_groups_of_an_inner_model_are_merged_too(self) -> None:
        second = Recoding(RECODING.target, {"a": np.array([0, 0, 1]), "b": np.array([0, 1, 1])})
        inner = PGM().over(second.target)

        found = RecodedModel(RecodedModel(inner, second), RECODING).drawn_apart

        assert found["a"].tolist() == [0, 1, 0, 1, 1]
        assert found["b"].tolist() == [0, 1, 1]

    def test_other_models_have_none(self) -> None:
        assert PGM().over(DOMAIN).drawn_apart == {}

    def test_slow_draws_are_those_of_the_inner_model(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert not model().draws_slowly
        monkeypatch.setattr(type(model().inner), "draws_slowly", property(lambda inner: True))

        assert model().draws_slowly
