"""Divides the preprocessing budget among the columns that need it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from syntabula.errors import SchemaError
from syntabula.prepare.atoms import needs_delta
from syntabula.prepare.preparation import Preparation
from syntabula.prepare.preprocessing import (
    LEAST_BINS,
    LIFTS_SHARE,
    MOST_LIFTS_SHARE,
    TIMES_SHARE,
    TYPE_SHARE,
    BinCount,
    Preprocessing,
    RareCategories,
    is_worth_fitting,
)
from syntabula.prepare.refinement import steps_of
from syntabula.table.schema.columns import Categorical, Ordered
from syntabula.table.schema.schema import Schema, columns_listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syntabula.table.raw import PhysicalType


def prepare(
    settings: Preprocessing,
    bins: BinCount,
    rare: RareCategories | None,
    schema: Schema | None,
    found: Mapping[str, PhysicalType],
    *,
    types_found: bool = False,
    paid: Mapping[str, Fraction] | None = None,
    learner_delta: Fraction = Fraction(0),
    weighs_codes: bool = True,
) -> Preparation:
    """Divide the preprocessing budget among the columns that need it, by public facts alone.

    Args:
        settings: The options.
        bins: Number of bins, or "auto".
        rare: How rare categories of large columns are merged, and the share for it if nothing else needs budget;
            None not to merge them.
        schema: Declares all columns or some, or is None. Wide columns of numbers and times get bins.
        found: Stored or found type of each undeclared column.
        types_found: Whether the types of these must be found because none are stored. The shares for that depend
            only on names.
        paid: Shares by which types were found already; None if none was looked for yet.
        learner_delta: Fraction of delta that the learner needs for draws that may fail, of what finding leaves.
        weighs_codes: Whether the learner measures single columns, and so tells which codes have records.

    Raises:
        SchemaError: If a stored type has no domain to find.
    """
    _require_domains(found)
    declared = {} if schema is None else schema.columns
    large = () if rare is None or schema is None else _large_columns(rare, schema)
    wide = {n: c for n, c in declared.items() if isinstance(c, Ordered) and _is_worth(c, bins)}
    refined = wide if settings.fits_bins else {}
    ordered = [n for n, p in found.items() if p.is_ordered] if settings.fits_bins else []
    parts = {
        name: settings.parts(
            asks_atoms=column.atoms is None,
            asks_roundness=bool(steps_of(column)),
            asks_rhythm=column.has_days,
            asks_ends=_asks_ends(column),
        )
        for name, column in refined.items()
    }
    costly = [name for name, asked in parts.items() if asked]
    count = _count_share(settings, bins)
    units = _units_share(settings, schema)
    preparation = Preparation(
        settings=settings,
        bins=bins,
        count=Fraction(0),
        units=units,
        domains={},
        refinements=dict.fromkeys(refined, Fraction(0)),
        large=large,
        merging=rare if large else None,
        learner_delta=learner_delta,
        weighs_codes=weighs_codes,
        parts=parts,
    )
    if not found and not (costly or (wide and count)):
        return preparation
    parts |= {
        name: settings.parts(
            asks_roundness=found[name].kind != "date", asks_rhythm=found[name].kind in ("date", "datetime")
        )
        for name in ordered
    }
    paying = len(found) + len(large) + len(costly)
    each = (settings.share - count - units) / max(paying, 1)
    types = paid
    if types is None:
        part = TYPE_SHARE if types_found else TIMES_SHARE
        types = {name: each * part for name, p in found.items() if types_found or p.may_be_times}
    rest = {name: each - types.get(name, 0) for name in found}
    of_codes = {name: rest[name] / 2 if parts[name] else Fraction(0) for name in ordered}
    prepared = replace(
        preparation,
        count=count,
        types=types,
        domains={name: rest[name] - of_codes.get(name, Fraction(0)) for name in found},
        refinements={n: each if n in costly else Fraction(0) for n in refined} | of_codes,
        merging=replace(rare, share=each * len(large)) if rare is not None and large else None,
        n_labels=sum(stored.is_labels for stored in found.values()),
        parts=parts,
        failing=sum("atoms" in asked and _may_fail(refined.get(name)) for name, asked in parts.items()),
    )
    return replace(prepared, lifts=_lift_shares(prepared))


def _asks_ends(column: Ordered) -> bool:
    """Return whether a column is a distance between times whose ends may keep to some of these."""
    if not hasattr(column, "end"):
        return False
    # Few tables have one.
    from syntabula.table.schema.gaps import timed_end

    return timed_end(column) is not None


def _lift_shares(prepared: Preparation) -> dict[str, Fraction]:
    """Return shares of columns that have a rhythm, for what their hours and weekdays tell of other columns."""
    names = [name for name, asked in prepared.parts.items() if "rhythm" in asked]
    each = min(LIFTS_SHARE, MOST_LIFTS_SHARE / max(len(names), 1))
    return dict.fromkeys(names, each * (1 - prepared.share))


def _require_domains(types: Mapping[str, PhysicalType]) -> None:
    """Raise SchemaError if no column can be declared for some types; names all of these columns at once."""
    refused = {
        name: reason for name, stored in types.items() if (reason := stored.without_domain) is not None
    }
    if not refused:
        return
    (first, reason), *_ = refused.items()
    others = [name for name in refused if name != first]
    stored = "it is" if len(others) == 1 else "they are"
    rest = f"; nor can {columns_listed(others)} be learned as {stored} stored" if others else ""
    raise SchemaError(f"column {first!r} {reason}{rest}")


def _may_fail(declared: Ordered | None) -> bool:
    """Return whether a search for frequent values may need a part of delta; a column without a declaration may."""
    return declared is None or needs_delta(*declared.span())


def _large_columns(rare: RareCategories, schema: Schema) -> tuple[str, ...]:
    """Return the categorical columns whose rare categories are merged, decided by the declared domain alone.

    Categories that were found privately are already frequent.
    """
    return tuple(
        name
        for name, column in schema.columns.items()
        if isinstance(column, Categorical)
        and column.provenance != "private"
        and len(column.categories) + column.open + column.nullable >= rare.least_categories
    )


def _count_share(settings: Preprocessing, bins: BinCount) -> Fraction:
    needed = bins == "auto" or (settings.fitted is not None and settings.fitted.needs_count)
    return settings.share / 20 if needed else Fraction(0)


def _units_share(settings: Preprocessing, schema: Schema | None) -> Fraction:
    several = schema is not None and (schema.rows_per_unit or 1) > 1
    return settings.share / 10 if several else Fraction(0)


def _is_worth(column: Ordered, bins: BinCount) -> bool:
    lower, upper, integer = column.span()
    stated = column.bins if column.bins is not None else bins
    # The rule's number is not known yet, but its minimum is.
    count = LEAST_BINS if stated == "auto" else stated
    return is_worth_fitting(lower, upper, integer=integer, count=count)
