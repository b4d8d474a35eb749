"""One warning for all columns whose type or domain noise hides, however many there are."""

from __future__ import annotations

from collections.abc import Sequence

from syntabula._warnings import warn_caller
from syntabula.errors import DomainWarning

_MOST_NAMES = 20


def warn_of_hidden_types(names: Sequence[str]) -> None:
    """Warn of columns of a text file that hold nothing, as far as noise shows."""
    _warn(
        names,
        "it is empty, or at this budget noise hides what kind of values it holds, so it counts as text; state the column "
        "in a schema, or raise epsilon",
    )


def warn_of_rare_categories(names: Sequence[str]) -> None:
    """Warn of columns of text without a frequent value."""
    _warn(
        names,
        "no category is frequent enough to be found at this budget, so values are made anew as running numbers; to "
        "learn them, state the categories in a schema (`others: find` leaves the other columns to be found), or raise "
        "epsilon or the share of preprocessing",
    )


def warn_of_hidden_bounds(names: Sequence[str], value: str) -> None:
    """Warn of columns whose every value counts as one."""
    _warn(
        names,
        f"at this budget, noise hides where values lie, if there are any, so that each of them counts as {value}; state "
        "the bounds in a schema to learn them, or leave the column out",
    )


def _warn(names: Sequence[str], what: str) -> None:
    if not names:
        return
    shown = ", ".join(map(repr, names[:_MOST_NAMES]))
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    columns = f"column {shown}" if len(names) == 1 else f"{len(names)} columns ({shown}{more}), of each"
    warn_caller(DomainWarning(f"{columns}: {what}"))
