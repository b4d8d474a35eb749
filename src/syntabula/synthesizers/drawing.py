"""Which rows of a release are drawn, how, and in which pieces."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula._arguments import count, shown
from syntabula._planning import MOST_ROWS
from syntabula.errors import ArgumentError, ResourceError
from syntabula.models.base import Model
from syntabula.table.coding.codec import Codec
from syntabula.table.files.pieces import together
from syntabula.table.raw import Origin, RawColumn

if TYPE_CHECKING:
    from syntabula.table.rules.row_rules import RowRules

ROWS_AT_ONCE = 250_000
"""Rows that are drawn and written at a time."""

Draw = Callable[[int, int, np.random.Generator], dict[str, RawColumn]]
"""Returns the rows from one position up to another."""


@dataclass(frozen=True, eq=False)
class Drawing:
    """Draws the rows of a model, decoded, and satisfying the rules if there are any."""

    codec: Codec
    model: Model
    rules: RowRules | None

    def prepared(self, n: object, where: Mapping[str, Any] | None, given: Any) -> tuple[int, Draw]:
        """Return the number of rows, and what draws them; arguments and errors are those of `Release.sample`."""
        if given is not None:
            if n is not None or where is not None:
                raise ArgumentError("given already defines the rows to draw; leave out n and where")
            if self.rules is not None:
                from syntabula.synthesizers.ruled_completion import RuledCompletion

                ruled = RuledCompletion.of(self.rules, self.codec, self.model, given)
                return ruled.n_rows, ruled.draw
            from syntabula.synthesizers.completion import Completion

            completion = Completion.of(self.codec, self.model, given)
            return completion.n_rows, completion.draw
        if where is None:
            return _checked_rows(max(0, round(self.model.total)) if n is None else n), self.rows
        if self.rules is not None:
            from syntabula.synthesizers.ruled_conditions import satisfying

            expected, draw, check = satisfying(self.rules, self.codec, self.model, where)
            n_rows = _checked_rows(expected() if n is None else n)
            check(n_rows)
            return n_rows, draw
        from syntabula.synthesizers.conditions import SatisfyingRows

        rows = SatisfyingRows.of(self.codec, self.model, where)
        n_rows = _checked_rows(max(0, round(rows.expected)) if n is None else n)
        rows.check(n_rows)
        return n_rows, rows.draw

    def rows(self, start: int, stop: int, rng: np.random.Generator) -> dict[str, RawColumn]:
        """Draw the rows from one position up to another."""
        if self.rules is None:
            return self.learned_rows(start, stop, rng)
        from syntabula.synthesizers.ruled_rows import RuledRows

        return RuledRows(self.rules, self.codec, self.model, self.learned_rows).draw(start, stop, rng)

    def learned_rows(self, start: int, stop: int, rng: np.random.Generator) -> dict[str, RawColumn]:
        """Draw rows of the columns that were learned, whatever the rules."""
        rows = self.model.sample(stop - start, rng)
        return self.codec.decode(rows, rng, first_row=start, drawn_apart=self.model.drawn_apart)


def pieces(draw: Draw, rows: range, rng: np.random.Generator) -> Iterator[dict[str, RawColumn]]:
    """Draw the rows at some positions, in pieces: memory need not hold all, and an interrupt waits for one at most."""
    starts = range(rows.start, max(rows.stop, rows.start + 1), ROWS_AT_ONCE)
    return (draw(start, min(start + ROWS_AT_ONCE, rows.stop), rng) for start in starts)


def whole(draw: Draw, n_rows: int, rng: np.random.Generator) -> dict[str, RawColumn]:
    """Draw all rows into memory; raises ResourceError if there is too little."""
    if n_rows > ROWS_AT_ONCE:
        from syntabula.synthesizers.row_limits import check_memory, tried_rows

        check_memory(n_rows, tried_rows(draw, n_rows, generator(0)))
    return together(pieces(draw, range(n_rows), rng), n_rows)


def check_room(file: str | os.PathLike[str], draw: Draw, n_rows: int, types: Origin) -> None:
    """Refuse rows that the disk of a file has no room for; types are those that columns have in the file."""
    if n_rows > ROWS_AT_ONCE:
        from syntabula.synthesizers.row_limits import check_disk, tried_rows

        check_disk(file, n_rows, tried_rows(draw, n_rows, generator(0)), types)


def generator(seed: int | None) -> np.random.Generator:
    """Return the source of a draw."""
    return np.random.default_rng(count(0).or_none("seed", seed))


def common_seed(seed: int | None) -> int:
    """Return the seed of all parts of a table."""
    count(0).or_none("seed", seed)
    return int(generator(None).integers(2**63)) if seed is None else seed


def _checked_rows(n: object) -> int:
    """Return a number of rows to draw; raises ArgumentError if it is invalid, or ResourceError if no machine holds so
    many."""
    rows: int = count(0)("n", n)
    if rows > MOST_ROWS:
        raise ResourceError(
            f"n must be at most {MOST_ROWS:,} rows, as no machine holds more; got {shown(rows)}"
        )
    return rows
