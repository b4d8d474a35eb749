"""Records as offsets and one-hot blocks, the encoding of CTGAN and TVAE, and the way back to codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.record_models.blocks import Blocks, FloatTable
from syntabula.record_models.modes import Modes, fitted_modes
from syntabula.record_models.representation import ColumnLookup, column_lookups, usual_sizes

if TYPE_CHECKING:
    from torch import Generator, Tensor

FEW_CODES = 30
"""An ordered column with at most so many codes is a block of them, without modes."""


class Widths(NamedTuple):
    """How many numbers an encoded record has.

    Attributes:
        offsets: Numbers of columns with modes.
        blocks: Logits of all blocks.
        whole: Those of columns without modes among them.
    """

    offsets: int
    blocks: int
    whole: int

    @classmethod
    def of(cls, used: Sequence[int], n_modes: Sequence[int]) -> Self:
        """Return the widths for numbers of codes with records and of modes, 0 for none, of each column."""
        whole = sum(size for size, n in zip(used, n_modes, strict=True) if not n)
        return cls(sum(n > 0 for n in n_modes), whole + sum(n_modes), whole)


class Encoding:
    """What stands for each column: a block of its codes, or a block of its modes and an offset.

    Args:
        domain: The columns.
        lookups: Of each column.
        modes: The modes of each column that has them, by its position.

    Attributes:
        blocks: The block of each column.
        with_offsets: Positions of the columns that have an offset, ascending.
        whole: Positions of the others, whose block is that of their codes.
        n_modes: Number of modes of each column, 0 for none.
        widths: How many numbers a record has: offsets, and then the blocks.
    """

    def __init__(self, domain: Domain, lookups: Sequence[ColumnLookup], modes: Mapping[int, Modes]) -> None:
        self.domain, self.lookups, self.modes = domain, lookups, modes
        used = [lookup.size for lookup in lookups]
        self.n_modes = [modes[j].centres.size if j in modes else 0 for j in range(len(lookups))]
        self.blocks = Blocks([n or size for n, size in zip(self.n_modes, used, strict=True)])
        self.with_offsets = sorted(modes)
        self.whole = [j for j in range(len(lookups)) if j not in modes]
        self.widths = Widths.of(used, self.n_modes)

    def places(self, records: EncodedTable) -> NDArray[np.int32]:
        """Return the positions of records' codes among those that there are [rows, columns]."""
        columns = [lookup.places[codes] for lookup, codes in zip(self.lookups, records.codes, strict=True)]
        return np.stack(columns, 1).astype(np.int32)

    def drawn(
        self, outputs: FloatTable, deviations: NDArray[np.floating], rng: np.random.Generator
    ) -> EncodedTable:
        """Draw a record from each row of a network's outputs.

        Args:
            outputs: Means of the offsets, and logits of the blocks [rows, width].
            deviations: Standard deviation of each offset, at least 0.
            rng: Source of the draws.
        """
        n = len(self.modes)
        blocks = self.blocks.draws(outputs[:, n:], rng)
        offsets = outputs[:, :n].astype(np.float64)
        if deviations.any():
            offsets += deviations * rng.standard_normal(offsets.shape, dtype=np.float32)
        for i, j in enumerate(self.with_offsets):
            blocks[:, j] = self.modes[j].nearest(self.lookups[j].codes, blocks[:, j], offsets[:, i])
        columns = [
            lookup.codes[np.minimum(blocks[:, j], lookup.size - 1)].astype(np.uint64)
            for j, lookup in enumerate(self.lookups)
        ]
        return EncodedTable(self.domain, tuple(columns))

    def code_chances(self, outputs: FloatTable, deviations: NDArray[np.floating]) -> FloatTable:
        """Return the distributions that `drawn` draws from [rows, sum of the domain's sizes]."""
        n = len(self.modes)
        found = np.zeros((len(outputs), sum(self.domain.sizes)), dtype=np.float32)
        start = 0
        for j, (lookup, size) in enumerate(zip(self.lookups, self.domain.sizes, strict=True)):
            chances: NDArray[np.floating] = self.blocks.shares(outputs[:, n:], j)
            if j in self.modes:
                i = self.with_offsets.index(j)
                means = outputs[:, i].astype(np.float64)
                chances = self.modes[j].code_chances(lookup.codes, chances, means, float(deviations[i]))
            found[:, start + lookup.codes] = chances
            start += size
        return found

    def arrays(self) -> dict[str, np.ndarray]:
        """Return centres and reaches of all modes, for a file."""
        modes = [self.modes[j] for j in self.with_offsets]
        return {
            "centres": np.concatenate([np.zeros(0), *(m.centres for m in modes)]),
            "reaches": np.concatenate([np.zeros(0), *(m.reaches for m in modes)]),
        }

    @classmethod
    def from_arrays(
        cls,
        domain: Domain,
        one_way: Mapping[str, FloatArray],
        n_modes: Sequence[int],
        arrays: Mapping[str, np.ndarray],
    ) -> Self:
        """Rebuild an encoding; raises ValueError if the parts do not fit together.

        Args:
            domain: The columns.
            one_way: The one-way marginal of each.
            n_modes: Number of modes of each column; 0 if it is a block of codes.
            arrays: As from `arrays`.
        """
        centres, reaches = (np.asarray(arrays[name]) for name in ("centres", "reaches"))
        for array in (centres, reaches):
            if array.shape != (sum(n_modes),) or array.dtype != np.float64 or not np.isfinite(array).all():
                raise ValueError("modes of another table")
        if not (reaches > 0).all():
            raise ValueError("a mode without width")
        ends = np.cumsum(n_modes)
        modes = {
            j: Modes(centres[end - n : end], reaches[end - n : end])
            for j, (n, end) in enumerate(zip(n_modes, ends, strict=True))
            if n
        }
        return cls(domain, column_lookups(domain, one_way, waves=0), modes)


class Encoder:
    """Encodes batches of records on a device, and draws their modes.

    Args:
        encoding: What stands for each column.
        chances: For each column with modes, each code's chances of them [codes, modes].
        device: Of torch.
    """

    def __init__(self, encoding: Encoding, chances: Mapping[int, FloatArray], device: Any) -> None:
        torch = require("torch", "neural")
        self.encoding, self.device = encoding, device
        modes = encoding.with_offsets
        widest = max((chances[j].shape[1] for j in modes), default=1)
        heights, offsets = [np.zeros((0, widest))], [np.zeros((0, widest))]
        for j in modes:
            summed = np.cumsum(chances[j], axis=1)
            # The last mode that a code can have ends above all draws, whatever was rounded.
            summed[summed >= summed[:, -1:]] = 2.0
            away = encoding.modes[j].offsets(encoding.lookups[j].codes)
            missing = ((0, 0), (0, widest - summed.shape[1]))
            heights.append(np.pad(summed, missing, constant_values=2.0))
            offsets.append(np.pad(away, missing))
        first = np.cumsum([0, *(encoding.lookups[j].size for j in modes)])[: len(modes)]
        self._heights, self._offsets = (
            torch.as_tensor(np.concatenate(tables), dtype=torch.float32, device=device)
            for tables in (heights, offsets)
        )
        self._with, self._first, self._starts = (
            torch.as_tensor(np.asarray(places), dtype=torch.long, device=device)
            for places in (modes, first, encoding.blocks.starts)
        )

    def log_shares(self) -> Tensor:
        """Return the logarithm of each code's part of the records, where every column is a block of codes [width]."""
        torch = require("torch", "neural")
        found = np.zeros(self.encoding.blocks.width, np.float32)
        for start, lookup in zip(self.encoding.blocks.starts, self.encoding.lookups, strict=True):
            found[start : start + lookup.size] = lookup.log_shares
        shares: Tensor = torch.as_tensor(found, device=self.device)
        return shares

    def encoded(self, records: Tensor, random: Generator) -> tuple[Tensor, Tensor]:
        """Return the offsets of records [batch, columns with modes], and where in the blocks each column's one is.

        Args:
            records: Positions of codes [batch, columns].
            random: Draws the modes.
        """
        torch = require("torch", "neural")
        blocks = records.long()
        if not len(self._with):
            return blocks.new_zeros((len(blocks), 0), dtype=torch.float32), blocks + self._starts
        codes = blocks[:, self._with] + self._first
        drawn = torch.rand(codes.shape, generator=random, device=codes.device)
        modes = (self._heights[codes] <= drawn[..., None]).sum(2)
        offsets = self._offsets[codes].gather(2, modes[..., None])[..., 0]
        return offsets, blocks.index_copy(1, self._with, modes) + self._starts


def fitted_encoding(
    domain: Domain, one_way: Mapping[str, FloatArray], most_modes: int
) -> tuple[Encoding, dict[int, FloatArray]]:
    """Return the encoding of a table by its one-way marginals, and each code's chances of its modes."""
    lookups = column_lookups(domain, one_way, waves=0)
    modes, chances = {}, {}
    for j, (column, lookup) in enumerate(zip(domain, lookups, strict=True)):
        if column in domain.ordered and lookup.size > max(FEW_CODES, most_modes):
            shares = np.exp(lookup.log_shares.astype(np.float64))
            modes[j], chances[j] = fitted_modes(lookup.codes, shares / shares.sum(), most_modes)
    return Encoding(domain, lookups, modes), chances


def plain_encoding(domain: Domain, one_way: Mapping[str, FloatArray]) -> Encoding:
    """Return an encoding in which every column is a block of its codes."""
    return Encoding(domain, column_lookups(domain, one_way, waves=0), {})


def made_up_encoding(domain: Domain, most_modes: int) -> tuple[Encoding, dict[int, FloatArray]]:
    """Return the encoding of a table that has all codes of its categories and a usual number of those of numbers."""
    sizes = usual_sizes(domain)
    usual = Domain(domain.columns, sizes, domain.ordered)
    lookups = column_lookups(usual, {c: np.ones(size) for c, size in zip(usual, sizes, strict=True)}, waves=0)
    modes, chances = {}, {}
    for j, (column, size) in enumerate(zip(usual, sizes, strict=True)):
        if column in usual.ordered and size > max(FEW_CODES, most_modes):
            modes[j] = Modes(np.linspace(0.0, size - 1.0, most_modes), np.full(most_modes, float(size)))
            chances[j] = np.full((size, most_modes), 1 / most_modes)
    return Encoding(usual, lookups, modes), chances
