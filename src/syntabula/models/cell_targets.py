"""Single cells as targets of soft rows: only what was measured is looked at."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula._extras import require
from syntabula.marginals.domain import Clique, Domain
from syntabula.models.pair_blocks import explained_sum, sharpness
from syntabula.models.pgm.mirror_descent import Target

if TYPE_CHECKING:
    from torch import Tensor

MOST_CELLS = 256
"""More cells than that are answered sooner by products of matrices, with all cells beside them."""
_FEW = 1 / 4
"""Marginals of which at most this part was measured are taken cell by cell."""


@dataclass(frozen=True, eq=False)
class CellTargets:
    """Some cells of marginals of the same number of columns, answered one by one.

    Attributes:
        codes: Where the codes of each cell lie in a row [columns of a marginal, cells].
        wanted: Probability to reach [cells].
        precision: One over the standard deviation of each.
        weight: What a squared difference counts.
        explained: Sum of squared standardised differences that noise explains, of each marginal.
        target_of: Number of the marginal of each cell.
    """

    codes: Tensor
    wanted: Tensor
    precision: Tensor
    weight: Tensor
    explained: Tensor
    target_of: Tensor

    def difference(self, table: Tensor) -> Tensor:
        """Return how far rows are from what is wanted, one number for each cell."""
        chances = math.prod(self._chances(table))
        difference: Tensor = chances.mean(dim=1) - self.wanted
        return difference

    def is_explained(self, difference: Tensor) -> bool:
        """Return whether noise explains the differences of all targets."""
        errors = (difference * self.precision).square_()
        sums = errors.new_zeros(len(self.explained)).index_add_(0, self.target_of, errors)
        return bool((sums <= self.explained).all())

    def add_gradient(self, gradient: Tensor, table: Tensor, slope: Tensor) -> None:
        """Add to a gradient by the table what a gradient by the differences gives, times the number of rows.

        Args:
            gradient: [rows, codes]; changed in place.
            table: The rows, in the type in which products are taken.
            slope: The derivative by each of the differences, in the same type.
        """
        chances = self._chances(table)
        for own, codes in enumerate(self.codes):
            by_own = math.prod([*chances[:own], *chances[own + 1 :]], start=slope[:, None])
            gradient.T.index_add_(0, codes, by_own.expand(len(codes), len(table)).to(gradient.dtype))

    def _chances(self, table: Tensor) -> list[Any]:
        """Return how likely each row has each column's code of the cells [cells, rows]."""
        return [table.T.index_select(0, codes) for codes in self.codes]


def apart(targets: Sequence[Target]) -> tuple[list[Target], list[Target]]:
    """Return the targets of which few cells were measured, and all others."""
    known = [int(np.count_nonzero(sharpness(t))) for t in targets]
    few = [bool(0 < n <= _FEW * t.mean.size) for n, t in zip(known, targets, strict=True)]
    if sum(n for n, is_few in zip(known, few, strict=True) if is_few) > MOST_CELLS:
        few = [False] * len(few)
    both = list(zip(targets, few, strict=True))
    return [t for t, is_few in both if is_few], [t for t, is_few in both if not is_few]


def make_cell_targets(
    domain: Domain,
    targets: Sequence[Target],
    total: float,
    *,
    importance: Callable[[Clique], float],
    device: Any,
) -> list[CellTargets]:
    """Arrange the measured cells of some targets by their number of columns.

    Args:
        domain: The columns.
        targets: Counts to reach.
        total: Number of records.
        importance: What a target of this clique counts, over the precision of its cells.
        device: Where the rows are.
    """
    torch = require("torch", "neural")
    starts = np.cumsum([0, *domain.sizes])
    found = []
    for width in sorted({len(t.clique) for t in targets}):
        codes, wanted, precision, weight, explained, target_of = (list[Any]() for _ in range(6))
        for number, target in enumerate(t for t in targets if len(t.clique) == width):
            sharp = sharpness(target)
            cells = np.nonzero(sharp)
            codes.append(
                [starts[domain.index(c)] + code for c, code in zip(target.clique, cells, strict=True)]
            )
            wanted.append(target.mean[cells] / total)
            precision.append(sharp[cells] * total)
            weight.append(sharp[cells] * importance(target.clique))
            explained.append(explained_sum(target, sharp))
            target_of.append(np.full(len(cells[0]), number))

        def tensor(values: Sequence[np.ndarray], kind: Any = torch.float32) -> Any:
            return torch.tensor(np.concatenate(values, axis=-1), dtype=kind, device=device)

        found.append(
            CellTargets(
                codes=tensor(codes, torch.int64),
                wanted=tensor(wanted),
                precision=tensor(precision),
                weight=tensor(weight),
                explained=tensor([np.array(explained)]),
                target_of=tensor(target_of, torch.int64),
            )
        )
    return found
