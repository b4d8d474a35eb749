"""Soft rows of every kind move out of impossible cells."""

from __future__ import annotations

import numpy as np
import pytest

from syntabula.marginals.domain import Domain
from syntabula.marginals.measurement import Measurement
from syntabula.models.neural import NeuralRows
from syntabula.models.relaxed_projection import RelaxedProjection
from syntabula.models.soft_rows import SoftRowsModel

pytest.importorskip("torch")

DOMAIN = Domain.from_sizes({"a": 6, "b": 5, "c": 4})
RECORDS = 5_000
SIGMA = 30.0
KINDS = [
    NeuralRows(n_rows=256, units=64, learning_rate=0.01, device="cpu"),
    pytest.param(RelaxedProjection(n_rows=128, iterations=1200, device="cpu"), marks=pytest.mark.thorough),
    RelaxedProjection(n_rows=256, projection="sparsemax", iterations=400, device="cpu"),
]


def possible() -> np.ndarray:
    cells = np.random.default_rng(0).random((6, 5)) < 0.5
    cells[0] = True
    return cells


def joint() -> np.ndarray:
    shares = np.random.default_rng(1).random((6, 5)) * possible()
    return RECORDS * (shares / shares.sum())[:, :, None] * np.array([0.4, 0.3, 0.2, 0.1])


def measured(*cliques: str) -> list[Measurement]:
    rng = np.random.default_rng(2)
    found = []
    for clique in cliques:
        counts = joint().sum(axis=tuple(i for i, c in enumerate("abc") if c not in clique))
        found.append(Measurement(tuple(clique), counts + rng.normal(0, SIGMA, counts.shape), SIGMA))
    return found


def pair(model: SoftRowsModel) -> np.ndarray:
    (found,) = model.marginals([("a", "b")])
    return found / found.sum()


def distance(found: np.ndarray) -> float:
    return float(np.abs(found - joint().sum(axis=2) / RECORDS).sum() / 2)


@pytest.mark.parametrize("kind", KINDS, ids=["network", "softmax", "sparsemax"])
@pytest.mark.parametrize("cliques", [("a", "b", "c"), ("ab", "bc")], ids=str)
@pytest.mark.thorough
def test_rows_leave_impossible_cells_whether_they_were_measured_or_not(kind, cliques):
    plain = kind.over(DOMAIN).fit(measured(*cliques))
    ruled = kind.with_possible({("a", "b"): possible()}).over(DOMAIN).fit(measured(*cliques))

    # Noise alone stays in them if the pair was measured; if not, as much as independent columns have.
    before, after = (pair(m)[~possible()].sum() for m in (plain, ruled))
    assert after < 0.5 * before
    assert after < 0.03
    assert distance(pair(ruled)) < distance(pair(plain))
    for column, axes in (("a", (1, 2)), ("b", (0, 2))):
        (found,) = ruled.marginals([(column,)])
        assert np.abs(found / found.sum() - joint().sum(axis=axes) / RECORDS).sum() / 2 < 0.04


def test_tables_of_another_domain_and_large_ones_are_left_to_the_check_of_rows():
    other = {("a", "z"): possible(), ("a", "b"): np.ones((3, 3), np.bool_)}
    wide = Domain.from_sizes({"a": 150, "b": 150})
    cells = np.eye(150, dtype=np.bool_)
    counts = [Measurement((c,), np.full(150, 10.0), 5.0) for c in "ab"]
    model = RelaxedProjection(n_rows=64, iterations=20, device="cpu")

    assert np.array_equal(
        pair(model.with_possible(other).over(DOMAIN).fit(measured("a", "b"))),
        pair(model.over(DOMAIN).fit(measured("a", "b"))),
    )
    assert np.array_equal(
        pair(model.with_possible({("a", "b"): cells}).over(wide).fit(counts)),
        pair(model.over(wide).fit(counts)),
    )
