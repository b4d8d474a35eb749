"""Marginals that a fitted graphical model answers, within and across the cliques of its tree."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from syntabula.errors import ResourceError, SchemaError
from syntabula.marginals.domain import Clique, Domain
from syntabula.models.junction_tree import pairs as pairs_module
from syntabula.models.pgm import PGM


def model_of(domain: Domain, potentials: dict[Clique, np.ndarray], **options: float) -> PGM:
    """Make a model with given log-potentials, by the same door that a release file uses."""
    facts, _ = PGM(**options).over(domain).state()
    facts = {**facts, "cliques": [list(c) for c in potentials]}
    return PGM.from_state(facts, {f"potential/{i}": p for i, p in enumerate(potentials.values())})


def joint_of(domain: Domain, potentials: dict[Clique, np.ndarray]) -> np.ndarray:
    """Multiply the potentials out over all columns."""
    total = np.zeros(domain.sizes)
    for clique, potential in potentials.items():
        total = total + potential.reshape([domain.size(c) if c in clique else 1 for c in domain.columns])
    product = np.exp(total - total.max())
    return product / product.sum()


def expected(domain: Domain, joint: np.ndarray, clique: Clique) -> np.ndarray:
    """Sum the joint table onto a clique, axes in its order."""
    kept = domain.canonical(clique)
    table = joint.sum(axis=tuple(i for i, c in enumerate(domain.columns) if c not in clique))
    return table.transpose([kept.index(c) for c in clique])


def random_model(seed: int) -> tuple[Domain, dict[Clique, np.ndarray]]:
    rng = np.random.default_rng(seed)
    domain = Domain.from_sizes({f"c{i}": int(rng.integers(1, 5)) for i in range(rng.integers(1, 8))})
    sets = [c for k in (1, 2, 3) for c in combinations(domain.columns, k)]
    cliques = dict.fromkeys(sets[i] for i in rng.integers(0, len(sets), rng.integers(1, 8)))
    return domain, {c: 2 * rng.normal(size=domain.shape(c)) for c in cliques}


@pytest.mark.thorough
def test_all_marginals_of_up_to_four_columns_are_those_of_the_joint_table() -> None:
    for seed in range(40):
        domain, potentials = random_model(seed)
        rng = np.random.default_rng(seed)
        sets = [c for k in range(min(len(domain), 4) + 1) for c in combinations(domain.columns, k)]
        asked = [tuple(str(c) for c in rng.permutation(clique)) for clique in sets]

        found = model_of(domain, potentials).marginals(asked)

        joint = joint_of(domain, potentials)
        for clique, table in zip(asked, found, strict=True):
            np.testing.assert_allclose(
                table, expected(domain, joint, clique), rtol=1e-9, atol=1e-13, err_msg=str(seed)
            )


@pytest.mark.thorough
def test_the_same_holds_where_no_wider_tree_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PGM, "_tree_for", lambda self, wanted: self._tree)

    test_all_marginals_of_up_to_four_columns_are_those_of_the_joint_table()


@pytest.mark.parametrize("cells", [10**6, 20, 5])
def test_pairs_across_chains_stars_and_forests_are_those_of_the_joint_table(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs_module, "_BYTES_AT_ONCE", 8 * cells)
    monkeypatch.setattr(pairs_module, "_BYTES_PER_CELL", 0)
    domain = Domain.from_sizes({f"c{i}": 2 + i % 3 for i in range(9)})
    rng = np.random.default_rng(0)
    chain = [(f"c{i}", f"c{i + 1}") for i in range(4)]
    star = [("c4", "c5"), ("c4", "c6")]
    potentials = {c: rng.normal(size=domain.shape(c)) for c in (*chain, *star, ("c7", "c8"))}
    pairs = list(combinations(domain.columns, 2))

    found = model_of(domain, potentials).marginals(pairs)

    joint = joint_of(domain, potentials)
    for pair, table in zip(pairs, found, strict=True):
        np.testing.assert_allclose(table, expected(domain, joint, pair), rtol=1e-9, atol=1e-13)


def test_pairs_are_the_same_when_codes_are_carried_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = Domain.from_sizes({f"c{i}": 3 for i in range(8)})
    rng = np.random.default_rng(0)
    chain = [(f"c{i}", f"c{i + 1}", f"c{i + 2}") for i in range(6)]
    model = model_of(domain, {c: rng.normal(size=(3, 3, 3)) for c in chain})
    pairs = list(combinations(domain.columns, 2))
    at_once = model.marginals(pairs)

    monkeypatch.setattr(pairs_module, "_BYTES_AT_ONCE", 8 * 9)
    monkeypatch.setattr(pairs_module, "_BYTES_PER_CELL", 0)
    one_by_one = model.marginals(pairs)

    for one, other in zip(at_once, one_by_one, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_marginal_above_the_memory_limit_is_refused() -> None:
    domain = Domain.from_sizes({f"c{i}": 100 for i in range(6)})
    model = PGM(max_memory_mb=10.0).over(domain)

    with pytest.raises(ResourceError, match="request fewer columns"):
        model.marginals([domain.columns])


def test_marginals_that_are_too_large_across_the_tree_are_computed_apart() -> None:
    domain = Domain.from_sizes({"v": 2, "s": 20, "t": 20, "u": 20, "p": 20})
    rng = np.random.default_rng(0)
    held: list[Clique] = [("u", "p"), ("s", "t", "u"), ("v", "s", "t")]
    potentials = {c: rng.normal(size=domain.shape(c)) for c in held}
    # The first passes 160,000 cells (1.2 MB) across the tree; with the second there is no tree that holds both.
    asked: list[Clique] = [("p", "v", "u"), ("v", "s", "p")]

    found = model_of(domain, potentials, max_memory_mb=0.2).marginals(asked)

    joint = joint_of(domain, potentials)
    for clique, table in zip(asked, found, strict=True):
        np.testing.assert_allclose(table, expected(domain, joint, clique), rtol=1e-9, err_msg=str(clique))


def test_an_unknown_column_is_named() -> None:
    model = PGM().over(Domain.from_sizes({"a": 2}))

    with pytest.raises(SchemaError, match="'b'"):
        model.marginals([("b",)])


def test_an_unfitted_model_is_uniform() -> None:
    model = PGM().over(Domain.from_sizes({"a": 2, "b": 5}))

    (table,) = model.marginals([("b", "a")])

    np.testing.assert_allclose(table, np.full((5, 2), 0.1))
