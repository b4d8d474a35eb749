"""Rows for given ones that no draw of theirs satisfies: they take what conditions are on from rows most like them.

A release may give some values no probability beside others, as a tree does whose leaf has missing cells alone, and say
nothing of what would stand there otherwise. Rows of the whole release that satisfy the conditions then lend their values,
as in hot-deck imputation: Andridge and Little (2010), "A review of hot deck imputation for survey non-response".
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError, ResourceError, SyntabulaWarning
from syntabula.marginals.measurement import FloatArray
from syntabula.synthesizers.ruled_rows import Draw
from syntabula.table.coding.codec import Codec
from syntabula.table.coding.column_codes import encode_column
from syntabula.table.raw import RawColumn
from syntabula.table.schema.columns import Identifier

_LENDERS = 2_000
_NEAREST = 5
"""Rows that are most alike, of which one is taken: always the first would lend its value to all."""
_AT_ONCE = 500


@dataclass(frozen=True, eq=False)
class NearestRows:
    """Completes some given rows with values of rows that satisfy conditions.

    Attributes:
        codec: The release's codec, in whose codes rows are compared.
        given: The given columns.
        wanted: Columns with conditions, of which none is given.
        satisfying: Returns what draws rows of the release that satisfy the conditions, whatever is given; raises
            ArgumentError if there are none.
        completing: Returns what draws rows for those of a table, given by its columns and the number of its rows.
    """

    codec: Codec
    given: Mapping[str, RawColumn]
    wanted: Collection[str]
    satisfying: Callable[[], Draw]
    completing: Callable[[dict[str, RawColumn], int], Draw]

    def draw(self, rows: NDArray[np.intp], rng: np.random.Generator) -> dict[str, RawColumn] | None:
        """Draw rows for some given ones, by position; None if the release has none that could lend values, or none that
        keeps its rules with them."""
        with warnings.catch_warnings():
            # Whoever calls says what there is to say.
            warnings.simplefilter("ignore", SyntabulaWarning)
            try:
                lenders = self.satisfying()(0, _LENDERS, rng)
                given = {name: column.take(rows) for name, column in self.given.items()}
                nearest = self._nearest(given, lenders, rows.size, rng)
                lent = {
                    name: lenders[name].take(nearest)
                    for name in self.wanted
                    if not isinstance(self.codec.schema.columns.get(name), Identifier)
                }
                return self.completing(given | lent, rows.size)(0, rows.size, rng)
            except (ArgumentError, ResourceError):
                return None

    def _nearest(
        self,
        given: Mapping[str, RawColumn],
        lenders: Mapping[str, RawColumn],
        n: int,
        rng: np.random.Generator,
    ) -> NDArray[np.intp]:
        """Return for each of n given rows one of the lenders that are most like it, by Gower's distance (1971)."""
        n_lenders = next(iter(lenders.values())).missing.size
        places = [
            self._places(name, column, lenders[name])
            for name, column in given.items()
            if name in self.codec.domain and name in lenders
        ]
        found = np.empty(n, np.intp)
        for start in range(0, n, _AT_ONCE):
            stop = min(start + _AT_ONCE, n)
            # What is equally near is taken in any order.
            distance = rng.random((stop - start, n_lenders)) * 1e-9
            for ours, theirs in places:
                # Codes without an order are 1 apart.
                distance += np.minimum(np.abs(ours[start:stop, None] - theirs), 1.0)
            among = np.argpartition(distance, _NEAREST - 1, axis=1)[:, :_NEAREST]
            found[start:stop] = among[np.arange(stop - start), rng.integers(_NEAREST, size=stop - start)]
        return found

    def _places(self, name: str, ours: RawColumn, theirs: RawColumn) -> tuple[FloatArray, FloatArray]:
        """Return where the cells of given rows and of lenders are: bins by rank, others 1 apart [n], [lenders]."""
        column, bins = self.codec.schema[name], self.codec.bins.get(name)
        codes = [encode_column(column, raw, bins).codes.astype(np.intp) for raw in (ours, theirs)]
        n_bins = 0 if bins is None else bins.size
        shares = np.bincount(codes[1], minlength=n_bins)[:n_bins] / codes[1].size
        ranks = np.cumsum(shares) - shares / 2
        place = np.concatenate([ranks, 2.0 + np.arange(self.codec.domain.size(name) - n_bins)])
        return place[codes[0]], place[codes[1]]
