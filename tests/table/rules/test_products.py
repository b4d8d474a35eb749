"""Products of two or three columns are proposed as rules, with the rounding that the table shows."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pandas as pd
import pytest

from syntabula.table.draft import draft_with_rules
from syntabula.table.read import read

N = 400


def derived(frame: pd.DataFrame) -> dict[str, str]:
    rules = draft_with_rules(read(frame))[2]
    return {} if rules is None else dict(rules.derive)


def lines(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    price = rng.integers(50, 9_000, N) / 100
    return pd.DataFrame({"price": price, "quantity": rng.geometric(0.5, N)})


def test_a_price_times_a_quantity_is_found_and_no_factor_follows_from_it() -> None:
    frame = lines()
    frame["total"] = (frame["price"] * frame["quantity"]).round(2)

    assert derived(frame) == {"total": '"price" * "quantity"'}


@pytest.mark.parametrize(
    ("form", "values"),
    [("(1 - {0})", [0.0, 0.05, 0.1]), ("(1 + {0} / 100)", [7, 19]), ("{0}", [0.5, 1.5, 4.0])],
)
def test_so_is_one_with_a_third_factor_rounded_up(form: str, values: list[float]) -> None:
    frame = lines()
    frame["third"] = np.random.default_rng(1).choice(values, N)
    scale = {"(1 - {0})": lambda x: 1 - x, "(1 + {0} / 100)": lambda x: 1 + x / 100, "{0}": lambda x: x}[form]
    frame["total"] = [
        float((Decimal(str(p)) * q * scale(Decimal(str(t)))).quantize(Decimal("0.01"), ROUND_HALF_UP))
        for p, q, t in zip(frame["price"], frame["quantity"], frame["third"], strict=True)
    ]

    product = '"price" * "quantity" * ' + form.format('"third"')
    (name, found), *others = derived(frame).items()

    assert (name, others) == ("total", [])
    assert found in (product, f"round({product}, 2)", f"floor({product} * 100 + 0.500001) / 100")


def test_one_row_that_differs_takes_it_away() -> None:
    frame = lines()
    frame["total"] = (frame["price"] * frame["quantity"]).round(2)
    frame.loc[7, "total"] += 0.01

    assert derived(frame) == {}


def test_rounded_shares_of_small_numbers_are_no_products() -> None:
    frame = lines()
    frame["share"] = np.round(frame["price"] * frame["quantity"] / 3_000).astype(int)
    frame["third"] = 1 / 3_000 + np.random.default_rng(0).random(N) * 1e-9

    assert derived(frame) == {}
