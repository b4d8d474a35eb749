"""The columns whose domains are found under differential privacy, and what is said of those that noise hides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from syntabula._planning import Progress
from syntabula.errors import PrivateDomainError
from syntabula.prepare import domain_warnings
from syntabula.prepare.hidden_domain import hidden_domain
from syntabula.prepare.private_domain import extract_column
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource
from syntabula.table.raw import RawTable
from syntabula.table.schema.columns import Column, Identifier, Numeric
from syntabula.table.schema.schema import listed


def find_columns(
    table: RawTable,
    shares: Mapping[str, Fraction],
    *,
    ledger: Ledger,
    noise: NoiseSource,
    progress: Progress,
) -> dict[str, Column]:
    """Find the domains of columns, and warn of those that noise hides.

    Args:
        table: Table as read.
        shares: Part of the whole budget of each column to be found; the others are declared.
        ledger: Pays.
        noise: Draws the noise.
        progress: Called with the name of a step and the part that is done.

    Returns:
        The columns in the order of the shares, of provenance `private`.

    Raises:
        PrivateDomainError: If noise hides the bounds of most columns that have some, or everything.
    """
    n_labels = sum(table.columns[name].physical.is_labels for name in shares)
    delta = ledger.failure_allowance / max(n_labels, 1)
    columns: dict[str, Column] = {}
    hidden: list[str] = []
    # What is declared is not hidden.
    n_known = sum(n not in shares or raw.physical.is_ordered for n, raw in table.columns.items())
    for name, share in one_by_one(shares, "find the domains", progress):
        raw = table.columns[name]
        try:
            columns[name] = extract_column(name, raw, share=share, delta=delta, ledger=ledger, noise=noise)
        except PrivateDomainError:
            hidden.append(name)
            # One or the other may be nearly empty; where most are hidden, the table or the budget is too small.
            if 2 * len(hidden) > n_known:
                raise PrivateDomainError(
                    f"found no bounds of column {listed(hidden)}, most of those that have some: at this budget, noise "
                    "hides where the values lie, or there are none. State bounds in a schema (`others: find` leaves "
                    "the other columns to be found), raise epsilon or the share of preprocessing, or use more records"
                ) from None
    domain_warnings.warn_of_rare_categories(
        [name for name, column in columns.items() if isinstance(column, Identifier)]
    )
    columns |= {name: hidden_domain(table.columns[name].physical) for name in hidden}
    numbers = [name for name in hidden if isinstance(columns[name], Numeric)]
    domain_warnings.warn_of_hidden_bounds(numbers, "0")
    domain_warnings.warn_of_hidden_bounds([name for name in hidden if name not in numbers], "1970-01-01")
    if len(columns) == len(table.columns) and all(isinstance(c, Identifier) for c in columns.values()):
        raise PrivateDomainError(
            "no domain of any column was found: at this budget, noise hides what they hold. State the domains in "
            "a schema, raise epsilon or the share of preprocessing, or use more records"
        )
    return {name: columns[name] for name in shares}


def one_by_one(
    shares: Mapping[str, Fraction], step: str, progress: Progress
) -> Iterator[tuple[str, Fraction]]:
    """Go through columns and their shares, and say before each what part of them is done."""
    for position, item in enumerate(shares.items()):
        progress(step, position / len(shares))
        yield item
