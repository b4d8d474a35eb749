"""Find the domains of columns that no schema declares, and warn of those that noise hides."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from syntabula._planning import Progress, one_by_one
from syntabula.errors import DomainWarning, PrivateDomainError, warn_caller
from syntabula.prepare.bounds import REAL_EXPONENTS, FoundBounds
from syntabula.prepare.private_domain import extract_column
from syntabula.prepare.searched import SearchedColumn, WholeColumn
from syntabula.prepare.written_keys import are_written
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource
from syntabula.table.frames.conform import is_null
from syntabula.table.key_names import is_key_name
from syntabula.table.raw import PhysicalType, RawColumn
from syntabula.table.schema.columns import (
    MAX_GRID,
    Column,
    Date,
    Datetime,
    Identifier,
    Numeric,
    with_missing_text,
)
from syntabula.table.schema.schema import columns_listed

NUMBER = PhysicalType("float", "DOUBLE")
_EPOCH = dt.datetime(1970, 1, 1)
_MOST_NAMES = 20
_MUCH_CUT_OFF = 0.1


def find_columns(
    table: Mapping[str, RawColumn | SearchedColumn],
    shares: Mapping[str, Fraction],
    *,
    delta: Fraction,
    ledger: Ledger,
    noise: NoiseSource,
    progress: Progress,
    bounds: dict[str, FoundBounds],
    n_estimated: float = 0.0,
    hidden_kept: bool = False,
) -> dict[str, Column]:
    """Find the domains of columns, and warn of those that noise hides.

    Args:
        table: All columns of a table, by name.
        shares: Fraction of the whole budget for each column to be found; the others are declared.
        delta: Chance to fail that all categories together may take.
        ledger: Pays for the spends.
        noise: Draws the noise.
        progress: Called with the name of a step and the fraction that is done.
        bounds: Gets the bounds of each column that has some.
        n_estimated: Released number of records; 0 if it is not known.
        hidden_kept: Whether columns are nullable though noise may hide that any cell is missing; see `with_missing`.

    Returns:
        The columns in the order of the shares, with provenance `private`.

    Raises:
        PrivateDomainError: If noise hides the domains of all columns.
    """
    n_labels = sum(table[name].physical.is_labels for name in shares)
    each = delta / max(n_labels, 1)
    columns: dict[str, Column] = {}
    hidden: list[str] = []
    for name, share in one_by_one(shares, "find the domains", progress):
        raw = table[name]
        try:
            columns[name] = extract_column(
                name,
                raw,
                share=share,
                delta=each,
                ledger=ledger,
                noise=noise,
                bounds=bounds,
                n_estimated=n_estimated,
                hidden_kept=hidden_kept,
            )
        except PrivateDomainError:
            # What the others tell is paid for, and must not be lost with this one.
            hidden.append(name)
    exact = ledger.budget.currency == "none"
    # Under a budget, whether a column holds values is told by nothing but its type.
    empty = [n for n in columns if is_null(table[n].physical) or (exact and not _n_present(table[n]))]
    if exact and len(empty) + len(hidden) == len(table):
        raise PrivateDomainError("the table holds no values, so there is nothing to learn; give it rows")
    if len(shares) == len(table) and all(isinstance(c, Identifier) for c in columns.values()):
        raise PrivateDomainError(_nothing_found([*shares], exact=exact))
    cut_off = {name: found.beyond for name, found in bounds.items() if found.cuts_off}
    at_the_end = [name for name in cut_off if _reaches_the_end(columns[name], table[name].physical)]
    for names, where, advice in (
        (
            [n for n in cut_off if n not in at_the_end],
            "the bounds that were found",
            "declare bounds in a schema to keep them",
        ),
        (
            at_the_end,
            "the bounds that were found, the largest that are sought",
            "if they stand for missing cells, make them missing first; else declare bounds in a schema",
        ),
    ):
        warn_of_hidden(
            names,
            f"some values seem to lie beyond {where}, and are moved to the nearest bound: "
            f"{_percentages([cut_off[n] for n in names])} of the values (noisy counts){_most(cut_off, names)}; {advice}",
        )
    if not exact:
        warn_of_hidden(
            [n for n, found in bounds.items() if found.number_rows and _is_unnamed_number(n, columns[n])],
            "about as many values as there are whole numbers seem to lie in its range (noisy counts), as where rows are "
            "numbered; they are learned as quantities, so that many come out several times and others never; if they are "
            "keys, declare the column as {kind: identifier} in a schema (`others: find` leaves the other columns to be "
            "found), or give it the name of a key, such as ..._id",
        )
    anew = [n for n, c in columns.items() if isinstance(c, Identifier) and table[n].physical.is_labels]
    patterned = [n for n in anew if _has_pattern(columns[n])]
    numbered = [n for n in anew if n not in patterned]
    numbered = [n for n in numbered if n not in empty]
    if exact:
        warn_of_hidden(
            numbered,
            "hardly any value repeats, so values are replaced by running numbers; to learn the frequent ones, declare "
            "them in a schema (`others: find` leaves the other columns to be found); for keys in a form of their own, "
            "declare {kind: identifier} with a pattern",
        )
    else:
        written = [name for name in patterned if are_written(columns[name])]
        warn_of_hidden(
            written,
            "what look like numbers or days are written in a way that is not looked for, so values are replaced by new "
            "keys of the form that most have; to learn them, declare the column numeric or a date in a schema, with "
            "their `format`, such as '1.234,50 €' or '%d.%m.%y' (`others: find` leaves the other columns to be found)",
        )
        warn_of_hidden(
            [name for name in patterned if name not in written],
            "hardly any category is frequent enough to be found at this budget, so values are replaced by new keys of "
            "the form that most have; if they are categories, declare them in a schema (`others: find` leaves the "
            "other columns to be found), or raise epsilon or the share of preprocessing",
        )
        warn_of_hidden(
            numbered,
            "hardly any category is frequent enough to be found at this budget, so values, if there are any, are "
            "replaced by running numbers; to learn the categories, declare them in a schema (`others: find` leaves the "
            "other columns to be found), or raise epsilon or the share of preprocessing; for keys in their own form, "
            "declare {kind: identifier} with a pattern",
        )
    columns |= {name: hidden_domain(table[name].physical) for name in hidden}
    # Where noise hides how a column writes missing cells, it does as most of the others.
    usual = [] if exact else _most_frequent(table[name].physical.missing_as for name in columns)
    for name, column in columns.items():
        physical = table[name].physical
        if usual and not physical.is_labels and physical.missing_as is None:
            physical = replace(physical, missing_as=usual[0])
        columns[name] = with_missing_text(column, physical)
    warn_of_hidden(
        [*empty, *(hidden if exact else ())],
        "it holds no values, so synthetic rows hold none either; leave the column out, or declare it in a schema",
    )
    if not exact:
        for value, of_numbers in (("0", True), ("1970-01-01", False)):
            warn_of_hidden(
                [name for name in hidden if isinstance(columns[name], Numeric) == of_numbers],
                "at this budget, noise hides where values lie, if there are any, so each of them is replaced by "
                f"{value}; declare the bounds in a schema to learn the values, or leave the column out",
            )
    return {name: columns[name] for name in shares}


def _most_frequent(texts: Iterable[str | None]) -> list[str]:
    return [text for text, _ in Counter(filter(None, texts)).most_common(1)]


def _is_unnamed_number(name: str, column: Column) -> bool:
    """Return whether whole numbers were not asked whether they repeat, as those with the name of a key are."""
    return isinstance(column, Numeric) and column.integer and not is_key_name(name)


def _has_pattern(column: Column) -> bool:
    return isinstance(column, Identifier) and column.pattern is not None


def _n_present(column: RawColumn | SearchedColumn) -> int:
    return (WholeColumn(column) if isinstance(column, RawColumn) else column).numbers()[0]


def _reaches_the_end(column: Column, physical: PhysicalType) -> bool:
    """Return whether found bounds reach the last power that is sought; whole numbers that are stored so may do."""
    if not isinstance(column, Numeric) or physical.kind == "integer":
        return False
    last = 2.0 ** REAL_EXPONENTS[-1]
    if column.integer:
        last = 2.0**53  # floats do not hold every whole number beyond
    elif column.decimals is not None:
        last = MAX_GRID / 10**column.decimals
    return max(abs(column.lower), abs(column.upper)) >= last / 2


def _nothing_found(names: Sequence[str], *, exact: bool) -> str:
    """Say that no column has a domain, why, and what to do."""
    found = f"no column's domain was found ({columns_listed(names)}): "
    if exact:
        return f"{found}all values are keys, or differ like keys. Declare the domains in a schema"
    return (
        f"{found}at this budget, noise hides what the columns hold. Declare the domains in a schema (`others: find` "
        "leaves the other columns to be found), raise epsilon or the share of preprocessing, or use more records"
    )


def _percentages(parts: Sequence[float]) -> str:
    """Return the range of some fractions, in words."""
    least, most = (f"{end(parts, default=0.0):.0%}" for end in (min, max))
    return f"about {most}" if least == most else f"about {least} to {most}"


def _most(parts: Mapping[str, float], names: Sequence[str]) -> str:
    """Return the columns of which a tenth or more lies beyond the bounds, if there are several columns, in words."""
    large = sorted((name for name in names if parts[name] >= _MUCH_CUT_OFF), key=lambda name: -parts[name])
    if len(names) == 1 or not large:
        return ""
    return ", most of " + ", ".join(f"{name!r} ({parts[name]:.0%})" for name in large[:_MOST_NAMES])


def hidden_domain(physical: PhysicalType) -> Column:
    """Return a domain that depends only on the stored type: 0, or 1 January 1970, or missing.

    A nearly empty column has too few values to find their bounds, and must not stop the release of the others. Which
    cells are missing is still learned.
    """
    column: Column
    match physical.kind:
        case "date":
            column = Date(_EPOCH.date(), _EPOCH.date(), nullable=True, provenance="private")
        case "datetime":
            zone = physical.timezone
            moment = _EPOCH if zone is None else _EPOCH.replace(tzinfo=dt.UTC)
            column = Datetime(
                moment, moment, timezone=zone, resolution="second", nullable=True, provenance="private"
            )
        case _:
            column = Numeric(0, 0, integer=True, nullable=True, provenance="private")
    return column


def warn_of_hidden(names: Sequence[str], what: str) -> None:
    """Warn once about all columns with the same problem, however many there are."""
    if not names:
        return
    shown = ", ".join(map(repr, names[:_MOST_NAMES]))
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    columns = f"column {shown}" if len(names) == 1 else f"{len(names)} columns ({shown}{more}), each"
    warn_caller(DomainWarning(f"{columns}: {what}"))
