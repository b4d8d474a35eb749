"""The order in which trees draw columns, each given those before it."""

from __future__ import annotations

from syntabula.marginals.domain import Domain
from syntabula.record_models.trees import MOST_CLASSES

_FEW_CODES = 100


def usual_order(domain: Domain) -> list[str]:
    """Return all columns: those of the fewest codes first, up to 100, and names and places of many at last.

    A class that comes last is as good as one tree tells it; where it comes first, each number is learned given it. Of a
    column of very many codes without an order, each has few records, of which a tree would learn by heart what they
    have in the others: rows would have that of their drawn code, whatever they have besides.
    """

    def place(column: str) -> tuple[bool, int]:
        many = column not in domain.ordered and domain.size(column) > MOST_CLASSES
        return many, domain.size(column) if many else min(domain.size(column), _FEW_CODES)

    return sorted(domain, key=place)
