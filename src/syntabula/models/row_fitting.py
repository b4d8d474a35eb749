"""Fitting: move soft rows towards noisy marginals by gradient descent."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
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

    def table(self) -> Tensor:
        """Return the distributions of all columns side by side [rows, codes], float32."""
        ...

    def settle(self) -> None:
        """Bring the parameters back to where they may be; called after each step."""
        ...


@dataclass(frozen=True, eq=False)
class Star:
    """Targets that share all columns but one, with neighbours for that one: one matrix product finds them all.

    Attributes:
        heads: Positions of the shared columns; none for one-way targets.
        tails: Position of the other column of each target.
        head_codes: Where the codes of each head lie in a row.
        tail_codes: Where the codes of the tails, and of columns between them, lie in a row.
        wanted: Probabilities to reach [cells of the heads, tail codes].
        precision: One over the standard deviation of each; 0 where nothing was measured.
        weight: What a squared difference counts.
        explained: Sum of squared standardised differences that noise explains, of each target.
        tail_of: Position in `tails` of each tail code [tail codes]; any for those that are no tail's.
    """

    heads: tuple[int, ...]
    tails: tuple[int, ...]
    head_codes: tuple[slice, ...]
    tail_codes: slice
    wanted: Tensor
    precision: Tensor
    weight: Tensor
    explained: Tensor
    tail_of: Tensor

    def difference(self, table: Tensor) -> Tensor:
        """Return how far rows are from what is wanted, one number for each cell."""
        torch = require("torch", "neural")
        cells, codes = self._cells(table), table[:, self.tail_codes]
        difference: Tensor = torch.addmm(self.wanted, cells.T, codes, beta=-1.0, alpha=1.0 / len(table))
        return difference

    def is_explained(self, difference: Tensor) -> bool:
        """Return whether noise explains the differences of all targets."""
        errors = (difference * self.precision).square().sum(dim=0)
        sums = errors.new_zeros(len(self.tails)).index_add(0, self.tail_of, errors)
        return bool((sums <= self.explained).all())

    def add_gradient(self, gradient: Tensor, table: Tensor, slope: Tensor) -> None:
        """Add to a gradient by the table what a gradient by the differences gives, times the number of rows.

        Args:
            gradient: [rows, codes]; changed in place.
            table: The rows, in the type in which products are taken.
            slope: The derivative by each of the differences, in the same type.
        """
        codes = table[:, self.tail_codes]
        gradient[:, self.tail_codes] += self._cells(table) @ slope
        if not self.heads:
            return
        by_cell = codes @ slope.T
        blocks = [table[:, head] for head in self.head_codes]
        for own, head in enumerate(self.head_codes):
            gradient[:, head] += _without_others(by_cell, blocks, own)

    def _cells(self, table: Tensor) -> Tensor:
        """Return the distribution of each row over the cells of the heads."""
        if not self.heads:
            return table.new_ones((len(table), 1))
        cells = table[:, self.head_codes[0]]
        for codes in self.head_codes[1:]:
            cells = (cells[:, :, None] * table[:, None, codes]).flatten(1)
        return cells


def _without_others(by_cell: Any, blocks: Sequence[Tensor], own: int) -> Any:
    """Sum a gradient by the cells of some columns, times the other columns' distributions, to one of them."""
    before, after = (math.prod(b.shape[1] for b in part) for part in (blocks[:own], blocks[own + 1 :]))
    found = by_cell.unflatten(1, (before, blocks[own].shape[1], after))
    for block in blocks[:own]:
        found = (found.unflatten(1, (block.shape[1], -1)) * block[:, :, None, None, None]).sum(dim=1)
    for block in reversed(blocks[own + 1 :]):
        found = (found.unflatten(-1, (-1, block.shape[1])) * block[:, None, None, None, :]).sum(dim=-1)
    return found[:, 0, :, 0]


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
    starts = np.cumsum([0, *domain.sizes]).tolist()

    def tensor(values: np.ndarray | list[float], kind: Any = torch.float32) -> Any:
        return torch.tensor(values, dtype=kind, device=device)

    stars = []
    for heads, tails, members in _cover(domain, targets):
        first, end = starts[tails[0]], starts[tails[-1] + 1]
        shape = (domain.cells(heads), end - first)
        wanted, precision, weight = (np.zeros(shape, dtype=np.float32) for _ in range(3))
        explained, tail_of = list[float](), np.zeros(end - first)
        for number, (target, tail) in enumerate(zip(members, tails, strict=True)):
            order = [target.clique.index(c) for c in (*heads, domain.columns[tail])]
            own = slice(starts[tail] - first, starts[tail + 1] - first)
            sharp = np.sqrt(target.weight.transpose(order).reshape(shape[0], -1))
            sharp *= sharp > _UNKNOWN * sharp.max()
            cells = np.count_nonzero(sharp) if target.noise else 0
            wanted[:, own] = target.mean.transpose(order).reshape(shape[0], -1) / total
            precision[:, own] = sharp * total
            weight[:, own] = sharp * ((emphasis if target.clique in newest else 1.0) / largest)
            explained.append(cells + 2 * math.sqrt(2 * cells))
            tail_of[own] = number
        positions = tuple(domain.index(c) for c in heads)
        stars.append(
            Star(
                heads=positions,
                tails=tuple(tails),
                head_codes=tuple(slice(starts[p], starts[p + 1]) for p in positions),
                tail_codes=slice(first, end),
                wanted=tensor(wanted),
                precision=tensor(precision),
                weight=tensor(weight),
                explained=tensor(explained),
                tail_of=tensor(tail_of, torch.int64),
            )
        )
    return stars


def star_numbers(domain: Domain, cliques: Collection[Clique], rows: int) -> int:
    """Bound how many float32 numbers the stars of some cliques take while rows are fitted."""
    cells = sum(domain.cells(c) for c in cliques)
    # A product of columns over the rows, and its gradient, for cliques wider than a pair.
    products = sum(domain.cells(c[:-1]) for c in cliques if len(c) > 2)
    # wanted, precision, weight, difference, slope, and one more in the making; half may lie between targets.
    return 12 * cells + rows * 3 * products


def _cover(domain: Domain, targets: Sequence[Target]) -> Iterator[tuple[Clique, list[int], list[Target]]]:
    """Group targets by all their columns but one: the choice that most targets have in common comes first.

    Yields:
        The columns in common, positions of the others, side by side or nearly so, and the targets.
    """
    left = {t.clique: t for t in targets}
    by_heads: dict[Clique, list[tuple[int, Clique]]] = {}
    for clique in left:
        for column in clique:
            heads = tuple(c for c in clique if c != column)
            by_heads.setdefault(heads, []).append((domain.index(column), clique))
    while left:
        present = {h: [m for m in members if m[1] in left] for h, members in by_heads.items()}
        heads = max(present, key=lambda h: (len(present[h]), -domain.cells(h) if len(h) > 1 else 0))
        for run in _runs(domain, sorted(present[heads])):
            yield heads, [tail for tail, _ in run], [left.pop(clique) for _, clique in run]
        del by_heads[heads]


def _runs(domain: Domain, tails: Sequence[tuple[int, Clique]]) -> list[list[tuple[int, Clique]]]:
    """Divide tails where the columns between two of them have more codes than the tails before."""
    runs: list[list[tuple[int, Clique]]] = []
    spare = 0
    for tail in tails:
        between = sum(domain.sizes[runs[-1][-1][0] + 1 : tail[0]]) if runs else 0
        if not runs or between > spare:
            runs.append([])
            spare = between = 0
        runs[-1].append(tail)
        spare += domain.sizes[tail[0]] - between
    return runs


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
    optimiser = _Adam(parameters, learning_rate)
    slopes_of = _Squared(stars) if loss == "squared" else _Largest(stars)
    before, taken = math.inf, 0
    while taken < iterations:
        table: Any = rows.table()
        with torch.no_grad():
            differences = [star.difference(table) for star in stars]
            if stop_at_noise and taken % _CHECK_EVERY == 0:
                pairs = zip(stars, differences, strict=True)
                if all(star.is_explained(difference) for star, difference in pairs):
                    break
            slopes = slopes_of(differences)
            if taken % _PATIENCE == _PATIENCE - 1:
                if slopes_of.smallest() > (1 - tolerance) * before:
                    break
                before = slopes_of.smallest()
            gradient = _gradient(stars, table, slopes, torch.bfloat16 if rows.fast else torch.float32)
        for parameter in parameters:
            parameter.grad = None
        table.backward(gradient)
        optimiser.step()
        rows.settle()
        taken += 1
    for parameter in parameters:
        parameter.requires_grad_(False)
    return taken


def _gradient(stars: Sequence[Star], table: Tensor, slopes: Sequence[Tensor], dtype: Any) -> Tensor:
    """Return the derivative by the table [rows, codes] from that by the differences.

    Written out, as its products may be rounded where those of the differences may not.
    """
    gradient, rounded = table.new_zeros(table.shape), table.to(dtype)
    for star, slope in zip(stars, slopes, strict=True):
        star.add_gradient(gradient, rounded, slope.to(dtype))
    return gradient.div_(len(table))


class _Adam:
    """Adam with its usual constants, in place; the optimiser's class takes more than a second to import."""

    def __init__(self, parameters: Sequence[Tensor], learning_rate: float) -> None:
        torch = require("torch", "neural")
        self._parameters = parameters
        self._rate = learning_rate
        self._first = [torch.zeros_like(p, requires_grad=False) for p in parameters]
        self._second = [torch.zeros_like(p, requires_grad=False) for p in parameters]
        self._taken = [torch.zeros((), device=p.device) for p in parameters]

    def step(self) -> None:
        """Move all parameters against their gradients."""
        with require("torch", "neural").no_grad():
            require("torch.optim.adam", "neural").adam(
                self._parameters,
                [p.grad for p in self._parameters],
                self._first,
                self._second,
                [],
                self._taken,
                fused=True,
                amsgrad=False,
                beta1=0.9,
                beta2=0.999,
                lr=self._rate,
                weight_decay=0.0,
                eps=1e-8,
                maximize=False,
            )


class _Squared:
    """The derivative of the weighted squared differences, and the smallest loss so far."""

    def __init__(self, stars: Sequence[Star]) -> None:
        self._weights = [2.0 * star.weight for star in stars]
        self._smallest: Tensor | None = None

    def __call__(self, differences: Sequence[Tensor]) -> list[Tensor]:
        slopes = [weight * d for weight, d in zip(self._weights, differences, strict=True)]
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
