"""Fitting: move soft rows towards noisy marginals by gradient descent."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from syntabula._extras import require
from syntabula.marginals.domain import Clique, Domain
from syntabula.models.pgm.mirror_descent import Target

if TYPE_CHECKING:
    from torch import Tensor

Loss = Literal["squared", "largest"]
"""What is made small: all weighted squared differences, or the absolute ones that are largest."""

_CHECK_EVERY = 10
"""Steps between two looks at whether noise explains the differences."""
_PATIENCE = 50
"""Steps over which the loss is compared: Adam's steps are too uneven to compare one with the next."""
_UNKNOWN = 1e-6
"""Cells with less than this part of their table's largest precision were not measured."""
_AMONG_LARGEST = 0.5
_FORGET = 0.5


class SoftRows(Protocol):
    """Makes one distribution per row and column out of parameters that can be moved."""

    @property
    def parameters(self) -> list[Tensor]:
        """All that fitting changes, in place."""
        ...

    @property
    def fast(self) -> bool:
        """Whether gradients are multiplied in bfloat16, which some processors do several times faster."""
        ...

    def blocks(self) -> list[Tensor]:
        """Return the distributions [rows, codes] of each column, float32."""
        ...

    def settle(self) -> None:
        """Bring the parameters back to where they may be; called after each step."""
        ...


@dataclass(frozen=True, eq=False)
class Star:
    """Targets that share all columns but one, so that one matrix product finds them all.

    Attributes:
        heads: Positions of the shared columns; none for one-way targets.
        tails: Position of the other column of each target.
        wanted: Probabilities to reach [cells of the heads, codes of all tails].
        precision: One over the standard deviation of each; 0 where nothing was measured.
        weight: What a squared difference counts.
        explained: Sum of squared standardised differences that noise explains, of each target.
        tail_of: Position in `tails` of each code [codes of all tails].
    """

    heads: tuple[int, ...]
    tails: tuple[int, ...]
    wanted: Tensor
    precision: Tensor
    weight: Tensor
    explained: Tensor
    tail_of: Tensor

    def operands(self, blocks: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Return rows over the cells of the heads and over the codes of the tails: their product is wanted."""
        torch = require("torch", "neural")
        tails = [blocks[t] for t in self.tails]
        codes = torch.cat(tails, dim=1) if len(tails) > 1 else tails[0]
        cells = blocks[self.heads[0]] if self.heads else codes.new_ones((len(codes), 1))
        for position in self.heads[1:]:
            cells = (cells[:, :, None] * blocks[position][:, None, :]).flatten(1)
        return cells, codes

    def difference(self, cells: Tensor, codes: Tensor) -> Tensor:
        """Return how far rows are from what is wanted, one number for each cell."""
        torch = require("torch", "neural")
        difference: Tensor = torch.addmm(self.wanted, cells.T, codes, beta=-1.0, alpha=1.0 / len(codes))
        return difference

    def is_explained(self, difference: Tensor) -> bool:
        """Return whether noise explains the differences of all targets."""
        errors = (difference * self.precision).square().sum(dim=0)
        sums = errors.new_zeros(len(self.tails)).index_add(0, self.tail_of, errors)
        return bool((sums <= self.explained).all())


def make_stars(
    domain: Domain,
    targets: Sequence[Target],
    total: float,
    *,
    newest: Collection[Clique] = (),
    emphasis: float = 1.0,
    device: Any,
) -> list[Star]:
    """Arrange targets so that few matrix products find them all.

    A squared difference counts in proportion to one over the standard deviation of its noise, and more for the
    newest targets: equation 6 of Chen, Gong, Wang, MargNet.

    Args:
        domain: The columns.
        targets: Counts to reach, with cliques in the order of the domain.
        total: Number of records.
        newest: Cliques that weigh more than others.
        emphasis: How much more.
        device: Where the rows are.
    """
    torch = require("torch", "neural")
    largest = max(float(np.sqrt(t.weight.max())) for t in targets)
    stars = []
    for heads, members in _cover(domain, targets).items():
        tails = [next(c for c in t.clique if c not in heads) for t in members]
        wanted, precision, weight, explained = [], [], [], []
        for target, tail in zip(members, tails, strict=True):
            order = [target.clique.index(c) for c in (*heads, tail)]
            shape = (domain.cells(heads), domain.size(tail))
            sharp = np.sqrt(target.weight)
            known = sharp > _UNKNOWN * sharp.max()
            cells = int(known.sum()) if target.noise else 0
            factor = (emphasis if target.clique in newest else 1.0) / largest
            wanted.append(target.mean.transpose(order).reshape(shape) / total)
            precision.append((sharp * known * total).transpose(order).reshape(shape))
            weight.append((sharp * known * factor).transpose(order).reshape(shape))
            explained.append(cells + 2 * math.sqrt(2 * cells))

        def tensor(arrays: list[np.ndarray]) -> Any:
            joined = np.ascontiguousarray(np.concatenate(arrays, axis=1), dtype=np.float32)
            return torch.tensor(joined, device=device)

        repeated = np.repeat(np.arange(len(tails)), [domain.size(t) for t in tails])
        stars.append(
            Star(
                heads=tuple(domain.index(c) for c in heads),
                tails=tuple(domain.index(c) for c in tails),
                wanted=tensor(wanted),
                precision=tensor(precision),
                weight=tensor(weight),
                explained=torch.tensor(explained, dtype=torch.float32, device=device),
                tail_of=torch.tensor(repeated, device=device),
            )
        )
    return stars


def star_numbers(domain: Domain, cliques: Collection[Clique], rows: int) -> int:
    """Bound how many float32 numbers the stars of some cliques take while rows are fitted."""
    cells = sum(domain.cells(c) for c in cliques)
    # A product of columns over the rows, and its gradient, for cliques wider than a pair.
    products = sum(domain.cells(c[:-1]) for c in cliques if len(c) > 2)
    # wanted, precision, weight, difference, slope, and one more in the making.
    return 6 * cells + rows * 3 * products


def _cover(domain: Domain, targets: Sequence[Target]) -> dict[Clique, list[Target]]:
    """Group targets by all their columns but one: the choice that most targets have in common comes first."""
    left = {t.clique: t for t in targets}
    by_heads: dict[Clique, list[Clique]] = {}
    for clique in left:
        for column in clique:
            by_heads.setdefault(tuple(c for c in clique if c != column), []).append(clique)
    groups: dict[Clique, list[Target]] = {}
    while left:
        present = {h: [c for c in members if c in left] for h, members in by_heads.items()}
        heads = max(present, key=lambda h: (len(present[h]), -domain.cells(h)))
        groups[heads] = [left.pop(c) for c in present[heads]]
        del by_heads[heads]
    return groups


def fit_rows(
    rows: SoftRows,
    stars: Sequence[Star],
    *,
    loss: Loss = "squared",
    iterations: int,
    learning_rate: float,
    tolerance: float,
    stop_at_noise: bool,
) -> int:
    """Move rows by Adam (Kingma and Ba 2015), made anew at each call; return the number of steps taken.

    Args:
        rows: Changed in place.
        stars: What to reach.
        loss: "squared": the sum of weighted squared differences. "largest": the mean absolute difference of
            those cells that are at least half as far off as the farthest one was of late (Liu, Vietri, Wu
            2021, GEM, section 4).
        iterations: At most so many steps.
        learning_rate: Of Adam.
        tolerance: Stop when 50 steps improve the smallest loss by less than this part.
        stop_at_noise: Stop when no target is farther off than noise explains.
    """
    torch = require("torch", "neural")
    parameters = [p.requires_grad_() for p in rows.parameters]
    optimiser = torch.optim.Adam(parameters, lr=learning_rate, fused=True)
    slopes_of = _Squared(stars) if loss == "squared" else _Largest(stars)
    before, taken = math.inf, 0
    while taken < iterations:
        blocks = rows.blocks()
        operands = [star.operands(blocks) for star in stars]
        with torch.no_grad():
            differences = [s.difference(*o) for s, o in zip(stars, operands, strict=True)]
            if stop_at_noise and taken % _CHECK_EVERY == 0:
                pairs = zip(stars, differences, strict=True)
                if all(star.is_explained(difference) for star, difference in pairs):
                    break
            slopes = slopes_of(differences)
            if taken % _PATIENCE == _PATIENCE - 1:
                if slopes_of.smallest() > (1 - tolerance) * before:
                    break
                before = slopes_of.smallest()
        optimiser.zero_grad(set_to_none=True)
        _backward(operands, slopes, rows.fast)
        optimiser.step()
        rows.settle()
        taken += 1
    for parameter in parameters:
        parameter.requires_grad_(False)
    return taken


class _Squared:
    """The derivative of the weighted squared differences, and the smallest loss so far."""

    def __init__(self, stars: Sequence[Star]) -> None:
        self._stars = stars
        self._smallest: Tensor | None = None

    def __call__(self, differences: Sequence[Tensor]) -> list[Tensor]:
        slopes = [2.0 * star.weight * d for star, d in zip(self._stars, differences, strict=True)]
        value = differences[0].new_zeros(())
        for slope, difference in zip(slopes, differences, strict=True):
            value += slope.flatten() @ difference.flatten() / 2
        self._smallest = value if self._smallest is None else value.minimum(self._smallest)
        return slopes

    def smallest(self) -> float:
        assert self._smallest is not None  # asked after a step
        return float(self._smallest)


class _Largest:
    """The derivative of the mean of the largest absolute differences of measured cells."""

    def __init__(self, stars: Sequence[Star]) -> None:
        self._measured = [star.precision > 0 for star in stars]
        self._of_late = 0.0
        self._smallest = math.inf

    def __call__(self, differences: Sequence[Tensor]) -> list[Tensor]:
        errors = [d * m for d, m in zip(differences, self._measured, strict=True)]
        farthest = max(float(e.abs().max()) for e in errors)
        self._of_late = _FORGET * self._of_late + (1 - _FORGET) * farthest if self._of_late else farthest
        self._smallest = min(self._smallest, farthest)
        chosen = [(e.abs() >= _AMONG_LARGEST * self._of_late) & (e != 0) for e in errors]
        count = max(1, sum(int(c.sum()) for c in chosen))
        return [e.sign() * c / count for e, c in zip(errors, chosen, strict=True)]

    def smallest(self) -> float:
        return self._smallest


def _backward(operands: Sequence[tuple[Tensor, Tensor]], slopes: Sequence[Tensor], fast: bool) -> None:
    """Pass a gradient by the differences back through the rows to the parameters.

    The products are written out, as a gradient may be rounded where the differences may not.
    """
    torch = require("torch", "neural")
    ends, gradients = [], []
    with torch.no_grad():
        for (cells, codes), slope in zip(operands, slopes, strict=True):
            dtype = torch.bfloat16 if fast else torch.float32
            factor = (slope / len(codes)).to(dtype)
            ends.append(codes)
            gradients.append((cells.to(dtype) @ factor).float())
            if cells.requires_grad:
                ends.append(cells)
                gradients.append((codes.to(dtype) @ factor.T).float())
    torch.autograd.backward(ends, gradients)
