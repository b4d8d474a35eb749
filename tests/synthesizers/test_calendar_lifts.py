"""What hours and weekdays tell of other columns, from a table to a release."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import ResourceError, SchemaError
from syntabula.prepare.preprocessing import LIFTS_SHARE, lift_step
from syntabula.synthesizers.fitted_lifts import LiftFit, even_groups
from syntabula.table.coding.calendar_codes import calendar_column, calendar_domain, encoded_with_calendars
from syntabula.table.coding.codec import Codec
from syntabula.table.read import read

N = 12_000


def visits(n: int = N) -> pd.DataFrame:
    """Visits to a shop, most of them on weekends, and to its page, most of them at night; and the amounts."""
    rng = np.random.default_rng(0)
    day = rng.integers(0, 730, n)
    shop = rng.random(n) < np.where(day % 7 < 2, 0.8, 0.2)
    hour = np.where(shop, rng.integers(9, 18, n), (rng.integers(17, 30, n)) % 24)
    # The first day is a Saturday.
    at = pd.Timestamp("2022-01-01") + pd.to_timedelta(day * 24 + hour, unit="h")
    amount = np.round(rng.gamma(2, 20, n) * np.where(hour < 12, 2, 1), 2)
    frame = pd.DataFrame({"at": at, "place": np.where(shop, "shop", "page"), "amount": amount})
    return frame.assign(region=rng.choice(list("abc"), n), at=at.astype("datetime64[s]"))


def told(frame: pd.DataFrame) -> tuple[float, float, float]:
    """Return the share of visits to the shop on weekends, by night, and the amounts before noon over those after it."""
    at, shop = pd.to_datetime(frame["at"]).dt, frame["place"] == "shop"
    amount = frame["amount"].astype(float)
    early = amount[at.hour < 12].mean() / amount[at.hour >= 12].mean()
    return shop[at.day_of_week > 4].mean(), shop[(at.hour > 18) | (at.hour < 6)].mean(), early


@pytest.mark.parametrize(("epsilon", "error"), [(1.0, 0.2), (math.inf, 0.1)])
def test_hours_and_weekdays_follow_other_columns(epsilon, error):
    frame = visits()

    release = st.MST(epsilon=epsilon, delta=0.0 if epsilon == math.inf else 1e-6, seed=1).fit(frame)

    weekend, night, early = told(release.sample(N, seed=1))
    real = told(frame)
    assert abs(weekend - real[0]) < error
    assert abs(night - real[1]) < error
    # Without them both are the share of the shop, .37, and amounts are alike.
    assert early > 1.25
    apart = replace(release.codec, lifts={})
    rows = release.model.sample(N, np.random.default_rng(0))
    cells = apart.decode(rows, np.random.default_rng(0))
    plain = {name: cells[name].values for name in ("place", "amount")}
    without = told(pd.DataFrame({"at": cells["at"].values.astype("datetime64[us]"), **plain}))
    assert abs(without[0] - real[0]) > 0.3


def test_times_that_rise_together_follow_other_columns_too():
    frame = visits()
    frame["paid"] = frame["at"] + pd.Timedelta(minutes=90)

    release = st.MST(epsilon=math.inf, seed=1).fit(frame)
    drawn = release.sample(N, seed=1)

    shop = drawn["place"] == "shop"
    for name, first in (("at", 9), ("paid", 10)):
        hours = pd.to_datetime(drawn[name]).dt.hour[shop]
        assert ((hours >= first) & (hours < first + 10)).mean() > 0.85
    # Both lie as near to each other as without lifts, but for parts of a day.
    rows = release.model.sample(N, np.random.default_rng(0))
    cells = replace(release.codec, lifts={}).decode(rows, np.random.default_rng(0))
    without = np.median(np.abs(cells["paid"].values - cells["at"].values)) / 86_400_000_000
    apart = (pd.to_datetime(drawn["paid"]) - pd.to_datetime(drawn["at"])).dt.total_seconds() / 86_400
    assert apart.abs().median() < without + 0.5


@pytest.mark.filterwarnings("ignore::syntabula.errors.DomainWarning")
def test_weekdays_of_days_that_rise_with_another_column_are_followed():
    rng = np.random.default_rng(3)
    days = rng.integers(0, 1_460, 6_000)
    day = pd.Series(pd.Timestamp("2020-01-06") + pd.to_timedelta(days, unit="D")).astype("datetime64[s]")
    sold = np.round(days % 7 + rng.normal(0, 0.5, 6_000), 1)
    frame = pd.DataFrame(
        {"day": day, "sold": sold, "price": np.round(days / 10 + rng.uniform(-17, 17, 6_000), 1)}
    )

    drawn = st.MST(epsilon=5.0, delta=1e-6, seed=1).fit(frame).sample(6_000, seed=1)

    found = pd.to_datetime(drawn["day"])
    # .97 and .97 in the table.
    assert found.dt.day_of_week.corr(drawn["sold"].astype(float)) > 0.8
    assert (found - found.min()).dt.days.corr(drawn["price"].astype(float)) > 0.9


def test_a_release_keeps_them(tmp_path):
    release = st.MST(epsilon=3.0, delta=1e-6, seed=1).fit(visits(4_000))
    assert {lift.column for lift in release.codec.lifts["at"].lifts} >= {"place"}

    release.save(tmp_path / "r.syn")
    loaded = st.load(tmp_path / "r.syn")

    assert loaded.codec == release.codec
    pd.testing.assert_frame_equal(loaded.sample(500, seed=3), release.sample(500, seed=3))


def test_conditions_and_given_columns_are_followed():
    release = st.MST(epsilon=math.inf, seed=1).fit(visits())

    on_page = pd.to_datetime(release.sample(2_000, seed=1, where={"place": "page"})["at"]).dt.hour
    in_may = release.sample(
        2_000, seed=1, where={"at": (pd.Timestamp("2022-05-01"), pd.Timestamp("2022-05-14 23:00:00"))}
    )
    one_day = {"at": (pd.Timestamp("2022-05-02"), pd.Timestamp("2022-05-02 22:00:00")), "place": "shop"}
    on_day = pd.to_datetime(release.sample(1_000, seed=1, where=one_day)["at"])
    given = release.sample(seed=1, given=pd.DataFrame({"place": ["shop"] * 1_000}))

    assert ((on_page > 8) & (on_page < 17)).mean() < 0.1
    at = pd.to_datetime(in_may["at"])
    assert at.between("2022-05-01", "2022-05-14 23:00:00").all()
    hours = at.dt.hour[in_may["place"] == "shop"]
    assert ((hours > 8) & (hours < 18)).mean() > 0.9
    assert on_day.between(*one_day["at"]).all()
    assert on_day.dt.hour.between(9, 17).mean() > 0.9
    hours = pd.to_datetime(given["at"]).dt.hour
    assert ((hours > 8) & (hours < 18)).mean() > 0.9


def test_what_is_asked_is_paid_and_left_to_the_learner_where_noise_hides_it():
    large, small = (st.MST(epsilon=1.0, delta=1e-6, seed=1).fit(visits(n)).privacy for n in (N, 900))

    (share,) = [line.share for line in large.lines if line.step == lift_step("at")]
    assert 0.85 * float(LIFTS_SHARE) < share <= float(LIFTS_SHARE)
    assert not any(line.step == lift_step("at") for line in small.lines)
    for statement in (large, small):
        assert statement.epsilon_spent == pytest.approx(1.0, rel=1e-6)


def test_nothing_is_planned_where_the_number_of_records_is_not_counted():
    at = visits(300)["at"]
    schema = st.Schema({"at": st.Datetime(at.min(), at.max(), timezone=None), "paid": st.Boolean()})
    for discretizer in ("uniform", "privtree"):
        settings = st.Preprocessing(discretizer=discretizer, within="round")
        plan = st.MST(epsilon=1.0, delta=1e-6, bins=20, preprocessing=settings).plan(schema)
        steps = [step.name for step in plan.steps]
        assert (lift_step("at") in steps) == ("count the records" in steps)
        assert math.isclose(sum(step.share for step in plan.steps), 1.0)


def test_columns_that_are_learned_apart_stay_so():
    release = st.Independent(epsilon=math.inf, seed=1).fit(visits(2_000))
    assert not release.codec.lifts


def test_a_plan_names_them():
    at = visits(300)["at"]
    schema = st.Schema({"at": st.Datetime(at.min(), at.max(), timezone=None), "paid": st.Boolean()})
    plan = st.MST(epsilon=1.0, delta=1e-6).plan(schema)
    assert lift_step("at") in [step.name for step in plan.steps]
    assert math.isclose(sum(step.share for step in plan.steps), 1.0)


def test_records_are_encoded_one_by_one():
    frame = visits(50)
    frame.loc[3, "at"] = pd.NaT
    schema, _ = st.draft_schema(frame)
    codec = Codec.plan(schema, bins=24, rhythms={})
    codec = replace(codec, bins={**codec.bins, "at": Codec.plan(schema, bins=1).bins["at"]})

    table, _ = encoded_with_calendars(codec, ["at"], read(frame, schema))
    fewer, _ = encoded_with_calendars(codec, ["at"], read(frame.drop(index=7), schema))

    hours = table.column(calendar_column(codec.domain, "at", "hour"))
    expected = frame["at"].dt.hour.fillna(24).astype(int)
    assert hours.tolist() == expected.tolist()
    assert table.domain == calendar_domain(codec, ["at"])
    for name in table.domain:
        assert np.array_equal(np.delete(table.column(name), 7), fewer.column(name))


def test_no_two_codes_have_one_name():
    names = ["at", "at'", "hour of column 0", "hour of column 1"]
    domain = Codec.plan(st.Schema(dict.fromkeys(names, st.Boolean()))).domain
    found = [calendar_column(domain, name, "hour") for name in names[:2]]
    assert found == ["hour of column 0'", "hour of column 1'"]


def test_a_noisy_number_of_records_below_none_asks_nothing(monkeypatch):
    from syntabula.prepare.preparation import Preparation

    counted = Preparation.counted

    def few(self, *given):
        found = counted(self, *given)
        return None if found is None else replace(found, values=found.values - 1e6)

    monkeypatch.setattr(Preparation, "counted", few)
    schema, _ = st.draft_schema(visits(300))
    release = st.MST(epsilon=1.0, delta=1e-6, seed=1, allow_observed=True).fit(visits(300), schema)
    assert not release.codec.lifts


def test_much_preprocessing_leaves_less_for_them():
    frame = visits(2_000).assign(paid=lambda f: f["at"], sent=lambda f: f["at"])
    release = st.MST(epsilon=9.0, delta=1e-6, seed=1, preprocessing=st.Preprocessing(share=0.95)).fit(frame)
    assert release.privacy.epsilon_spent == pytest.approx(9.0, rel=1e-6)


def test_columns_that_would_take_too_much_memory_are_not_asked(monkeypatch):
    from syntabula.marginals.counting import MemoryEngine

    check = MemoryEngine.check_memory

    def strict(self, cliques):
        # Hours beside anything but the smallest column.
        if any(name.startswith("hour of") for clique in cliques for name in clique) and len(cliques) > 1:
            raise ResourceError("too much")
        check(self, cliques)

    monkeypatch.setattr(MemoryEngine, "check_memory", strict)
    release = st.MST(epsilon=1.0, delta=1e-6, seed=1).fit(visits())
    assert {x.column for x in release.codec.lifts["at"].lifts if x.calendar == "hour"} == {"place"}
    assert release.privacy.epsilon_spent == pytest.approx(1.0, rel=1e-6)


def test_chance_is_no_lift():
    rng = np.random.default_rng(7)
    frame = visits(6_000)[["at"]]
    frame["flag"] = rng.random(len(frame)) < np.where(frame["at"].dt.hour < 12, 0.65, 0.35)
    for i in range(7):
        frame[f"unrelated {i}"] = rng.integers(0, 32, len(frame))

    release = st.MST(epsilon=math.inf, seed=1).fit(frame)

    drawn = release.sample(6_000, seed=1)
    early = pd.to_datetime(drawn["at"]).dt.hour < 12
    assert drawn["flag"][early].mean() > 0.58
    hours = [lift.column for lift in release.codec.lifts["at"].lifts if lift.calendar == "hour"]
    assert hours[0] == "flag"


def test_lifts_that_do_not_fit_the_codec_are_refused():
    codec = st.MST(epsilon=math.inf, seed=1).fit(visits(2_000)).codec
    (of_times,) = codec.lifts.values()
    for wrong in (
        {"shares": (1.0,)},
        {"cuts": (of_times.cuts[0] + 1, *of_times.cuts[1:])},
        {"told": (2**70,)},
    ):
        with pytest.raises(SchemaError, match="do not fit together"):
            replace(codec, lifts={"at": replace(of_times, **wrong)})
    with pytest.raises(SchemaError, match="do not sum to one"):
        replace(codec, lifts={"at": replace(of_times, shares=(0.3,) * len(of_times.shares))})
    with pytest.raises(SchemaError, match="do not ascend"):
        replace(of_times, cuts=of_times.cuts[::-1])
    with pytest.raises(SchemaError, match="the lifts of column 'amount'"):
        replace(codec, lifts={"amount": of_times})


class TestLiftFit:
    def test_it_finds_what_made_the_counts(self):
        rng = np.random.default_rng(0)
        base, n = np.array([0.2, 0.5, 0.3]), 4_000
        first = rng.integers(0, 4, n)
        second = np.where(rng.random(n) < 0.7, first % 2, rng.integers(0, 2, n))
        own, other = rng.uniform(0.3, 3, (4, 3)), rng.uniform(0.3, 3, (2, 3))
        each = base * own[first] * other[second]
        each /= each.sum(axis=1, keepdims=True)
        fit = LiftFit(each.mean(axis=0)[None])

        for name, groups, size in (("first", first, 4), ("second", second, 2)):
            fit.learn("hour", name, groups, np.stack([each[groups == g].sum(axis=0) for g in range(size)]))

        for groups, size in ((first, 4), (second, 2)):
            expected = np.stack([each[groups == g].mean(axis=0) for g in range(size)])
            # A row of average times in each group moves shares by less than a thousandth.
            assert np.abs(fit.shares("hour", groups, size) - expected).max() < 5e-3

    def test_what_a_weekday_tells_by_its_hours_is_not_told_twice(self):
        base = np.array([[0.4, 0.1], [0.1, 0.4]])
        groups = np.arange(1_000) % 2
        fit = LiftFit(base)

        for calendar in ("hour", "weekday"):
            fit.learn(calendar, "place", groups, np.array([[400.0, 100.0], [100.0, 400.0]]))

        for calendar in ("hour", "weekday"):
            assert np.abs(fit.shares(calendar, groups, 2) - [[0.8, 0.2], [0.2, 0.8]]).max() < 5e-3

    def test_rows_and_groups_that_do_not_count(self):
        fit = LiftFit(np.array([[1.0, 3.0]]))
        none = np.full(5, 2)
        assert fit.shares("hour", none, 2).tolist() == [[0.25, 0.75]] * 2
        fit.learn("hour", "x", np.array([0, 0, 0, 2, 2]), np.array([[5.0, 5.0], [0.0, 0.0]]))
        assert np.isfinite(fit.factors["hour", "x"]).all()

    def test_even_groups_hold_as_much(self):
        assert even_groups(np.array([1.0, 1, 2, 4, 0, 8]), 4).tolist() == [0, 0, 0, 1, 2, 3]
        assert even_groups(np.zeros(4), 2).tolist() == [0, 0, 1, 1]
