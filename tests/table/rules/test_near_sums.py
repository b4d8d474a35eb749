"""Sums that hold but for rounding, or in nearly every row, are told in a draft, and hold in all rows once stated."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.cli.main import main
from syntabula.errors import CoercionWarning
from syntabula.table.draft import draft_schema, draft_with_sums
from syntabula.table.read import read
from syntabula.table.rules.near_sums import NearSum, _judged
from syntabula.table.schema.schema import Schema

N = 2_000


def loans(seed: int = 0) -> pd.DataFrame:
    """Return parts that are paid and their sum, which is rounded after it was added up, and a rest of whole numbers."""
    rng = np.random.default_rng(seed)
    amount = rng.integers(40, 1_600, N) * 25
    principal, interest = amount * rng.random(N) * 0.9, rng.exponential(400, N)
    fees = rng.exponential(15, N) * (rng.random(N) < 0.03)
    paid = principal + interest + fees
    frame = pd.DataFrame(
        {"amount": amount, "principal": principal, "interest": interest, "fees": fees, "paid": paid}
    )
    frame = frame.round(2)
    return frame.assign(
        rest=(frame["amount"] - frame["principal"]).round(2), other=rng.integers(0, 5_000, N) / 4
    )


def sums(frame: pd.DataFrame) -> list[NearSum]:
    return draft_with_sums(read(frame))[3]


def test_a_sum_of_rounded_parts_is_found_with_all_its_parts() -> None:
    frame = loans()
    apart = (frame["principal"] + frame["interest"] + frame["fees"] - frame["paid"]).abs()

    (found,) = sums(frame)

    assert found.name == "paid"
    assert found.expression == 'round("principal" + "interest" + "fees", 2)'
    assert (found.n_rows, found.n_off) == (N, 0)
    assert 0.005 < found.within < 0.02
    assert np.isclose(found.within, apart.max())


def test_rows_in_which_it_does_not_hold_are_counted_and_a_whole_total_is_not_computed() -> None:
    frame = loans()
    frame.loc[[3, 40, 500], "rest"] += 7_000

    found = {one.name: one for one in sums(frame)}

    assert found["rest"].expression == '"amount" - "principal"'
    assert (found["rest"].n_off, found["rest"].within) == (3, 0.0)
    assert {*found} == {"rest", "paid"}


def test_one_that_fails_in_more_rows_and_one_by_chance_are_not_told() -> None:
    frame = loans()
    frame.loc[frame.index % 12 == 0, "paid"] += 3
    assert sums(frame) == []

    # What is nearly always zero shows nothing.
    rng = np.random.default_rng(1)
    rare = np.where(np.arange(N) < 5, 12.5, 0.0)
    frame = pd.DataFrame({"rare": rare, "a": rng.permutation(N) / 4, "b": rng.permutation(N) / 4})
    assert sums(frame.assign(total=frame["a"] + np.where(np.arange(N) < 8, 3.25, 0.0))) == []


def test_what_is_off_by_more_than_rounding_explains_is_counted() -> None:
    rng = np.random.default_rng(2)
    x, y = (rng.integers(100, 90_000, N) / 100 for _ in range(2))
    # Rounding to a tenth takes .05, and half a cent of each part are .01.
    z = (x + y).round(1) + np.where(np.arange(N) % 50 == 0, 0.1, 0.0)

    (found,) = sums(pd.DataFrame({"x": x, "y": y, "z": z}))

    assert found.within < 0.061
    assert 0 < found.n_off <= N / 50


def test_a_part_needs_twenty_rows_and_must_belong_to_the_sum_in_them() -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(100, 90_000, N) / 100 for _ in range(2))
    units = np.full(4, 0.01)

    def judged(n_rows: int, n_wrong: int) -> object:
        part = np.where(np.arange(N) < n_rows, 12.5, 0.0)
        total = a + b + np.where(np.arange(N) < n_wrong, 0.0, part)
        return _judged(np.stack([a, b, part, total]), units, 3, (0, 1, 2))

    assert judged(10, 0) is None
    assert judged(30, 0) is not None
    assert judged(30, 6) is None


def test_a_stated_one_holds_in_every_row_of_a_release() -> None:
    frame = loans()
    schema, _, rules, (found,) = draft_with_sums(read(frame))
    assert rules is not None
    stated = st.Rules(derive={found.name: found.expression, **rules.derive}, provenance="observed")

    ruled = Schema(schema.columns, rules=stated)
    with pytest.warns(CoercionWarning, match="rules that some rows of the table break: paid"):
        release = st.MST(epsilon=1.0, allow_observed=True, seed=0).fit(frame, ruled)
    made = release.sample(N, seed=0)

    assert ((made["principal"] + made["interest"] + made["fees"]).round(2) - made["paid"]).abs().max() < 1e-6


def test_the_draft_tells_of_it_as_a_comment_and_the_note_shows_no_value(tmp_path, capsys) -> None:
    frame = loans()
    frame.loc[[3, 40, 500], "paid"] += 7_000
    frame.to_parquet(tmp_path / "t.parquet")

    assert main(["schema", str(tmp_path / "t.parquet"), "-o", str(tmp_path / "s.yaml")]) == 0

    text = (tmp_path / "s.yaml").read_text()
    assert "but not in 3 of 2,000 rows (0.15 %):\n#       paid: round(" in text
    assert Schema.from_yaml(tmp_path / "s.yaml").rules is None
    _, notes = draft_schema(frame)
    (note,) = [n for n in notes if "in nearly every row" in n]
    assert note.startswith("'paid' is a sum or difference of other columns")
    assert not any(digit in note for digit in "0123456789")
    capsys.readouterr()
    assert main(["schema", str(tmp_path / "t.parquet"), "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["sums"]
    assert (one["name"], one["n_off"], one["n_rows"]) == ("paid", 3, N)


def test_one_column_is_told_in_the_singular(tmp_path, capsys) -> None:
    pd.DataFrame({"a": range(30)}).to_csv(tmp_path / "t.csv", index=False)

    assert main(["schema", str(tmp_path / "t.csv"), "-o", str(tmp_path / "s.yaml")]) == 0

    assert "wrote a draft with 1 column to" in capsys.readouterr().err
