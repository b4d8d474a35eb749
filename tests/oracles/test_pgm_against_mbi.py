"""Private-PGM against the mbi library (version 2) on random measurements."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import Measurement
from syntabula.models.pgm import PGM

jax = pytest.importorskip("jax", reason="the mbi library, our oracle for Private-PGM, needs jax")
jax.config.update("jax_enable_x64", True)
mbi = pytest.importorskip("mbi", reason="the mbi library is our oracle for Private-PGM")
estimation = pytest.importorskip("mbi.estimation", reason="the oracle needs mbi 2")

# Both stop near the optimum, not at it; the issue asks for 1e-3 in total variation distance.
TOLERANCE = 1e-3


def measured(seed: int) -> tuple[Domain, list[Measurement]]:
    """Draw a domain, a true table that hangs together, and noisy marginals of it, some of them overlapping."""
    rng = np.random.default_rng(seed)
    domain = Domain.from_sizes({f"c{i}": int(rng.integers(2, 7)) for i in range(rng.integers(3, 7))})
    sets = [c for k in (1, 2, 3) for c in combinations(domain.columns, k)]
    cliques: list[Clique] = [sets[i] for i in rng.choice(len(sets), min(6, len(sets)), replace=False)]
    joint = 1000 * rng.dirichlet(np.full(int(np.prod(domain.sizes)), 0.3)).reshape(domain.sizes)
    measurements = []
    for clique in cliques:
        sigma = float(rng.choice([3.0, 6.0, 12.0]))
        exact = joint.sum(axis=tuple(i for i, c in enumerate(domain.columns) if c not in clique))
        measurements.append(Measurement(clique, exact + rng.normal(0, sigma, exact.shape), sigma))
    return domain, measurements


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_that_of_mbi(seed: int) -> None:
    domain, measurements = measured(seed)
    theirs = estimation.MirrorDescent().estimate(
        mbi.Domain(domain.columns, domain.sizes),
        [mbi.LinearMeasurement(m.values.ravel(), m.clique, float(m.sigma)) for m in measurements],
        iters=6000,
    )

    ours = PGM(stop_at_noise=False, iterations=20_000, tolerance=1e-9).over(domain).fit(measurements)

    assert ours.total == pytest.approx(float(theirs.total), rel=1e-9)
    asked = list(dict.fromkeys([m.clique for m in measurements] + list(combinations(domain.columns, 2))))
    for clique, table in zip(asked, ours.marginals(asked), strict=True):
        oracle = np.asarray(theirs.project(clique).datavector(flatten=False))
        distance = np.abs(table - oracle).sum() / 2 / ours.total
        assert distance < TOLERANCE, clique


def test_the_size_of_the_junction_tree_is_that_of_mbi() -> None:
    from mbi.junction_tree import hypothetical_model_size

    rng = np.random.default_rng(0)
    for _ in range(20):
        domain = Domain.from_sizes({f"c{i}": int(rng.integers(2, 30)) for i in range(8)})
        pairs = list(combinations(domain.columns, 2))
        cliques = [pairs[i] for i in rng.choice(len(pairs), 7, replace=False)]

        ours = PGM().over(domain).memory_mb(cliques)

        theirs = hypothetical_model_size(mbi.Domain(domain.columns, domain.sizes), cliques)
        # Both are greedy and may break ties differently; ours must not be the worse tree by much.
        assert ours <= 1.25 * theirs
