"""Holds a Bayesian network to combinations of codes that are possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula._memory import table_mb
from syntabula.marginals.domain import Clique, Domain
from syntabula.marginals.measurement import FloatArray
from syntabula.models.junction_tree.calibration import clique_tables, marginal_probabilities
from syntabula.models.junction_tree.tree import JunctionTree, junction_tree
from syntabula.models.network_structure import onto

Conditionals = Mapping[Clique, FloatArray]
"""For each family, its parents first, the distribution of its last column given the others."""

MOST_MB = 16.0
"""Largest junction tree of a network and its rules; it is calibrated some fifty times."""
_SWEEPS = 10
_NEAR = 1e-3
"""Largest distance of a column's distribution from its own at which it counts as kept."""


def within_rules(
    domain: Domain, network: Conditionals, possible: Mapping[Clique, NDArray[np.bool_]]
) -> Conditionals:
    """Return the network nearest to a given one that has no impossible combination and the same columns.

    Nearest by relative entropy among the distributions with zeros where cells are impossible and with the given network's
    distribution of each column in them; it is found by iterative proportional fitting (Csiszar 1975) on a junction tree,
    along which it is a network again. Conditioning alone, as discarding rows does, would change these columns.

    Args:
        domain: All columns.
        network: The given network.
        possible: Which cells of tables over some columns are possible; columns in the order of the domain.

    Returns:
        The given network itself if the junction tree would exceed `MOST_MB`, or if nothing that the network draws is
        possible: rows are then discarded.
    """
    tree = junction_tree(domain, [*network, *possible])
    if not possible or table_mb(tree.cells) > MOST_MB:
        return network
    columns: list[Clique] = [(c,) for c in domain.columns if any(c in clique for clique in possible)]
    with np.errstate(divide="ignore", invalid="ignore"):
        potentials = _logs(domain, network)
        wanted = _marginals(tree, clique_tables(tree, potentials), columns)
        for clique, cells in possible.items():
            potentials[clique] = potentials.get(clique, 0.0) + np.log(cells.astype(np.float64))
        tables = clique_tables(tree, potentials)
        if not all(np.isfinite(table).all() for table in tables):
            return network
        for _ in range(_SWEEPS):
            farthest = 0.0
            for column in columns:
                (found,) = _marginals(tree, tables, [column]).values()
                farthest = max(farthest, float(np.abs(found - wanted[column]).sum() / 2))
                # A code without mass keeps none, and one that must not have any loses it slowly.
                ratio = np.where(found > 0, np.maximum(wanted[column], 1e-12) / found, 1.0)
                potentials[column] = potentials.get(column, 0.0) + np.log(ratio)
                tables = clique_tables(tree, potentials)
            if farthest < _NEAR:
                break
    return _along(tree, tables)


def _logs(domain: Domain, network: Conditionals) -> dict[Clique, Any]:
    """Return the logarithms of the conditionals, by clique in the order of the domain."""
    found: dict[Clique, Any] = {}
    for family, table in network.items():
        clique = domain.canonical(family)
        found[clique] = found.get(clique, 0.0) + np.log(onto(table, family, clique))
    return found


def _marginals(
    tree: JunctionTree, tables: list[FloatArray], columns: list[Clique]
) -> dict[Clique, FloatArray]:
    return dict(zip(columns, marginal_probabilities(tree, tables, columns, MOST_MB), strict=True))


def _along(tree: JunctionTree, tables: Sequence[FloatArray]) -> dict[Clique, FloatArray]:
    """Return the distribution of a junction tree as a network: each column given those before it in its clique."""
    found: dict[Clique, FloatArray] = {}
    placed: set[str] = set()
    for position in tree.order:
        clique = tree.cliques[position]
        for column in clique:
            if column not in placed:
                family = (*(c for c in clique if c in placed), column)
                found[family] = conditional(onto(tables[position], clique, family))
                placed.add(column)
    return found


def conditional(joint: FloatArray) -> FloatArray:
    """Return the distribution of the last column given the others, or its own where these have no mass."""
    mass = joint.sum(axis=-1, keepdims=True)
    own = joint.reshape(-1, joint.shape[-1]).sum(axis=0)
    weight = np.where(mass > 0, joint, own)
    found: FloatArray = weight / weight.sum(axis=-1, keepdims=True)
    return found
