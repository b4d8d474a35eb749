"""A day and a time may be on the same day, whichever comes first, and keep their order as days."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.marginals.domain import EncodedTable
from syntabula.table.coding.codec import Codec
from syntabula.table.coding.column_codes import satisfies
from syntabula.table.coding.conditions import allowed
from syntabula.table.draft import draft_with_rules
from syntabula.table.read import read
from syntabula.table.rules.at_work import row_rules
from syntabula.table.rules.clamped import within_orders
from syntabula.table.rules.days_and_times import DAY
from syntabula.table.rules.evaluation import plain_cells
from syntabula.table.rules.implied import implied_distance, implied_start
from syntabula.table.rules.row_rules import RowRules

N = 3_000
FEW, MANY = (dt.date(2020, 1, 1), dt.date(2020, 12, 31)), (dt.date(2019, 1, 1), dt.date(2021, 12, 31))


def days(ends: tuple[dt.date, dt.date], *, nullable: bool = False) -> st.Date:
    return st.Date(*ends, nullable=nullable)


def times(ends: tuple[dt.date, dt.date]) -> st.Datetime:
    lower, upper = (dt.datetime.combine(end, dt.time()) for end in ends)
    return st.Datetime(lower, upper + dt.timedelta(hours=23), resolution="hour")


CASES = {
    "time, day": {"first": times(FEW), "last": days(MANY)},
    "time before a day": {"first": times(MANY), "last": days(FEW)},
    "day, time": {"first": days(FEW), "last": times(MANY)},
    "day before a time": {"first": days(MANY), "last": times(FEW)},
    "time, day, time": {"first": times(FEW), "middle": days(MANY), "last": times(MANY)},
    "times before a day": {"first": times(MANY), "middle": times(MANY), "last": days(FEW)},
    "time, day that may be missing, time": {
        "first": times(FEW),
        "middle": days(MANY, nullable=True),
        "last": times(MANY),
    },
}


def made(columns: dict[str, st.Date | st.Datetime], *, longest: int = 5) -> pd.DataFrame:
    """Return rows in order by their days, and those of times by the hour, a quarter of them in one."""
    rng = np.random.default_rng(2)
    hour, apart, rows = rng.integers(0, 8_700, N), rng.integers(0, longest * 24, N), {}
    apart[rng.random(N) < 0.25] = 0
    for place, (name, column) in enumerate(columns.items()):
        at = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.minimum(hour + place * apart, 8_783), unit="h")
        rows[name] = at if isinstance(column, st.Datetime) else at.date
        if column.nullable:
            rows[name] = np.where(rng.random(N) < 0.2, None, rows[name])
    return pd.DataFrame(rows)


def ordered(columns: dict[str, st.Date | st.Datetime]) -> RowRules:
    rules = row_rules(st.Schema(columns, rules=st.Rules(order=[[*columns]])))
    assert rules is not None
    return rules


def days_apart(drawn: pd.DataFrame) -> np.ndarray:
    first, last = (pd.to_datetime(drawn[name]).dt.normalize() for name in ("first", "last"))
    return ((last - first).dt.total_seconds() / 86_400).to_numpy()


@pytest.mark.parametrize("case", CASES)
def test_rows_in_order_come_back_exactly(case: str) -> None:
    rules, frame = ordered(CASES[case]), made(CASES[case])
    table = read(frame, rules.schema)

    learned, clipped = rules.learned_table(table)
    codec = Codec.plan(rules.learned_schema, bins=100_000)
    encoded, coercions = codec.encode(learned)
    rng = np.random.default_rng(0)
    rows, kept, broken = rules.completed(codec.decode(encoded, rng), N, rng)

    assert not clipped
    assert not coercions
    assert kept.all()
    assert not broken
    for name, column in rows.items():
        expected, gaps = plain_cells(rules.schema[name], table.columns[name])
        np.testing.assert_array_equal(column.missing, gaps)
        np.testing.assert_array_equal(column.values[~gaps], expected[~gaps])
    assert not any(found.any() for found in rules.broken_by(table.columns, N).values())


@pytest.mark.parametrize("case", ["time, day", "time before a day", "day, time", "day before a time"])
def test_all_rows_drawn_are_in_order_and_none_is_discarded_between_the_bounds(case: str) -> None:
    rules, rng = ordered(CASES[case]), np.random.default_rng(0)
    codec = Codec.plan(rules.learned_schema, bins=40)
    codes = {name: rng.integers(0, codec.domain.size(name), N) for name in codec.domain}
    learned = codec.decode(EncodedTable.from_mapping(codec.domain, codes), rng)

    rows, kept, broken = rules.completed(learned, N, rng)

    assert {rule for rule in broken if "bounds" not in rule} == set()
    assert kept.mean() > 0.3
    first, last = (
        rows[n].values // (DAY if isinstance(rules.schema[n], st.Datetime) else 1) for n in ("first", "last")
    )
    assert (first <= last)[kept].all()


@pytest.mark.parametrize("case", ["time, day", "time before a day", "day, time", "day before a time"])
def test_conditions_imply_ones_that_all_rows_satisfy(case: str) -> None:
    columns = {**CASES[case], "apart": st.Numeric(-400, 1_000, integer=True)}
    stated = st.Rules(order=[["first", "last"]], derive={"apart": 'date_diff(\'day\', "first", "last")'})
    rules, rng = row_rules(st.Schema(columns, rules=stated)), np.random.default_rng(0)
    assert rules is not None
    (name,) = rules.compiled.distances
    codec = Codec.plan(rules.learned_schema, bins=40)
    codes = {name: rng.integers(0, codec.domain.size(name), N) for name in codec.domain}
    learned = codec.decode(EncodedTable.from_mapping(codec.domain, codes), rng)
    rows, kept, _ = rules.completed(learned, N, rng)

    for asked, condition, implied, cells in (
        (name, ("2020-03-01", "2020-03-31"), implied_start, rows),
        ("apart", (3, 9), implied_distance, learned),
    ):
        wanted = allowed(asked, rules.schema[asked], condition)
        satisfied = kept & satisfies(rules.schema[asked], rows[asked], wanted)
        found = implied(rules, asked, wanted)
        assert satisfied.any()
        if found is not None:
            other, within = found
            column = rules.distance(other) if cells is learned else rules.schema[other]
            assert satisfies(column, cells[other], allowed(other, column, within))[satisfied].all()


@pytest.mark.parametrize("case", ["time, day", "time before a day"])
def test_a_quarter_on_the_same_day_stays_there_and_nothing_is_discarded(
    case: str, recwarn: pytest.WarningsRecorder
) -> None:
    frame = made(CASES[case])
    schema = st.Schema(CASES[case], rules=st.Rules(order=[["first", "last"]]))

    drawn = st.Independent(epsilon=np.inf, seed=0).fit(frame, schema).sample(N, seed=0)

    real, ours = days_apart(frame), days_apart(drawn)
    assert ours.min() == 0
    assert abs((ours == 0).mean() - (real == 0).mean()) < 0.03
    assert abs(ours.mean() - real.mean()) < 0.2
    assert not [w for w in recwarn if "discarded" in str(w.message) or "break" in str(w.message)]


def test_given_days_move_times_by_whole_days() -> None:
    frame, columns = made(CASES["time, day"]), CASES["time, day"]
    schema = st.Schema(columns, rules=st.Rules(order=[["first", "last"]]))
    release = st.Independent(epsilon=np.inf, seed=0).fit(frame, schema)

    drawn = release.sample(given=frame[["last"]].head(500), seed=0)

    assert (days_apart(drawn) >= 0).all()
    assert abs(days_apart(drawn).mean() - days_apart(frame).mean()) < 1


@pytest.mark.parametrize("case", CASES)
def test_rows_in_order_are_not_moved_and_others_come_into_it(case: str) -> None:
    rules, frame = ordered(CASES[case]), made(CASES[case])
    cells = read(frame, rules.schema).columns
    late = {**cells, "first": cells["first"].take(np.roll(np.arange(N), 1))}

    kept = within_orders(rules, cells, ["last"])
    moved = {**late, **within_orders(rules, late, ["last"])}

    for name, column in kept.items():
        here = ~column.missing
        expected, _ = plain_cells(rules.schema[name], cells[name])
        np.testing.assert_array_equal(column.values[here], expected[here])
    assert not any(found.any() for found in rules.broken_by(moved, N).values())


def test_an_order_by_days_is_proposed_that_holds() -> None:
    for case in ("time, day", "day, time"):
        schema, _, rules = draft_with_rules(read(made(CASES[case])))

        assert rules is not None
        assert rules.order == (("first", "last"),)
        assert not rules.require
        assert schema.columns.keys() == {"first", "last"}
