"""Rows whose distances lead beyond the bounds exchange them with other rows, or take those of rows that begin near."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula import Categorical, Date, Datetime, Numeric, Rules, Schema
from syntabula.synthesizers.lent_distances import Lenders, mended
from syntabula.synthesizers.release_file import read_release, write_release
from syntabula.table.raw import Origin, PhysicalType, RawColumn, RawTable
from syntabula.table.rules.at_work import row_rules
from syntabula.table.rules.computed import bound_as_number

DAY = Date(dt.date(2023, 2, 1), dt.date(2023, 4, 30))
MONTH = Date(dt.date(2019, 1, 1), dt.date(2023, 12, 1), resolution="month")
SECOND = Datetime(dt.datetime(2023, 3, 25, 6), dt.datetime(2023, 3, 27, 5, 59, 59))
MINUTE = Datetime(dt.datetime(2023, 2, 1), dt.datetime(2023, 4, 30, 23, 59), resolution="minute")
# The clocks change within these bounds.
ZONED = replace(SECOND, timezone="Europe/Paris")
WHOLE = Numeric(0, 60, integer=True)
KINDS = {
    "days": (DAY,) * 3,
    "months": (MONTH,) * 3,
    "seconds": (SECOND,) * 3,
    "times with a zone": (ZONED,) * 3,
    "a day before times": (DAY, MINUTE, MINUTE),
    "days after a time": (MINUTE, DAY, DAY),
    "of several bounds": (
        DAY,
        Date(dt.date(2023, 2, 10), dt.date(2023, 5, 10)),
        Date(dt.date(2023, 2, 1), dt.date(2023, 5, 20)),
    ),
    "whole numbers": (WHOLE,) * 3,
    "any numbers": (Numeric(-0.5, 0.5),) * 3,
}
ORDERS = {
    "a list": [["a", "b", "c"]],
    "a star": [["a", "b"], ["a", "c"]],
    "to the last": [["a", "c"], ["b", "c"]],
}
DAY_LENGTH = 86_400_000_000


def numbers(column, values):
    """Return values of a column as numbers; of days and times, microseconds since 1970."""
    if isinstance(column, Numeric):
        return pd.to_numeric(values).to_numpy(float)
    times = pd.to_datetime(values, utc=True).dt.tz_localize(None)
    found = times.to_numpy().astype("datetime64[us]").astype(np.int64).astype(float)
    return np.where(times.isna(), np.nan, found)


def made(columns, order, n=600):
    """Return rows in order that fill the span which the columns share, so that late ones have small distances."""
    rng = np.random.default_rng(0)
    parts = np.sort(rng.random((3, n)), axis=0)
    if order == ORDERS["a star"]:
        parts[1:] = rng.permuted(parts[1:], axis=0)
    if order == ORDERS["to the last"]:
        parts[:2] = rng.permuted(parts[:2], axis=0)
    low = max(bound_as_number(c, "lower") for c in columns)
    high = min(bound_as_number(c, "upper") for c in columns)
    frame = pd.DataFrame(index=range(n))
    for name, column, part in zip("abc", columns, parts, strict=True):
        values = low + part * (high - low)
        kind = "float" if isinstance(column, Numeric) else "datetime"
        points, _, _ = column.points(values.astype(float if kind == "float" else np.int64), kind)
        values, _ = column.values(points)
        if isinstance(column, Date):
            values = values.astype("datetime64[D]").astype(object)
        elif isinstance(column, Datetime):
            values = pd.Series(values.astype("datetime64[us]")).dt.tz_localize(column.timezone and "UTC")
        frame[name] = values
    frame["k"] = rng.choice(["x", "y"], n)
    return frame


def schema_of(columns, order, **rules):
    named = {**dict(zip("abc", columns, strict=True)), "k": Categorical(["x", "y"])}
    return Schema(named, rules=Rules(order=order, **rules))


def fitted(frame, schema):
    return st.Independent(epsilon=5.0, seed=0).fit(frame, schema)


def without_loans(release):
    """Return the release as earlier versions draw from it."""
    return st.Release(
        method=release.method,
        codec=release.codec,
        model=release.model,
        privacy=release.privacy,
        origin=release.origin,
        rules=replace(release.rules, lends=False),
    )


def discarded(release):
    return sum(release.rules_broken(2_000, seed=3).values())


def check(frame, schema):
    """Assert that all rows are in order and within their bounds."""
    held = {name: numbers(schema[name], frame[name]) for name in "abc"}
    for name, values in held.items():
        lower, upper = (float(bound_as_number(schema[name], side)) for side in ("lower", "upper"))
        assert np.nanmin(values) >= lower
        assert np.nanmax(values) <= upper
    for one, other in {pair for chain in schema.rules.order for pair in pairwise(chain)}:
        first, last = held[one], held[other]
        if isinstance(schema[other], Date) and isinstance(schema[one], Datetime):
            first = first - first % DAY_LENGTH
        both = ~(np.isnan(first) | np.isnan(last))
        assert both.any()
        assert (first[both] <= last[both]).all()


@pytest.mark.filterwarnings("ignore::syntabula.errors.RuleWarning")
class TestNoRowBreaksAnOrderOrABound:
    @pytest.mark.parametrize(
        ("kind", "order"),
        [
            *((kind, "a list") for kind in KINDS),
            *((kind, order) for kind in ("days", "seconds", "whole numbers") for order in [*ORDERS][1:]),
        ],
    )
    def test_and_next_to_none_is_discarded(self, kind, order):
        columns, chains = KINDS[kind], ORDERS[order]
        schema = schema_of(columns, chains)
        release = fitted(made(columns, chains), schema)

        rows = release.sample(2_000, seed=1)

        check(rows, schema)
        before = discarded(without_loans(release))
        assert before > 0.02
        assert discarded(release) < 0.05 * before

    def test_with_missing_ends_derived_columns_and_conditions(self):
        frame = made((DAY,) * 3, ORDERS["a list"])
        gone = np.random.default_rng(1).random(len(frame)) < 0.3
        frame["stay"] = (pd.to_datetime(frame["b"]) - pd.to_datetime(frame["a"])).dt.days
        frame["k"] = np.where(frame["stay"] > 20, "y", frame["k"])
        frame.loc[gone, ["b", "c", "stay"]] = None
        columns = {
            "a": DAY,
            **dict.fromkeys("bc", replace(DAY, nullable=True)),
            "k": Categorical(["x", "y"]),
            "stay": Numeric(0, 90, integer=True, nullable=True),
        }
        rules = Rules(
            derive={"stay": "date_diff('day', a, b)"},
            order=ORDERS["a list"],
            require=["k = 'y' or b - a <= 20"],
            together=[["b", "c"]],
        )
        release = fitted(frame, Schema(columns, rules=rules))

        rows = release.sample(2_000, seed=1)

        check(rows, release.rules.schema)
        assert (rows["b"].isna() == rows["c"].isna()).all()
        # A standard deviation is .01 of the draw and .02 of the table.
        assert abs(rows["b"].isna().mean() - 0.3) < 0.1
        days = (pd.to_datetime(rows["b"]) - pd.to_datetime(rows["a"])).dt.days
        pd.testing.assert_series_equal(
            pd.to_numeric(rows["stay"]).astype(float), days.astype(float), check_names=False
        )
        assert (days[rows["k"] == "x"].dropna() <= 20).all()
        before, now = (r.rules_broken(2_000, seed=3) for r in (without_loans(release), release))
        bounds = [f"{name} within its bounds" for name in "bc"]
        lost, left = (sum(found.get(rule, 0) for rule in bounds) for found in (before, now))
        assert lost > 0.02
        # Of those that are short enough for an x, few begin late.
        assert left < 0.1 * lost

    def test_of_a_file_with_days_of_another_form(self, tmp_path):
        frame = made((DAY,) * 3, ORDERS["a list"])
        for name in "abc":
            frame[name] = pd.to_datetime(frame[name]).dt.strftime("%d/%m/%Y")
        frame.to_csv(tmp_path / "stays.csv", index=False)
        columns = (replace(DAY, format="%d/%m/%Y"),) * 3
        release = fitted(tmp_path / "stays.csv", schema_of(columns, ORDERS["a list"]))

        release.sample_to(tmp_path / "drawn.csv", 500, seed=1)

        rows = pd.read_csv(tmp_path / "drawn.csv")
        assert rows["a"].str.fullmatch(r"\d\d/\d\d/2023").all()
        for name in "abc":
            rows[name] = pd.to_datetime(rows[name], format="%d/%m/%Y")
        check(rows, schema_of((DAY,) * 3, ORDERS["a list"]))


@pytest.fixture(scope="module")
def stays():
    """A release of stays that may begin on any day and end within the bounds."""
    return fitted(made((DAY,) * 3, ORDERS["a list"], 2_000), schema_of((DAY,) * 3, ORDERS["a list"]))


@pytest.mark.filterwarnings("ignore::syntabula.errors.RuleWarning")
def test_late_starts_are_as_frequent_as_the_model_says(stays):
    whole = np.bincount(stays.model.sample(20_000, np.random.default_rng(0)).column("a"))
    late = whole[-(whole.size // 2) :].sum() / whole.sum()
    edge = stays.codec.bins["a"].edges[whole.size - whole.size // 2]

    def drawn(release, **asked):
        days = release.sample(**asked or {"n": 20_000}, seed=1)["a"]
        return (days.to_numpy().astype("datetime64[D]").astype(int) >= edge).mean()

    # Shares near .13 of 20,000 rows have a standard deviation of .0024 each; their difference reaches .02 in fewer than
    # one of 10 million draws.
    assert abs(drawn(stays) - late) < 0.02
    assert drawn(without_loans(stays)) < late - 0.02
    given = pd.DataFrame({"k": ["x", "y"] * 10_000})
    assert abs(drawn(stays, given=given) - late) < 0.02
    assert drawn(without_loans(stays), given=given) < late - 0.02


def test_given_days_stay(stays):
    given = stays.sample(300, seed=4)[["a"]]

    rows = stays.sample(given=given, seed=5)

    pd.testing.assert_frame_equal(rows[["a"]], given)
    check(rows, stays.rules.schema)


@pytest.mark.filterwarnings("ignore::syntabula.errors.RuleWarning")
def test_a_file_says_that_rows_take_distances_and_one_of_before_draws_as_it_did(stays, tmp_path):
    stays.save(tmp_path / "now.syn")
    without_loans(stays).save(tmp_path / "without.syn")
    facts, arrays = read_release(tmp_path / "without.syn")
    write_release(tmp_path / "before.syn", {k: v for k, v in facts.items() if k != "lends"}, arrays)

    now, without, before = (
        st.load(tmp_path / f"{n}.syn").sample(500, seed=2) for n in ("now", "without", "before")
    )

    pd.testing.assert_frame_equal(now, stays.sample(500, seed=2))
    pd.testing.assert_frame_equal(without, without_loans(stays).sample(500, seed=2))
    pd.testing.assert_frame_equal(before, without)
    assert not now.equals(before)


RULES = row_rules(schema_of((WHOLE,) * 3, ORDERS["a list"]))


def cells(**columns):
    return {
        name: RawColumn(
            np.array([v or 0 for v in values]),
            np.array([v is None for v in values]),
            PhysicalType("integer", "int64"),
        )
        for name, values in columns.items()
    }


def texts(values):
    return RawColumn(
        np.array(values, dtype=object), np.zeros(len(values), np.bool_), PhysicalType("text", "str")
    )


class TestExchange:
    def mended(self, learned, **others):
        """Return what is learned of the rows once they are mended, and which rows are kept before and after."""
        n = learned["a"].missing.size
        rng = np.random.default_rng(0)
        columns, kept, broken = RULES.completed(learned, n, rng)
        before = kept.copy()
        left = mended(RULES, learned, columns, kept, broken, lambda rows: rows, rng, **others)
        table, _ = RULES.learned_table(RawTable(columns, n, Origin("pandas", {})))
        return table.columns, before, kept, left

    def rows(self, n=2_000):
        rng = np.random.default_rng(1)
        found = cells(a=rng.integers(0, 54, n), b=rng.geometric(0.1, n) - 1, c=rng.integers(0, 9, n))
        found["b"].values[found["b"].values > 60] = 60
        return found | {"k": texts(rng.choice(["x", "y"], n).tolist())}

    def test_all_starts_and_all_distances_stay_but_those_that_no_other_row_suits(self):
        learned = self.rows()
        drawn = {name: column.values.copy() for name, column in learned.items()}

        found, before, kept, left = self.mended(learned)

        assert 0.05 < 1 - before.mean() < 0.3
        assert kept.mean() > 0.99
        assert (found["a"].values == drawn["a"])[kept].all()
        assert (found["k"].values == drawn["k"])[kept].all()
        assert sum(left.values()) >= (~kept).sum()
        for name in "bc":
            now, was = (np.bincount(v, minlength=61) for v in (found[name].values, drawn[name]))
            assert np.abs(now - was).sum() < 0.02 * drawn[name].size
        assert (found["a"].values + found["b"].values + found["c"].values <= 60)[kept].all()

    def test_rows_that_are_not_in_an_exchange_stay_as_they_were(self):
        learned = self.rows()
        drawn = np.stack([learned[name].values for name in "abc"])

        found, before, _, _ = self.mended(learned)

        changed = (np.stack([found[name].values for name in "abc"]) != drawn).any(axis=0)
        assert (~before).sum() <= changed.sum() <= 2 * (~before).sum()

    def test_a_fixed_column_is_in_none(self):
        _, before, kept, _ = self.mended(self.rows(), fixed={"c"})

        assert (before == kept).all()

    def test_a_release_of_before_has_none(self):
        learned = self.rows()
        rules = replace(RULES, lends=False)
        columns, kept, broken = rules.completed(learned, 2_000, np.random.default_rng(0))
        before = kept.copy()

        assert mended(rules, learned, columns, kept, broken, lambda r: r, np.random.default_rng(0)) is broken
        assert (kept == before).all()


class TestLenders:
    def lenders(self, n=400):
        """Rows with distances of 1 to 5, but of 60 for the first twenty starts."""
        start = np.arange(n) * 50 // n
        far = start < 3
        columns = cells(a=start, b=np.where(far, 58, start + start % 5 + 1), c=np.where(far, 60, start + 7))
        return Lenders(RULES, columns, np.ones(n, np.bool_))

    def test_a_row_keeps_its_start_and_takes_all_distances_of_one_that_begins_near_it(self):
        learned = cells(a=[45, 45, 10], b=[20, 2, 3], c=[0, 30, 1])

        lent, changed = self.lenders().lend(learned, np.random.default_rng(0))

        assert changed.tolist() == [True, True, False]
        assert lent["a"].values.tolist() == [45, 45, 10]
        # Those of 400 lenders reach 20 places, which is three starts, to either side.
        for b, c in zip(lent["b"].values[:2], lent["c"].values[:2], strict=True):
            assert 1 <= b <= 5
            assert b + c == 7
        assert (lent["b"].values[2], lent["c"].values[2]) == (3, 1)
        assert learned["b"].values.tolist() == [20, 2, 3]

    def test_what_counts_from_a_fixed_column_is_not_lent(self):
        lenders = replace(self.lenders(), fixed={"a"})

        _, changed = lenders.lend(cells(a=[45], b=[20], c=[0]), np.random.default_rng(0))

        assert not changed.any()

    def test_rows_without_a_lender_stay_as_they_are(self):
        lenders = replace(self.lenders(), kept=np.zeros(400, np.bool_))

        lent, changed = lenders.lend(cells(a=[45], b=[20], c=[0]), np.random.default_rng(0))

        assert not changed.any()
        assert lent["b"].values.tolist() == [20]
