"""A table in parts in the codes of a codec: each batch is encoded where it is read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import EncodedTable
from syntabula.marginals.parts import Fold, State
from syntabula.table.coding.calendar_codes import encoded_with_calendars
from syntabula.table.coding.codec import Codec
from syntabula.table.coding.column_codes import Coercions
from syntabula.table.parts.raw_parts import RawParts
from syntabula.table.raw import RawTable

_KINDS = ("clipped", "rounded", "unknown", "unreadable", "missing")
_COERCED, _LEFT_OUT, _FITS = "coerced", "left out", "fits"
_INNER = "of the fold "


class EncodedParts:
    """Encoded records of a raw table in parts.

    Args:
        raw: The table.
        codec: Encodes each record by itself, so parts do not matter.
        found: Columns whose domains were found; see `Codec.encode`.
        calendars: Columns whose weekdays and hours have codes, too.

    Attributes:
        coercions: What did not fit the codec, in the first pass; None before it.
    """

    def __init__(
        self, raw: RawParts, codec: Codec, found: Collection[str] = (), calendars: Sequence[str] = ()
    ) -> None:
        self._raw = raw
        self._calendars = tuple(calendars)
        self._codec = codec
        self._found = frozenset(found)
        self.coercions: Coercions | None = None

    @property
    def states_at_once(self) -> int:
        """How many states of one fold are in memory at once."""
        return self._raw.states_at_once

    def fold(self, fold: Fold[EncodedTable]) -> State:
        """Return the state of all records, in one pass."""
        encoding = EncodeFold(self._codec, fold, self._found, self._calendars)
        state = self._raw.fold(encoding)
        self.coercions = encoding.coercions(state)
        return encoding.inner(state)

    def pieces(self) -> Iterator[EncodedTable]:
        """Yield the records piece by piece, in this process."""
        for table in self._raw.pieces():
            yield encoded_with_calendars(self._codec, self._calendars, table)[0]

    def left(self) -> NDArray[np.bool_]:
        """Return for each raw record whether it is encoded, or left out; takes a pass."""
        left = [np.zeros(0, np.bool_)]
        for table in self._raw.pieces():
            kept = self._codec.encode(table)[1].kept
            left.append(np.ones(table.n_rows, np.bool_) if kept is None else kept)
        return np.concatenate(left)


@dataclass(frozen=True, eq=False)
class EncodeFold(Fold[RawTable]):
    """Encodes raw records and folds the codes; counts what did not fit the codec.

    Attributes:
        codec: The codec.
        fold: What is asked of the codes.
        found: Columns whose domains were found; values that these leave out are not counted.
        calendars: Columns whose weekdays and hours have codes, too.
    """

    codec: Codec
    fold: Fold[EncodedTable]
    found: frozenset[str] = frozenset()
    calendars: tuple[str, ...] = ()

    def start(self) -> State:
        """Return the state of no records."""
        columns = len(self.codec.domain)
        own = {
            _COERCED: np.zeros((len(_KINDS), columns), np.int64),
            # Of batches in which no cell of a column fits, and of those in which one does.
            _FITS: np.zeros((2, columns), np.int64),
            _LEFT_OUT: np.zeros(1, np.int64),
        }
        return own | {_INNER + name: array for name, array in self.fold.start().items()}

    def add(self, state: State, part: RawTable) -> None:
        """Add the records of a part."""
        encoded, coercions = encoded_with_calendars(self.codec, self.calendars, part, found=self.found)
        self.fold.add(self.inner(state), encoded)
        for position, name in enumerate(self.codec.domain):
            for row, kind in enumerate(_KINDS):
                state[_COERCED][row, position] += getattr(coercions, kind).get(name, 0)
            column = part.columns[name]
            unreadable = column.unreadable is not None and bool(column.unreadable.any())
            if unreadable or not column.missing.all():
                state[_FITS][int(name not in coercions.none_fit), position] += 1
        state[_LEFT_OUT] += coercions.records_left_out

    def merge(self, state: State, other: State) -> None:
        """Add a state of other records."""
        for name in (_COERCED, _FITS, _LEFT_OUT):
            state[name] += other[name]
        self.fold.merge(self.inner(state), self.inner(other))

    def inner(self, state: State) -> State:
        """Return the state of the fold of codes, which shares its arrays."""
        return {n.removeprefix(_INNER): array for n, array in state.items() if n.startswith(_INNER)}

    def coercions(self, state: State) -> Coercions:
        """Return what did not fit, of all records."""
        names = self.codec.domain.columns
        counts: dict[str, Any] = {
            kind: {n: int(c) for n, c in zip(names, row, strict=True) if c}
            for kind, row in zip(_KINDS, state[_COERCED], strict=True)
        }
        none, some = state[_FITS]
        return Coercions(
            **counts,
            records_left_out=int(state[_LEFT_OUT][0]),
            outcomes=self.codec.outcomes(),
            none_fit=tuple(n for n, a, b in zip(names, none, some, strict=True) if a and not b),
        )
