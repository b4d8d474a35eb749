"""A fit says what names and released domains suggest to declare, once, and nothing where it is declared."""

from __future__ import annotations

import datetime as dt
import math
import warnings

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import DomainWarning, PrivacyWarning, RuleWarning
from syntabula.synthesizers.hints import tell_of_days, tell_of_keys

MOMENTS = (pd.Timestamp("2020-01-01"), pd.Timestamp("2020-12-31"))


def stays(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    start = MOMENTS[0] + pd.to_timedelta(rng.integers(0, 200, n), "D")
    return pd.DataFrame(
        {"admission": start, "discharge": start + pd.to_timedelta(rng.integers(0, 9, n), "D")}
    )


def schema(**rules: object) -> st.Schema:
    columns = {name: st.Datetime(*MOMENTS) for name in ("admission", "discharge")}
    return st.Schema(columns, rules=st.Rules(**rules) if rules else None)  # type: ignore[arg-type]


def fitted(frame: pd.DataFrame, declared: st.Schema | None) -> None:
    st.Independent(epsilon=1.0, seed=0).fit(frame, declared)


class TestOrders:
    def test_a_start_and_an_end_without_a_rule_are_told_once(self) -> None:
        for declared in (None, schema()):
            with pytest.warns(RuleWarning) as caught:
                fitted(stays(), declared)

            assert [str(w.message)[:35] for w in caught if w.category is RuleWarning] == [
                "columns 'admission' and 'discharge'"
            ]

    def test_the_hint_does_not_depend_on_the_records(self) -> None:
        frame = stays()
        turned = frame.rename(columns={"admission": "discharge", "discharge": "admission"})

        with pytest.warns(RuleWarning, match="'admission' and 'discharge'"):
            fitted(turned, schema())

    @pytest.mark.thorough
    def test_a_rule_on_both_ends_the_hint(self) -> None:
        stated: list[dict[str, object]] = [
            {"order": [["admission", "discharge"]]},
            {"require": ["discharge - admission < INTERVAL 9 DAY"]},
            {"derive": {"discharge": "admission"}},
        ]
        for rules in stated:
            frame = stays() if "derive" not in rules else stays()[["admission"]]
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuleWarning)
                fitted(frame, schema(**rules))


class TestKeys:
    def test_found_keys_that_repeat_under_the_name_of_a_person_are_told(self) -> None:
        key = st.Identifier(distinct=100)
        released = st.Schema({"patient": key, "store": key, "guest": st.Identifier(), "owner": st.Boolean()})

        with pytest.warns(PrivacyWarning) as caught:
            tell_of_keys(released, [*released])

        (told,) = [str(w.message) for w in caught]
        assert told.startswith("column 'patient': if it names a person")

    def test_so_are_whole_numbers_that_are_more_than_categories(self) -> None:
        many, few = st.Numeric(301, 325, integer=True), st.Numeric(1, 8, integer=True)
        released = st.Schema(
            {
                "employee": many,
                "member": few,
                "income_per_household": many,
                "passenger": st.Numeric(0.0, 90.0),
                "patient_id": many,
            }
        )

        with pytest.warns(PrivacyWarning) as caught:
            tell_of_keys(released, [*released])

        # A key is told by its name before.
        (told,) = [str(w.message) for w in caught]
        assert told.startswith("column 'employee': if it names a person")

    def test_without_privacy_real_keys_that_come_out_are_told(self) -> None:
        numbers = np.random.default_rng(0).integers(100_000, 999_999, 150)
        frame = pd.DataFrame({"phone": [f"+49 {n}" for n in numbers] * 6, "shift": ["a", "b", "c"] * 300})

        with pytest.warns(PrivacyWarning, match="^column 'phone': named after persons") as caught:
            st.Independent(epsilon=math.inf).fit(frame)

        assert len(caught) == 1
        st.Independent(epsilon=math.inf).fit(frame, st.Schema({"phone": st.Identifier()}, others="find"))

    def test_declared_keys_are_not(self) -> None:
        tell_of_keys(st.Schema({"patient": st.Identifier(distinct=100)}), [])


class TestDaysAsNumbers:
    def test_those_of_a_frame_are_told_once_they_are_found(self) -> None:
        days = pd.date_range("2019-01-01", "2022-12-31").strftime("%Y%m%d").astype(np.int64)
        frame = pd.DataFrame({"sold": np.random.default_rng(0).choice(days, 3_000)})

        with pytest.warns(DomainWarning, match="column 'sold': the bounds .* are those of days") as caught:
            fitted(frame, None)

        assert len(caught) == 1
        column = st.Date(dt.date(2019, 1, 1), dt.date(2022, 12, 31), format="%Y%m%d")
        fitted(frame, st.Schema({"sold": column}))

    @pytest.mark.parametrize(
        ("lower", "upper"), [(0, 20_250_000), (20_000_000, 30_000_000), (20_200_101, 20_200_101)]
    )
    def test_other_numbers_are_not(self, lower: int, upper: int) -> None:
        tell_of_days(st.Schema({"x": st.Numeric(lower, upper, integer=True)}), ["x"])


def test_without_privacy_nobody_is_told_of_units() -> None:
    frame = pd.DataFrame({"patient": [f"P{i:05d}" for i in range(200)] * 2})

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "column 'patient': .* the real ones come out")
        st.Independent(epsilon=math.inf).fit(frame)
