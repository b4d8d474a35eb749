"""Find the types of columns of texts that no schema declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula._planning import Progress, one_by_one
from syntabula.errors import DomainWarning, warn_caller
from syntabula.marginals.sorted_points import CountedPoints
from syntabula.prepare.bounds import MISSING_TAIL
from syntabula.prepare.found_columns import warn_of_hidden
from syntabula.prepare.preprocessing import LEAST_FAILURE, type_step
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource
from syntabula.table.coordinate_names import decimal_comma_of, is_coordinate_name, kinds_of_decimals
from syntabula.table.files.cell_kinds import (
    CELL_KINDS,
    N_FAMILIES,
    OF_THREE,
    OPEN_KIND,
    TEXT,
    column_type,
    has_decimal_comma,
    likely_type,
    shows_thousands,
)
from syntabula.table.files.delimited import DelimitedFile
from syntabula.table.files.offset_kinds import of_summer_and_winter
from syntabula.table.files.signed_kinds import are_amounts, bare_kinds
from syntabula.table.frames.text_times import TextTimes
from syntabula.table.parts.text_parts import TextParts
from syntabula.table.raw import PhysicalType
from syntabula.table.schema.text_formats import NumberFormat

_TIMES = ("date", "datetime", "time")
_OPEN = (
    "all numbers have three digits behind one point, and nothing else in the file shows what it is; they are read as "
    "thousands, 1.234 for 1234, as semicolons are between cells; if they have decimals, declare the column numeric in a "
    "schema, with `decimals: 3`"
)
_THREE_DECIMALS = (
    "all amounts have three digits behind one mark, and are read as decimals; if they are thousands, 1.234 € for 1234 €, "
    "declare the column numeric in a schema, with `integer: true` and `format: 1.234 €`"
)


def find_types(
    file: DelimitedFile | TextParts,
    shares: Mapping[str, Fraction],
    *,
    ledger: Ledger,
    noise: NoiseSource,
    progress: Progress,
) -> dict[str, PhysicalType]:
    """Find the types of columns of delimited files; those that noise hides become text, with a warning.

    Args:
        file: The cells.
        shares: Fraction of the whole budget for each column to be found.
        ledger: Pays for the spends.
        noise: Draws the noise.
        progress: Called with the name of a step and the fraction that is done.
    """
    # A pass over a table in parts holds no numbers that could tell more than the kinds of cells.
    in_style = ledger.budget.currency != "none" or isinstance(file, TextParts)
    if not isinstance(file, TextParts):
        progress("find the types", 0.0)
        file.count_kinds(shares)
    asked = {
        name: replace(
            released_kinds(name, file.cell_kinds(name), share=share, ledger=ledger, noise=noise),
            in_style=in_style,
        )
        for name, share in one_by_one(shares, "find the types", progress)
    }
    stand_out = {name: kinds.stand_out for name, kinds in asked.items()}
    shown = [
        k for name, kinds in stand_out.items() if "text" not in kinds for k in kinds_of_decimals(name, kinds)
    ]
    marks = [has_decimal_comma(shown, by_form=by_form) for by_form in (file.decimal_comma, False)]
    of_file = {n: marks[1] if shows_thousands(kinds.present) else marks[0] for n, kinds in asked.items()}
    found = {
        name: kinds.type_of(name, decimal_comma=decimal_comma_of(name, stand_out[name], of_file[name]))
        for name, kinds in asked.items()
    }
    if marks == [True, False]:
        open_names = [
            n
            for n, kinds in asked.items()
            if bare_kinds(kinds.present) == {OPEN_KIND} and not is_coordinate_name(n)
        ]
        warn_of_hidden(open_names, _OPEN)
    warn_of_hidden(
        [
            name
            for name, physical in found.items()
            if bare_kinds(asked[name].present) in OF_THREE and physical is not None and are_amounts(physical)
        ],
        _THREE_DECIMALS,
    )
    hides, or_raise = (
        ("", "")
        if ledger.budget.currency == "none"
        else (", or at this budget noise hides what kind of values it holds", ", or raise epsilon")
    )
    warn_of_hidden(
        [name for name, physical in found.items() if physical is None],
        f"it is empty{hides}, so it is treated as text; declare the column in a schema{or_raise}",
    )
    return {name: physical or TEXT for name, physical in found.items()}


def find_times(
    texts: TextTimes,
    shares: Mapping[str, Fraction],
    *,
    ledger: Ledger,
    noise: NoiseSource,
    progress: Progress,
) -> dict[str, PhysicalType]:
    """Find the columns of a data frame whose texts are days or times, with the formats of these; see `find_types`.

    Numbers with a sign, such as 12 %, or with a decimal comma or marks between groups of digits, such as 1.234,50, no
    library reads, so they are found too. Plain numbers and flags among texts stay texts: a library that reads them has
    left these as texts on purpose.
    """
    found = {
        name: find_type(name, texts.cell_kinds(name), share=share, ledger=ledger, noise=noise)
        for name, share in one_by_one(shares, "find days and times", progress)
    }
    return {name: p for name, p in found.items() if p is not None and (p.kind in _TIMES or _is_in_style(p))}


def _is_in_style(physical: PhysicalType) -> bool:
    """Return whether a type is of numbers with more around or between their digits than a point before decimals."""
    is_number = physical.kind in ("integer", "float")
    return is_number and physical.format is not None and not NumberFormat.of(physical.format).is_usual


def find_type(
    name: str,
    kinds: NDArray[np.int64] | CountedPoints,
    *,
    share: Fraction,
    ledger: Ledger,
    noise: NoiseSource,
    decimal_comma: bool = False,
) -> PhysicalType | None:
    """Find the narrowest type that reads all cells of a column, except so few that noise hides them.

    Each record counts for the one kind of its cell, if any: a histogram of sensitivity one. Type and format are those
    of the first form that reads all kinds whose noisy counts stand out, or else text. If none stands out, the type is
    that of the family of kinds (flags, numbers, days and times) with the largest noisy count together, if that exceeds
    the noise.

    Args:
        name: Name of the column.
        kinds: Kind of each cell, as a position in `CELL_KINDS` [n], or kinds with the number of cells of each.
        share: Fraction of the whole budget.
        ledger: Pays for the spends.
        noise: Draws the noise.
        decimal_comma: Whether 1,234 means 1.234 if nothing else decides; public or released.

    Returns:
        A stored type, with its format, or None if noise hides everything. Each cell that it cannot read becomes missing.
    """
    asked = released_kinds(name, kinds, share=share, ledger=ledger, noise=noise)
    return asked.type_of(name, decimal_comma=decimal_comma)


def released_kinds(
    name: str,
    kinds: NDArray[np.int64] | CountedPoints,
    *,
    share: Fraction,
    ledger: Ledger,
    noise: NoiseSource,
) -> NoisyKinds:
    """Release how many cells of a column are of each kind; see `find_type`."""
    column = ColumnCurator(kinds, ledger, noise)
    answer = column.histogram(range(len(CELL_KINDS) + 1), share=share, step=type_step(name))
    # Without privacy the numbers themselves tell more, once all are read: whether there are few, as of categories.
    in_style = ledger.budget.currency != "none"
    counts = dict(zip(CELL_KINDS, answer.values.tolist(), strict=True))
    height, level = (answer.above_noise(part) for part in (LEAST_FAILURE, MISSING_TAIL / N_FAMILIES))
    return NoisyKinds(counts, height, level, in_style)


@dataclass(frozen=True)
class NoisyKinds:
    """Released counts of the kinds of a column's cells.

    Attributes:
        counts: Noisy number of cells of each kind.
        height: Level that noise alone hardly ever exceeds in any of them.
        level: The same that it rarely exceeds, of one count in any of the families.
        in_style: Whether numbers in a style, such as 1.234,50 €, are looked for; see `column_type`.
    """

    counts: Mapping[str, float]
    height: float
    level: float
    in_style: bool

    @property
    def stand_out(self) -> list[str]:
        """Kinds that more cells have than noise explains."""
        return [kind for kind, count in self.counts.items() if count > self.height]

    @property
    def present(self) -> set[str]:
        """Those of the kinds that stand out whose cells are not missing."""
        return {kind for kind in self.stand_out if not kind.startswith("missing as ")}

    def type_of(self, name: str, *, decimal_comma: bool) -> PhysicalType | None:
        """Return the type of the column; see `find_type`."""
        found = column_type(self.counts, self.height, decimal_comma=decimal_comma, in_style=self.in_style)
        if found is not None and found.timezone is not None:
            _tell_of_offsets(name, self.stand_out)
        return found or likely_type(self.counts, self.level)


def _tell_of_offsets(name: str, kinds: Sequence[str]) -> None:
    """Warn of a column of times with two offsets, which come out in UTC, if summer time explains them."""
    if offsets := of_summer_and_winter([kind for kind in kinds if not kind.startswith("missing as ")]):
        warn_caller(
            DomainWarning(
                f"column {name!r} has times with the offsets {' and '.join(offsets)}, as clocks of one place have in "
                "winter and in summer; they come out in UTC; to keep them, declare the column in a schema as {kind: "
                "datetime, timezone: ...} with the name of its zone, such as Europe/Paris"
            )
        )
