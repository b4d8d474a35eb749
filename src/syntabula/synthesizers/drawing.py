"""Which rows of a release are drawn, how, in which pieces, and whether memory and disk can hold them."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from syntabula._arguments import count, shown
from syntabula._memory import available_bytes, memory_for
from syntabula._planning import MOST_ROWS
from syntabula.errors import ArgumentError, DataError, ResourceError
from syntabula.models.base import Model
from syntabula.table.coding.codec import Codec
from syntabula.table.files.pieces import together
from syntabula.table.raw import Origin, RawColumn, RawTable
from syntabula.table.schema.columns import Date, Datetime
from syntabula.table.schema.schema import Schema, check_number, unique_columns

if TYPE_CHECKING:
    from syntabula.synthesizers.given_where import Again
    from syntabula.table.coding.conditions import Allowed
    from syntabula.table.rules.row_rules import RowRules


ROWS_AT_ONCE = 250_000
"""Rows that are drawn and written at a time."""

_SAVED = "free some, or draw fewer rows; the release loses nothing by this"

Draw = Callable[[int, int, np.random.Generator], dict[str, RawColumn]]
"""Returns the rows from one position up to another."""


@dataclass(frozen=True, eq=False)
class Drawing:
    """Draws the rows of a model, decoded, and satisfying the rules if there are any."""

    codec: Codec
    model: Model
    rules: RowRules | None

    @memory_for("prepare the rows", _SAVED)
    def prepared(
        self, n: object, where: Mapping[str, Any] | None, given: Any, seed: int | None
    ) -> tuple[int, Draw]:
        """Return the number of rows, and what draws them; arguments and errors are those of `Release.sample`.

        The seed is that of all parts of a table: rows of which no two share a value are drawn all at once.
        """
        if given is not None:
            if n is not None:
                raise ArgumentError("given already defines the rows to draw; leave out n")
            return self._completed(given, where, seed)
        if where is None:
            return self._unconditioned(n, seed)
        expected, draw, check = self._within(where)
        n_rows = _checked_rows(expected() if n is None else n)
        check(n_rows)
        return self._unshared(n, n_rows, draw, where, seed)

    def _within(self, where: Mapping[str, Any]) -> tuple[Callable[[], int], Draw, Callable[[int], None]]:
        """Return how many rows are expected to satisfy conditions, what draws them, and a check of how many to draw."""
        if self.rules is not None:
            from syntabula.synthesizers.ruled_conditions import satisfying

            return satisfying(self.rules, self.codec, self.model, where)
        from syntabula.synthesizers.conditions import SatisfyingRows

        rows = SatisfyingRows.of(self.codec, self.model, where)
        return lambda: max(0, round(rows.expected)), rows.draw, rows.check

    def _completed(self, given: Any, where: Mapping[str, Any] | None, seed: int | None) -> tuple[int, Draw]:
        """Return the number of given rows, and what completes them, within conditions if there are any."""
        from syntabula.synthesizers.given_texts import as_spelled

        n_rows, columns, draw, again = self._completing(given)
        wanted: Mapping[str, Allowed] = {}
        if where is not None:
            from syntabula.synthesizers.given_where import SatisfyingGiven
            from syntabula.synthesizers.nearest_given import NearestRows

            def extended(cells: dict[str, RawColumn], n: int) -> Draw:
                return self._completing(RawTable(cells, n, Origin("pandas", {})))[2]

            def nearest(wanted: Mapping[str, Allowed]) -> NearestRows:
                return NearestRows(self.codec, columns, wanted, partial(self._satisfying, where), extended)

            satisfying = SatisfyingGiven.of(self._schema, columns, where, draw, again, nearest)
            draw, wanted = satisfying.draw, satisfying.wanted
        for name, column in unique_columns(self._schema).items():
            # Given values stay as they are.
            if name not in columns:
                draw = self._unshared_beside(columns, name, column, n_rows, draw, wanted, seed)
        return n_rows, as_spelled(draw, columns, given, self._schema)

    def _completing(self, given: Any) -> tuple[int, Mapping[str, RawColumn], Draw, Again | None]:
        """Return the number of given rows, their columns, what completes them, and what completes some of them alone."""
        if self.rules is not None:
            from syntabula.synthesizers.solved_completion import SolvedCompletion

            ruled = SolvedCompletion.of(self.rules, self.codec, self.model, given)
            return ruled.n_rows, ruled.given, ruled.draw, None
        from syntabula.synthesizers.completion import Completion

        plain = Completion.of(self.codec, self.model, given)
        return plain.n_rows, plain.columns, plain.draw, plain.draw_rows

    def _satisfying(self, where: Mapping[str, Any]) -> Draw:
        """Return what draws rows that satisfy conditions; raises ArgumentError if none does."""
        _, draw, check = self._within(where)
        check(1)
        return draw

    def _unshared_beside(
        self,
        given: Mapping[str, RawColumn],
        name: str,
        column: Date | Datetime,
        n_rows: int,
        draw: Draw,
        wanted: Mapping[str, Allowed],
        seed: int | None,
    ) -> Draw:
        """Return what draws rows for given ones of which no two share a value of a unique column."""
        from syntabula.synthesizers.unique_given import UniqueGiven

        make = partial(generator, seed)
        unique = UniqueGiven(name, column, self._schema, self.rules, given, n_rows, draw, make, wanted)
        if n_rows > unique.most:
            those = "that satisfy where" if name in wanted else "between its bounds"
            raise ArgumentError(
                f"column {name!r} is `unique` and has {unique.most:,} values {those}, but {n_rows:,} rows are given; "
                f"give at most so many rows, or their values of {name!r}"
            )
        if n_rows > ROWS_AT_ONCE:
            # They are drawn all at once.
            check_memory(n_rows, tried_rows(draw, n_rows, generator(0)))
        return unique.draw

    def _unconditioned(self, n: object, seed: int | None) -> tuple[int, Draw]:
        """Return a number of rows, and what draws them."""
        total = max(0, round(self.model.total))
        return self._unshared(n, _checked_rows(total if n is None else n), self.rows, {}, seed)

    def _unshared(
        self, n: object, n_rows: int, draw: Draw, where: Mapping[str, Any], seed: int | None
    ) -> tuple[int, Draw]:
        """Return a number of rows, and what draws them so that no two share a value of a unique column.

        Args:
            n: The number that was asked for, if any.
            n_rows: The number to draw, of which there may be fewer if none was asked for.
            draw: Draws rows, whatever they share.
            where: The conditions that these satisfy.
            seed: That of the draw.
        """
        unique = unique_columns(self._schema)
        if not unique:
            return n_rows, draw
        from syntabula.synthesizers.unique_values import unique_rows

        ((name, column),) = unique.items()
        make = partial(
            unique_rows, name, column, self.codec, self.rules, draw, where, partial(generator, seed)
        )
        most = make(0).most
        if n is None:
            n_rows = min(n_rows, most)
        check_number(self._schema, n_rows)
        if n_rows > most:
            raise ArgumentError(
                f"column {name!r} is `unique`, and {most:,} of its values satisfy the conditions; draw at most so many "
                "rows, or loosen the conditions"
            )
        if n_rows > ROWS_AT_ONCE:
            # They are drawn all at once.
            check_memory(n_rows, tried_rows(draw, n_rows, generator(0)))
        found = make(n_rows)
        while n is None and self.rules is not None and found.n_found < found.n_rows:
            # Fewer values than there are may satisfy the rules.
            found = replace(found, n_rows=found.n_found)
        return found.n_rows, found.draw

    @property
    def _schema(self) -> Schema:
        return self.codec.schema if self.rules is None else self.rules.schema

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
    return (_drawn(draw, start, min(start + ROWS_AT_ONCE, rows.stop), rng) for start in starts)


@memory_for("draw the rows", _SAVED)
def _drawn(draw: Draw, start: int, stop: int, rng: np.random.Generator) -> dict[str, RawColumn]:
    return draw(start, stop, rng)


def whole(draw: Draw, n_rows: int, rng: np.random.Generator) -> dict[str, RawColumn]:
    """Draw all rows into memory; raises ResourceError if there is too little."""
    if n_rows > ROWS_AT_ONCE:
        check_memory(n_rows, tried_rows(draw, n_rows, generator(0)))
    return together(pieces(draw, range(n_rows), rng), n_rows)


def check_room(file: str | os.PathLike[str], draw: Draw, n_rows: int, types: Origin) -> None:
    """Refuse rows that the disk of a file has no room for; types are those that columns have in the file."""
    if n_rows > ROWS_AT_ONCE:
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


TRIED_ROWS = 10_000
_COPIES = 2
"""Rows are held twice: as drawn, and in the resulting frame."""

Columns = Mapping[str, RawColumn]


def check_memory(n_rows: int, tried: Columns) -> None:
    """Refuse more rows than memory can hold.

    Args:
        n_rows: Number of rows requested.
        tried: Some of them, already drawn.

    Raises:
        ResourceError: If they would need more than is available; nothing was allocated.
    """
    available = available_bytes()
    needed = _COPIES * n_rows * sum(map(_bytes_per_row, tried.values()))
    if available is not None and needed > available:
        raise ResourceError(
            f"{n_rows:,} rows of {len(tried)} columns would take about {_in_units(needed)} of memory, and "
            f"{_in_units(available)} are free; draw fewer rows, or write them to a file (sample_to), which takes no more "
            "memory for more rows"
        )


def check_disk(path: str | os.PathLike[str], n_rows: int, tried: Columns, origin: Origin) -> None:
    """Refuse more rows than the disk of a file can hold.

    Args:
        path: File for the rows; its suffix sets the format.
        n_rows: Number of rows requested.
        tried: Some of them, which are written to a temporary file of this format.
        origin: Types to write.

    Raises:
        DataError: If they would need more than is free there; no file was opened.
    """
    from syntabula.table.files.files import write_table

    place = Path(path)
    half = {name: column.take(np.arange(column.values.size // 2)) for name, column in tried.items()}
    try:
        free = shutil.disk_usage(place.parent).free
        with tempfile.TemporaryDirectory(prefix="syntabula-") as folder:
            sizes = []
            for part, columns in (("half", half), ("whole", tried)):
                file = Path(folder) / f"{part}{''.join(place.suffixes[-2:])}"
                write_table(columns, file, origin)
                sizes.append(file.stat().st_size)
    except (OSError, DataError):
        return  # the writer of the file reports what is wrong
    n_half = next(iter(half.values())).values.size
    n_more = next(iter(tried.values())).values.size - n_half
    # The cost of further rows, without that of the file's header.
    needed = sizes[0] + (n_rows - n_half) * max(sizes[1] - sizes[0], 0) // max(n_more, 1)
    if needed > free:
        raise DataError(
            f"{n_rows:,} rows would take about {_in_units(needed)} in {os.fspath(path)!r}, and {_in_units(free)} are "
            "free on its disk; draw fewer rows, or name another disk"
        )


@memory_for("try some rows", _SAVED)
def tried_rows(
    draw: Callable[[int, int, np.random.Generator], Columns], n_rows: int, rng: np.random.Generator
) -> Columns:
    """Draw a few rows with a separate generator, so that the rows of a seed do not depend on this check."""
    with warnings.catch_warnings():
        # Warnings are issued when all rows are drawn.
        warnings.simplefilter("ignore")
        return draw(0, min(TRIED_ROWS, n_rows), rng)


def _bytes_per_row(column: RawColumn) -> float:
    """Return the bytes of a row; rows share equal texts, except for identifiers and the like."""
    values = column.values
    own = 0.0
    if values.dtype == object and values.size:
        listed = values.tolist()
        if len({id(value) for value in listed}) == values.size:
            own = sum(map(sys.getsizeof, listed)) / values.size
    return values.dtype.itemsize + column.missing.dtype.itemsize + own


def _in_units(n_bytes: float) -> str:
    unit = 0
    while n_bytes >= 1000 and unit < 6:
        n_bytes, unit = n_bytes / 1000, unit + 1
    return f"{n_bytes:,.3g} {('bytes', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB')[unit]}"
