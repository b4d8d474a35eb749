"""Rows whose value is taken move to the nearest free one of their weekday and time of day."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

import syntabula as st
from syntabula.synthesizers.free_values import FreeValues

MONDAY = dt.date(2024, 1, 1)
FIRST = (MONDAY - dt.date(1970, 1, 1)).days
HALF_YEAR = st.Date(MONDAY, MONDAY + dt.timedelta(days=181))


def test_a_taken_day_gives_way_to_its_weekday_nearest_by() -> None:
    values = FreeValues.of(HALF_YEAR)
    tuesday = FIRST + 57

    found = values.apart(np.array([tuesday, tuesday, tuesday, FIRST, FIRST]))

    assert found[0] == tuesday
    assert {*found[1:3]} == {tuesday - 7, tuesday + 7}
    assert found[3:].tolist() == [FIRST, FIRST + 7]


def test_weekdays_that_no_row_has_are_filled_last() -> None:
    values, rng = FreeValues.of(HALF_YEAR), np.random.default_rng(0)
    mondays = np.full(60, FIRST + 70)
    drawn = np.concatenate([mondays, FIRST + 70 + np.tile(np.arange(1, 5), 10)])

    points = drawn[values.chosen(drawn, 100, rng)]
    found = values.apart(points)

    assert np.unique(found).size == 100
    # Sixty rows of 26 Mondays fall on the other weekdays that rows have, of which there are enough.
    assert ((found - FIRST) % 7 < 5).all()


@pytest.mark.parametrize("resolution", ["day", "week", "month"])
def test_all_values_are_found_if_all_are_wanted(resolution: str) -> None:
    column = st.Date(HALF_YEAR.lower, HALF_YEAR.upper, resolution=resolution)  # type: ignore[arg-type]
    first, last = column.grid()

    found = FreeValues.of(column).apart(np.full(last - first + 1, first))

    assert np.sort(found).tolist() == [*range(first, last + 1)]


def test_times_keep_their_minute() -> None:
    moment = dt.datetime(2024, 1, 1, 8, 30)
    column = st.Datetime(moment, moment + dt.timedelta(days=60), resolution="minute")
    first, _ = column.grid()

    found = FreeValues.of(column).apart(np.full(40, first))

    assert np.unique(found).size == 40
    assert ((found - first) % 60 == 0).all()
    assert ((found[:9] - first) % (7 * 24 * 60) == 0).all()


def test_as_many_of_each_weekday_are_chosen_as_were_drawn() -> None:
    rng = np.random.default_rng(0)
    drawn = FIRST + rng.choice(182, 8_000, p=np.tile([2, 2, 2, 2, 2, 1, 1], 26) / (26 * 12))

    chosen = FreeValues.of(HALF_YEAR).chosen(drawn, 1_000, rng)

    shares = np.bincount((drawn - FIRST) % 7) / 8
    assert np.bincount((drawn[chosen] - FIRST) % 7) == pytest.approx(shares, abs=1.01)
