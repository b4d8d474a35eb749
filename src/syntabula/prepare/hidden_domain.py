"""The domain of a column whose bounds noise hides: one public value, and missing."""

from __future__ import annotations

import datetime as dt

from syntabula.table.raw import PhysicalType
from syntabula.table.schema.columns import Column, Date, Datetime, Numeric

_EPOCH = dt.datetime(1970, 1, 1)


def hidden_domain(physical: PhysicalType) -> Column:
    """Return a domain that rests on nothing but the stored type: 0, or the first of January 1970, or missing.

    A column that is nearly empty has too few values to find their bounds, and must not stop the release of all
    others. Which cells are missing is still learned.
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
