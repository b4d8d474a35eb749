"""Models restricted to conditions: every kind of model against its own joint distribution, by brute force."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np
import pytest
from scipy import stats

from syntabula.errors import ResourceError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import Measurement
from syntabula.marginals.recoding import Recoding
from syntabula.models.base import MarginalModel, model_from_state
from syntabula.models.bayesian_network import BayesianNetwork
from syntabula.models.gum import GUM
from syntabula.models.pgm import PGM
from syntabula.models.recoded import RecodedModel
from syntabula.models.restricted import by_trying

# The last two columns hang together with no others: a tree of their own.
DOMAIN = Domain.from_sizes({"a": 3, "b": 4, "c": 2, "d": 5, "e": 2, "f": 3})
PAIRS = [("a", "b"), ("b", "c"), ("c", "d"), ("e", "f")]
LEAST_P = 1e-8  # of a chi-square test: all tests of this file together raise a false alarm below 1e-6

WEIGHTS = {
    "one code": {"a": [0, 1, 0]},
    "some codes of columns that are far apart": {"a": [0, 1, 1], "d": [1, 0, 0, 1, 1]},
    "parts of codes": {"b": [0.25, 1, 0, 0.5], "c": [0.1, 1]},
    "two trees": {"d": [0, 0, 1, 0.5, 0], "f": [1, 0.5, 0]},
    "all columns": {"a": [1, 0, 1], "b": [1, 1, 0, 0], "c": [1, 0.5], "d": [0, 1, 1, 0, 0], "e": [0, 1], "f": [1, 1, 0]},
}  # fmt: skip


def measurements(domain: Domain, seed: int = 0) -> list[Measurement]:
    rng = np.random.default_rng(seed)
    return [Measurement(p, rng.gamma(1.0, 100, domain.shape(p)), 0.0) for p in PAIRS]


def graphical() -> MarginalModel:
    rng = np.random.default_rng(1)
    facts, _ = PGM().over(DOMAIN).state()
    potentials = {f"potential/{i}": rng.normal(size=DOMAIN.shape(p)) for i, p in enumerate(PAIRS)}
    return PGM.from_state({**facts, "cliques": PAIRS}, potentials)


def network() -> MarginalModel:
    return BayesianNetwork().over(DOMAIN).fit(measurements(DOMAIN))


def records() -> MarginalModel:
    return GUM().over(DOMAIN).fit(measurements(DOMAIN))


def soft() -> MarginalModel:
    pytest.importorskip("torch")
    from syntabula.models.relaxed_projection import RelaxedProjection

    model = RelaxedProjection(n_rows=7, iterations=5, stop_at_noise=False).over(DOMAIN)
    return model.fit(measurements(DOMAIN))


def merged() -> MarginalModel:
    maps = {"b": np.array([0, 1, 0, 1]), "d": np.array([2, 0, 1, 1, 1])}
    recoding = Recoding(DOMAIN, maps, {"d": np.array([1.0, 1.0, 3.0, 1.0, 2.0])})
    inner = PGM().over(recoding.target)
    return RecodedModel(inner.fit([recoding.merge_measurement(m) for m in measurements(DOMAIN)]), recoding)


MODELS: list[Callable[[], MarginalModel]] = [graphical, network, records, soft, merged]


def joint_of(model: MarginalModel) -> np.ndarray:
    (table,) = model.marginals([DOMAIN.columns])
    return table / table.sum()


def weighed(joint: np.ndarray, weights: Mapping[str, list[float]]) -> np.ndarray:
    for column, weight in weights.items():
        shape = [-1 if c == column else 1 for c in DOMAIN.columns]
        joint = joint * np.array(weight, dtype=float).reshape(shape)
    return joint


def as_arrays(weights: Mapping[str, list[float]]) -> dict[str, np.ndarray]:
    return {c: np.array(w, dtype=float) for c, w in weights.items()}


def counted(table: EncodedTable) -> np.ndarray:
    counts = np.zeros(table.domain.sizes)
    np.add.at(counts, table.codes, 1)
    return counts


def assert_drawn_from(counts: np.ndarray, expected: np.ndarray) -> None:
    """Rows are drawn with less variance than independent ones, so that a chi-square test is safe."""
    assert not counts[expected == 0].any()
    wanted = expected.ravel() / expected.sum() * counts.sum()
    small = wanted < 10
    held, due = (np.append(x[~small], x[small].sum()) for x in (counts.ravel(), wanted))
    assert stats.chi2.sf(((held - due)[due > 0] ** 2 / due[due > 0]).sum(), (due > 0).sum() - 1) > LEAST_P


@pytest.mark.thorough
def test_the_distribution_is_that_of_the_model_times_the_weights() -> None:
    for make in MODELS:
        for case in WEIGHTS:
            model, weights = make(), WEIGHTS[case]
            expected = weighed(joint_of(model), weights)

            found = model.restricted(as_arrays(weights))
            rows = found.draw(20_000, np.random.default_rng(3))

            assert not found.tried
            assert found.probability == pytest.approx(expected.sum(), rel=1e-4)
            assert rows.n_rows == 20_000
            assert rows.domain == DOMAIN
            assert_drawn_from(counted(rows), expected)


def test_impossible_conditions_have_probability_zero() -> None:
    for make in MODELS:
        assert make().restricted({"d": np.zeros(5), "a": np.ones(3)}).probability == 0


def test_no_rows_and_single_rows_can_be_drawn() -> None:
    for make in MODELS:
        found = make().restricted(as_arrays(WEIGHTS["two trees"]))
        rng = np.random.default_rng(0)

        assert [found.draw(n, rng).n_rows for n in (0, 1, 2)] == [0, 1, 2]


def test_columns_that_contradict_each_other_are_found_across_the_tree() -> None:
    # b follows a, c follows b, d follows c, each with its own code alone.
    facts, _ = PGM().over(DOMAIN).state()
    agreeing = [np.where(np.equal.outer(*map(np.arange, DOMAIN.shape(p))), 0.0, -700.0) for p in PAIRS]
    model = PGM.from_state({**facts, "cliques": PAIRS}, {f"potential/{i}": t for i, t in enumerate(agreeing)})

    possible = model.restricted({"a": np.array([0.0, 1, 0]), "d": np.array([0.0, 1, 0, 0, 0])})
    contrary = model.restricted({"a": np.array([0.0, 1, 0]), "d": np.array([1.0, 0, 0, 0, 0])})

    assert possible.probability > 0.1
    assert contrary.probability < 1e-200


def test_rare_combinations_of_single_precision_are_not_lost() -> None:
    # 40 columns with a probability of 1e-3 each: 1e-120, far below what a float32 holds.
    domain = Domain.from_sizes({f"c{i}": 1000 for i in range(40)})
    facts, _ = PGM().over(domain).state()
    model = PGM.from_state({**facts, "precision": "float32"}, {})
    first = np.eye(1000)[0]

    found = model.restricted(dict.fromkeys(domain.columns, first))

    assert np.log10(found.probability) == pytest.approx(-120, abs=1e-3)
    assert all((codes == 0).all() for codes in found.draw(5, np.random.default_rng(0)).codes)


def test_records_say_how_many_of_them_satisfy_the_conditions() -> None:
    model = records()
    rows = model.sample(10_000, np.random.default_rng(0))

    found = model.restricted({"d": np.array([1.0, 0, 0, 0, 0])})

    assert found.records is not None
    kept, of = found.records
    assert kept / of == pytest.approx((rows.column("d") == 0).mean(), abs=0.05)


class TestTrying:
    def test_keeps_the_right_rows(self) -> None:
        model, weights = graphical(), WEIGHTS["parts of codes"]
        expected = weighed(joint_of(model), weights)

        found = by_trying(model, as_arrays(weights))
        rows = found.draw(20_000, np.random.default_rng(0))

        assert found.tried
        # Six deviations of 200,000 tries.
        assert abs(found.probability - expected.sum()) < 6 * 0.5 / 200_000**0.5
        assert rows.n_rows == 20_000
        assert_drawn_from(counted(rows), expected)
        assert found.draw(0, np.random.default_rng(0)).n_rows == 0

    def test_a_network_without_a_junction_tree_is_tried(self) -> None:
        facts, arrays = network().state()
        small = model_from_state({"model": "bayesian_network", **facts, "max_memory_mb": 1e-5}, arrays)

        found = small.restricted(as_arrays(WEIGHTS["one code"]))

        assert found.tried
        assert set(found.draw(50, np.random.default_rng(0)).column("a").tolist()) == {1}

    def test_what_is_next_to_never_kept_is_refused_with_the_rate(self) -> None:
        with pytest.raises(ResourceError, match=r"0\.00% of 200,000 rows"):
            by_trying(graphical(), {c: np.eye(n)[0] * 0.01 for c, n in [("a", 3), ("b", 4), ("d", 5)]})


def test_all_conditions_of_a_small_model_agree_with_brute_force() -> None:
    # Each set of codes of three columns.
    model = graphical()
    joint = joint_of(model)

    for masks in product([(1, 0, 0), (1, 1, 0)], [(0, 1, 0, 1), (1, 0, 0, 0)], [(1, 0), (0, 1)]):
        weights = dict(zip("abc", map(list, masks), strict=True))
        found = model.restricted(as_arrays(weights))
        assert found.probability == pytest.approx(weighed(joint, weights).sum(), rel=1e-9)
