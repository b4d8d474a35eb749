"""The weekdays and hours of columns of days and times as codes beside those of a codec, for counts of both."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.lift import KINDS, Calendar, kinds_of, with_all_kinds
from syntabula.marginals.domain import Domain, EncodedTable, code_dtype
from syntabula.table.coding.codec import Codec
from syntabula.table.coding.column_codes import Coercions, present_cells
from syntabula.table.raw import RawTable
from syntabula.table.schema.calendar import days_of
from syntabula.table.schema.columns import Ordered

_MOST = 0.5
"""Part of the bins that must hold all kinds of time."""


def calendars_of(codec: Codec, name: str) -> list[Calendar]:
    """Return which calendars a column's bins leave open: those of which most bins hold all kinds of time.

    Bins hold about as many records each, but for those of a single value, which do not count.
    """
    column, bins = codec.schema[name], codec.bins[name]
    assert isinstance(column, Ordered)
    wide = np.diff(np.array(bins.edges, dtype=np.int64)) > 1
    every: list[Calendar] = [*KINDS]
    return [c for c in every if wide.any() and with_all_kinds(bins, days_of(column), c)[wide].mean() >= _MOST]


def calendar_column(domain: Domain, name: str, calendar: Calendar) -> str:
    """Return what the codes of a column's calendar are called: a name that no other codes have."""
    # By its position, as the names of two columns may differ by what is added.
    found = f"{calendar} of column {domain.index(name)}"
    while found in domain:
        found += "'"
    return found


def calendar_domain(codec: Codec, names: Sequence[str]) -> Domain:
    """Return a codec's domain with the calendars of some columns.

    The last code of each is that of rows in bins that do not hold all of its kinds, and of those without a value.
    """
    domain = codec.domain
    sizes = dict(zip(domain.columns, domain.sizes, strict=True))
    for name in names:
        for calendar in calendars_of(codec, name):
            sizes[calendar_column(domain, name, calendar)] = KINDS[calendar] + 1
    return Domain.from_sizes(sizes, domain.ordered, domain.apart, domain.edges)


def encoded_with_calendars(
    codec: Codec,
    names: Sequence[str],
    table: RawTable,
    *,
    strict: bool = False,
    found: Collection[str] = (),
    let_go: bool = False,
) -> tuple[EncodedTable, Coercions]:
    """Encode a table with the calendars of some columns; all else is as in `Codec.encode`.

    Each record is encoded by itself, so neighbouring tables stay neighbours.
    """
    if not names:
        return codec.encode(table, strict=strict, found=found, let_go=let_go)
    kinds: dict[str, NDArray[np.unsignedinteger]] = {}
    for name in names:
        column, raw, bins = codec.schema[name], table.columns[name], codec.bins[name]
        assert isinstance(column, Ordered)
        days, present = days_of(column), present_cells(raw)
        points, _, _ = column.points(raw.values[present], raw.physical.kind)
        index = bins.codes(points)
        for calendar in calendars_of(codec, name):
            size = KINDS[calendar]
            has_choice = with_all_kinds(bins, days, calendar)[index]
            codes = np.full(table.n_rows, size, dtype=code_dtype(size + 1))
            codes[present] = np.where(has_choice, kinds_of(days, points, calendar), size)
            kinds[calendar_column(codec.domain, name, calendar)] = codes
    encoded, coercions = codec.encode(table, strict=strict, found=found, let_go=let_go)
    if coercions.records_left_out:
        kinds = {name: codes[coercions.kept] for name, codes in kinds.items()}
    every = dict(zip(codec.domain.columns, encoded.codes, strict=True)) | kinds
    return EncodedTable.from_mapping(calendar_domain(codec, names), every), coercions
