"""Trees draw columns of few codes first, and those of many without an order last."""

from __future__ import annotations

from syntabula.marginals.domain import Domain
from syntabula.record_models.column_order import usual_order


def test_few_codes_come_first_then_numbers_as_in_the_table_and_many_without_an_order_last() -> None:
    sizes = {"plane": 900, "fine": 200, "town": 60, "class": 7, "finer": 150, "sex": 2, "age": 90}
    domain = Domain((*sizes,), (*sizes.values(),), frozenset({"fine", "finer", "age"}))

    assert usual_order(domain) == ["sex", "class", "age", "fine", "finer", "town", "plane"]
