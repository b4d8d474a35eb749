"""Combinations of two columns' values that no row has are proposed as conditions, each once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.table.draft import draft_with_rules
from syntabula.table.read import read
from syntabula.table.rules.never_together import MOST_CONDITIONS

N = 2_000


def required(frame):
    rules = draft_with_rules(read(pd.DataFrame(frame)))[2]
    return [] if rules is None else [*rules.require]


def service(rng):
    return rng.choice(["none", "dsl", "fibre"], N, p=[0.3, 0.4, 0.3])


def test_a_value_that_comes_with_a_single_value_of_another_column():
    rng = np.random.default_rng(0)
    net = service(rng)
    frame = {"net": net, "extra": np.where(net == "none", "none", rng.choice(["none", "yes", "no"], N))}

    assert required(frame) == ["""not ("net" = 'none' and "extra" <> 'none')"""]


@pytest.mark.thorough
def test_columns_that_have_their_special_values_together_are_said_once_each():
    rng = np.random.default_rng(0)
    net = service(rng)
    frame = {"net": net}
    for name in "abc":
        frame[name] = np.where(net == "none", "no net", rng.choice(["yes", "no"], N))
    frame["speed"] = np.where(net == "none", -1, rng.integers(1, 500, N))

    said = "(\"net\" = 'none') = "
    assert sorted(required(frame)) == [
        f"""{said}("a" = 'no net')""",
        f"""{said}("b" = 'no net')""",
        f"""{said}("c" = 'no net')""",
        f"""{said}("speed" = -1)""",
    ]


@pytest.mark.thorough
def test_zeros_and_gaps_of_numbers():
    rng = np.random.default_rng(0)
    pages = rng.poisson(1.0, N) * rng.integers(1, 40, N)
    kind = rng.choice(["single", "joint", "other"], N)
    frame = {
        "pages": pages,
        "seconds": np.where((pages > 0) & (rng.random(N) < 0.8), rng.integers(1, 9000, N), 0),
        "kind": kind,
        "partner": pd.Series(rng.integers(0, 9000, N)).astype("Int64").mask(kind != "joint"),
    }

    assert sorted(required(frame)) == [
        """("kind" = 'joint') = ("partner" IS NOT NULL)""",
        'not ("pages" = 0 and "seconds" <> 0)',
    ]


@pytest.mark.thorough
def test_what_an_order_or_a_chain_says_is_not_said_again():
    rng = np.random.default_rng(0)
    asked = rng.integers(0, 40, N) * (rng.random(N) < 0.7)
    granted = np.where(rng.random(N) < 0.8, asked, asked // 2)
    a = rng.choice([*"xyz"], N)
    b = np.where(a == "x", "x", rng.choice([*"xyz"], N))
    c = np.where(b == "x", "x", rng.choice([*"xyz"], N))

    assert required({"asked": asked, "granted": granted}) == []
    assert sorted(required({"a": a, "b": b, "c": c})) == [
        """not ("a" = 'x' and "b" <> 'x')""",
        """not ("b" = 'x' and "c" <> 'x')""",
    ]


@pytest.mark.thorough
def test_independent_columns_and_rare_values_have_none():
    rng = np.random.default_rng(0)
    frame = {f"c{i}": rng.choice(20, N, p=(w := np.arange(20, 0, -1.0)) / w.sum()) for i in range(20)}
    frame |= {f"n{i}": rng.poisson(1, N) * rng.integers(1, 99, N) for i in range(5)}

    assert required(frame) == []


@pytest.mark.thorough
def test_one_row_takes_a_condition_away_and_there_are_few():
    rng = np.random.default_rng(0)
    net = service(rng)
    extra = np.where(net == "none", "none", rng.choice(["none", "yes", "no"], N))
    extra[np.flatnonzero(net == "none")[-2:]] = ["yes", "no"]
    letters = rng.choice([*"abcdef"], N)
    many = {
        f"c{i}": np.where(letters == chosen, chosen, rng.choice([*"abcdef"], N))
        for i, chosen in enumerate("abcdef" * 4)
    }

    assert required({"net": net, "extra": extra}) == []
    assert len(required({"letter": letters} | many)) <= MOST_CONDITIONS


@pytest.mark.thorough
def test_a_release_satisfies_what_was_proposed():
    rng = np.random.default_rng(0)
    net = service(rng)
    extra = np.where(net == "none", "none", rng.choice(["none", "yes", "no"], N))
    frame = pd.DataFrame({"net": net, "extra": extra})
    schema, _, rules = draft_with_rules(read(frame))
    ruled = st.Schema(schema.columns, rules=rules)

    made = st.MST(epsilon=0.1, allow_observed=True, seed=0).fit(frame, ruled).sample(seed=0)

    assert not ((made["net"] == "none") & (made["extra"] != "none")).any()


def test_columns_missing_together_say_of_no_value_that_the_others_are_present() -> None:
    rng = np.random.default_rng(0)
    gone = rng.random(N) < 0.2
    frame = {name: pd.Series(rng.choice([*"abc"], N)).mask(gone) for name in ("maker", "model")}
    frame["engine"] = pd.Series(rng.choice([*"xyz"], N)).mask(gone | (rng.random(N) < 0.3))

    assert required(frame) == ["""not ("maker" IS NULL and "engine" IS NOT NULL)"""]


def test_names_that_two_columns_share_and_no_row_has_twice_differ() -> None:
    rng = np.random.default_rng(0)
    home = rng.integers(0, 12, N)
    guest = (home + rng.integers(1, 12, N)) % 12
    teams = np.array([f"team {i}" for i in range(12)])

    assert required({"home": teams[home], "guest": teams[guest]}) == ['"home" <> "guest"']
    guest[7] = home[7]
    assert required({"home": teams[home], "guest": teams[guest]}) == []


def test_of_columns_that_share_one_name_alone_it_is_said_which_values_do_not_go_together() -> None:
    rng = np.random.default_rng(0)
    service = rng.choice(["DSL", "fibre", "No"], N)
    support = np.where(service == "No", "none", rng.choice(["Yes", "No"], N))

    found = required({"service": service, "support": support})

    assert not any("<>" in condition and "not" not in condition for condition in found)
    assert found == ["""("service" = 'No') = ("support" = 'none')"""]
