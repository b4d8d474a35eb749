"""The marginals that a synthetic table should preserve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from syntabula._arguments import count, positive, refusal
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique, Domain, all_cliques, distinct


@dataclass(frozen=True)
class Workload:
    """Cliques and their weights.

    Attributes:
        cliques: At least one; no two with the same columns.
        weights: One positive finite number per clique; 1 for each by default.

    Raises:
        ArgumentError: If there is no clique, one is named twice, or the weights do not fit.

    Examples:
        >>> Workload((("age", "sex"), ("age", "pay"))).weights
        (1.0, 1.0)
    """

    cliques: tuple[Clique, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if any(isinstance(c, str) for c in self.cliques):
            raise ArgumentError("a clique is a tuple of column names, not one string")
        cliques = tuple(tuple(c) for c in self.cliques)
        if not cliques:
            raise ArgumentError("a workload needs at least one clique")
        for clique in cliques:
            if len(set(clique)) != len(clique):
                raise ArgumentError(f"clique {clique} names a column twice")
        if len(distinct(cliques)) != len(cliques):
            raise ArgumentError(
                "two cliques of the workload have the same columns; keep one, with the sum of their weights"
            )
        weights = tuple(self.weights) or (1.0,) * len(cliques)
        if len(weights) != len(cliques):
            raise ArgumentError(f"{len(weights)} weights were given for {len(cliques)} cliques")
        pairs = zip(cliques, weights, strict=True)
        object.__setattr__(self, "weights", tuple(positive(f"the weight of clique {c}", w) for c, w in pairs))
        object.__setattr__(self, "cliques", cliques)

    @classmethod
    def all_kway(cls, domain: Domain, k: int) -> Workload:
        """Return all sets of k columns of a domain, each with weight 1.

        Raises:
            ArgumentError: If k is not an integer from 0 to the number of columns.
        """
        return cls(tuple(all_cliques(domain.columns, k)))

    @classmethod
    def of(cls, entries: Sequence[Sequence[str] | Mapping[str, Any]]) -> Workload:
        """Return a workload written as a list, as in a YAML file.

        Args:
            entries: Each a list of columns, or a mapping with `columns` and `weight`.

        Raises:
            ArgumentError: If an entry is neither.

        Examples:
            >>> Workload.of([["age", "sex"], {"columns": ["age", "pay"], "weight": 2}]).weights
            (1.0, 2.0)
        """
        cliques: list[Clique] = []
        weights: list[Any] = []
        for entry in entries:
            mapping = entry if isinstance(entry, Mapping) else {"columns": entry, "weight": 1.0}
            columns, weight = mapping.get("columns"), mapping.get("weight", 1.0)
            if set(mapping) - {"columns", "weight"} or not isinstance(columns, list | tuple):
                raise ArgumentError(
                    "each marginal of a workload must be a list of columns, or a mapping with `columns` and `weight`"
                )
            if not all(isinstance(c, str) for c in columns):
                raise ArgumentError("the columns of a workload must be given by their names")
            cliques.append(tuple(columns))
            weights.append(weight)
        return cls(tuple(cliques), tuple(weights))

    def __len__(self) -> int:
        return len(self.cliques)


WorkloadOption = Workload | Sequence[Any] | int
"""A workload as an option: a `Workload`, a list for `Workload.of`, or the number of columns of its marginals."""


def checked_workload(option: WorkloadOption) -> Workload | int:
    """Return a workload, or a number of columns of at least 1; raises ArgumentError for anything else."""
    if isinstance(option, Workload):
        return option
    if isinstance(option, Sequence) and not isinstance(option, str):
        return Workload.of(option)
    try:
        n_columns: int = count()("workload", option)
    except ArgumentError:
        raise refusal(
            "workload", "a Workload, a list of marginals, or their number of columns", option
        ) from None
    return n_columns


def workload_over(option: WorkloadOption, domain: Domain) -> Workload:
    """Return a workload over a domain, columns in its order; a number above that of the columns means all of them.

    Raises:
        ArgumentError: If the option is not a workload.
        SchemaError: If it names an unknown column.
    """
    checked = checked_workload(option)
    if isinstance(checked, int):
        return Workload.all_kway(domain, min(checked, len(domain)))
    return Workload(tuple(domain.canonical(c) for c in checked.cliques), checked.weights)
