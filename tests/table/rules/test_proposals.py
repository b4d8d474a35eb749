"""A draft proposes the rules that every row of the table satisfies, as comments of provenance `observed`."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.cli.main import main
from syntabula.errors import ObservedDomainError, SchemaError
from syntabula.table.draft import draft_schema, draft_with_rules
from syntabula.table.read import read
from syntabula.table.rules.rules import Rules
from syntabula.table.schema.schema import Schema

N = 400


def table(seed=0):
    rng = np.random.default_rng(seed)
    start = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, N), unit="D"))
    gone = rng.random(N) < 0.2
    grade = rng.integers(0, 6, N)
    a, b, c = (np.round(rng.exponential(50, N), 2) for _ in range(3))
    return pd.DataFrame(
        {
            "a": a,
            "b": b,
            "c": c,
            "sum of 2": np.round(a + b, 2),
            "sum_of_3": np.round(a + b + c, 2),
            "asked": (asked := rng.integers(1, 400, N) * 100),
            "granted": np.where(rng.random(N) < 0.8, asked, asked // 200 * 100),
            "start": start,
            "end": (start + pd.to_timedelta(rng.geometric(0.2, N) - 1, unit="D")).mask(gone),
            "score": pd.Series(rng.integers(0, 500, N)).astype("Int64").mask(gone),
            "grade": np.array(["A1", "A2", "B1", "B2", "it's", "C"])[grade],
            "class": np.array(["A", "A", "B", "B", "?", "C"])[grade],
            "asked again": asked,
        }
    )


EXPECTED = Rules(
    derive={
        "asked again": '"asked"',
        "sum of 2": '"a" + "b"',
        "sum_of_3": '"a" + "b" + "c"',
        "class": (
            "CASE \"grade\" WHEN 'A1' THEN 'A' WHEN 'A2' THEN 'A' WHEN 'B1' THEN 'B' WHEN 'B2' THEN 'B' "
            "WHEN 'C' THEN 'C' WHEN 'it''s' THEN '?' END"
        ),
    },
    order=[["granted", "asked"], ["start", "end"]],
    together=[["end", "score"]],
    provenance="observed",
)


@pytest.mark.thorough
def test_sums_copies_followers_orders_and_joint_gaps_are_found():
    _, _, rules = draft_with_rules(read(table()))

    assert rules == EXPECTED


@pytest.mark.thorough
def test_one_row_that_breaks_a_rule_takes_it_away():
    frame = table()
    frame.loc[3, "sum of 2"] += 0.01
    frame.loc[3, "class"] = "C"
    frame.loc[3, "asked again"] += 100
    frame.loc[5, "asked again"] -= 100
    frame.loc[3, "granted"] = frame.loc[3, "asked"] + 1
    frame.loc[4, ["start", "end"]] = pd.to_datetime(["2020-05-02", "2020-05-01"])
    frame.loc[frame["end"].isna().idxmax(), "score"] = 3

    _, _, rules = draft_with_rules(read(frame))

    assert rules == Rules(derive={"sum_of_3": EXPECTED.derive["sum_of_3"]}, provenance="observed")


def test_small_tables_and_single_columns_have_none():
    for frame in [pd.DataFrame({"x": range(5)}), table().iloc[:10], table()[["a"]]]:
        assert draft_with_rules(read(frame))[2] is None


def test_infinite_numbers_are_missing_as_they_are_at_a_fit():
    rng = np.random.default_rng(0)
    x, y = rng.exponential(50, (2, 200))
    x[:40] = y[:40] = np.nan
    assert draft_with_rules(read(pd.DataFrame({"x": x, "y": y})))[2].together == (("x", "y"),)
    y[40:60] = np.inf

    assert draft_with_rules(read(pd.DataFrame({"x": x, "y": y})))[2] is None


@pytest.mark.thorough
def test_a_note_names_columns_and_no_value():
    schema, notes = draft_schema(table())

    (note,) = [n for n in notes if "every row satisfies rules" in n]
    assert "'class' follows from others" in note
    assert "'granted' <= 'asked'" in note
    assert "'end', 'score' are missing together" in note
    assert "A1" not in note
    assert schema.rules is None


class TestCommand:
    @pytest.mark.thorough
    def test_they_are_comments_of_the_draft(self, tmp_path, capsys):
        table().to_parquet(tmp_path / "t.parquet")

        assert main(["schema", str(tmp_path / "t.parquet"), "-o", str(tmp_path / "s.yaml")]) == 0

        text = (tmp_path / "s.yaml").read_text()
        drafted = Schema.from_yaml(tmp_path / "s.yaml")
        assert drafted.rules is None
        head, _, rules = text.partition("# rules:")
        lines = [line.removeprefix("# ") for line in ("# rules:" + rules).splitlines()]
        (tmp_path / "with.yaml").write_text(head + "\n".join(lines) + "\n")
        assert Schema.from_yaml(tmp_path / "with.yaml").rules == EXPECTED
        capsys.readouterr()

        assert main(["schema", str(tmp_path / "t.parquet")]) == 0
        assert "# rules:" in capsys.readouterr().out
        assert main(["schema", str(tmp_path / "t.parquet"), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["rules"] == EXPECTED.to_json()

    @pytest.mark.thorough
    def test_taken_over_they_are_observed_until_somebody_says_that_they_are_public(self):
        columns = {"a": st.Numeric(0, 9, integer=True), "b": st.Numeric(0, 9, integer=True)}
        observed = Schema(columns, rules=Rules(derive={"b": "a"}, provenance="observed"))
        frame = pd.DataFrame({"a": [1, 2, 3] * 50, "b": [1, 2, 3] * 50})

        with pytest.raises(ObservedDomainError, match="the rules are marked as observed"):
            st.MST(epsilon=1.0).fit(frame, observed)
        release = st.MST(epsilon=1.0, allow_observed=True).fit(frame, observed)

        assert not release.privacy.is_private
        assert "not end-to-end private: rules were read off the sensitive table" in release.privacy.text()
        assert "READ OFF THE SENSITIVE TABLE, not protected, at no cost (1): b = a." in " ".join(
            release.privacy.text().split()
        )
        assert type(release.privacy).from_json(release.privacy.to_json()) == release.privacy
        with pytest.raises(SchemaError, match="provenance must be one of public, observed"):
            Rules(provenance="private")


def test_a_total_of_many_parts_and_a_fee_is_found_and_columns_of_one_value_are_left_alone():
    rng = np.random.default_rng(0)
    parts = {f"part {i}": np.round(rng.exponential(20, N) * (rng.random(N) < 0.7), 2) for i in range(6)}
    days = pd.Timestamp("2023-03-01") + pd.to_timedelta(rng.integers(0, 31, N), unit="D")
    frame = pd.DataFrame({"day": days, **parts, "fee": 1.0, "noise": rng.integers(0, 500, N) / 4})
    frame["total"] = (frame[[*parts]].sum(axis=1) + 3.5).round(2)

    _, _, rules = draft_with_rules(read(frame))

    assert rules.derive == {"total": " + ".join(f'"{name}"' for name in parts) + " + 3.5"}
    frame.loc[N - 1, "total"] += 0.01
    assert draft_with_rules(read(frame))[2] is None


@pytest.mark.thorough
def test_numbers_that_cannot_be_squared_are_no_parts_and_hide_no_total() -> None:
    for size in [1e-200, 1e200]:
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({name: np.round(rng.exponential(20, N), 2) for name in "abcde"})
        frame["odd"] = rng.choice([0.0, size], N)
        frame["total"] = (frame[[*"abcde"]].sum(axis=1) + 2).round(2)

        assert draft_with_rules(read(frame))[2].derive == {"total": '"a" + "b" + "c" + "d" + "e" + 2'}


def test_counts_of_one_another_are_in_order_though_mostly_zero_and_each_column_is_a_distance_once() -> None:
    rng = np.random.default_rng(0)
    at_bats = rng.integers(0, 500, 2_000) * (rng.random(2_000) < 0.7)
    hits = rng.binomial(at_bats, 0.3)
    frame = {"hits": hits, "homers": rng.binomial(hits, 0.2), "at_bats": at_bats}
    frame |= {"strikeouts": rng.binomial(at_bats, 0.2), "games": rng.integers(200, 700, 2_000)}

    rules = draft_with_rules(read(pd.DataFrame(frame)))[2]

    assert rules is not None
    # That homers are no more than at bats follows; games are larger by chance too.
    assert rules.order == (("hits", "at_bats"), ("homers", "hits"))
    assert rules.require == ('"strikeouts" <= "at_bats"',)


def test_clock_times_in_an_order_are_proposed_as_a_condition() -> None:
    rng = np.random.default_rng(0)
    begin = rng.integers(420, 660, 300)
    end = begin + rng.integers(60, 500, 300)
    frame = {n: [f"{m // 60:02d}:{m % 60:02d}" for m in v] for n, v in (("begin", begin), ("end", end))}

    _, _, rules = draft_with_rules(read(pd.DataFrame(frame)))

    assert rules is not None
    assert (rules.order, rules.require) == ((), ('"begin" <= "end"',))


def test_a_start_and_an_end_that_a_proposed_order_joins_are_not_told() -> None:
    rng = np.random.default_rng(0)
    start = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 500_000, 300), unit="min")
    end = (start + pd.to_timedelta(rng.integers(1, 6, 300), unit="D")).normalize()
    _, notes, rules = draft_with_rules(
        read(pd.DataFrame({"ordered": start, "delivered": [d.date() for d in end]}))
    )

    assert rules is not None
    assert rules.order == (("ordered", "delivered"),)
    assert not any("a start and an end by their names" in note for note in notes)


def test_a_sum_of_few_values_is_told_as_such_and_not_as_a_list_of_cases() -> None:
    rng = np.random.default_rng(0)
    part, other = rng.geometric(0.7, 2_000) - 1, rng.geometric(0.6, 2_000) - 1
    frame = pd.DataFrame(
        {"part": part, "other": other, "both": part + other, "rest": rng.integers(0, 99, 2_000)}
    )

    rules = draft_with_rules(read(frame))[2]

    assert rules is not None
    assert rules.derive == {"both": '"part" + "other"'}


def test_a_line_of_few_whole_numbers_is_told_without_its_values() -> None:
    grade = np.random.default_rng(0).integers(1, 7, N)
    for expression, values in (('2 * "grade" - 1', 2 * grade - 1), ('-1 * "grade" + 7', 7 - grade)):
        rules = draft_with_rules(read(pd.DataFrame({"grade": grade, "points": values})))[2]

        assert rules is not None
        assert rules.derive == {"points": expression}


def test_columns_that_are_nearly_constant_follow_from_none_and_are_no_copies() -> None:
    rng = np.random.default_rng(0)
    late, purpose = np.zeros(3_000, dtype=int), rng.choice([*"abcdefgh"], 3_000)
    late[[5, 70, 900, 2_000]] = 1
    owed = pd.Series(np.zeros(3_000)).mask(rng.random(3_000) < 0.02)
    owed[[5, 70]] = 27.0, 6_053.0
    purpose[[5, 70, 900, 2_000]] = [*"abcd"]
    frame = pd.DataFrame({"late": pd.Series(late).mask(owed.isna()), "purpose": purpose})
    frame["again"] = frame["late"]
    frame["owed"] = owed

    rules = draft_with_rules(read(frame))[2]

    assert rules is not None
    assert rules.derive == {}
    assert rules.together == (("late", "again", "owed"),)
