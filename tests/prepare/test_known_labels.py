"""Categories that everyone knows are added to those that were found, and others are not."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

import syntabula as st
from syntabula.prepare.known_labels import with_known_labels
from syntabula.prepare.private_domain import extract_column
from syntabula.privacy.budget import Budget
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.table.read import read

MONTHS = ("apr", "aug", "dec", "feb", "jan", "jul", "jun", "mar", "may", "nov", "oct", "sep")


def test_no_spelling_of_other_is_made_up_beside_that_of_the_table(tmp_path: Path) -> None:
    rare = [f"rare {i}" for i in range(200)]
    frame = pd.DataFrame({"x": ["Other"] * 600 + ["a"] * 700 + ["b"] * 500 + rare})

    # Seeded; noise hides one of three categories with a probability below 1e-6.
    release = st.Independent(epsilon=5.0, seed=0).fit(frame)

    assert release.schema["x"].other_label == "Other_"
    assert set(release.sample(500, seed=0)["x"]) == {"a", "b", "Other"}
    release.sample_to(tmp_path / "rows.csv", 500, seed=0)
    assert set(pd.read_csv(tmp_path / "rows.csv")["x"]) == {"a", "b", "Other"}
    assert set(release.sample(50, where={"x": "Other"}, seed=0)["x"]) == {"Other"}


class TestAdded:
    def test_three_months_bring_the_year_in_their_spelling(self):
        for spell in [str.lower, str.capitalize, str.upper]:
            found = with_known_labels([spell(m) for m in ("may", "jul", "aug")])

            assert found == tuple(sorted(map(spell, MONTHS)))

    def test_what_else_was_found_stays(self):
        assert set(with_known_labels(["jan", "feb", "mar", "never"])) == {*MONTHS, "never"}

    def test_three_days_bring_the_week(self):
        assert len(with_known_labels(["Monday", "Tuesday", "Sunday"])) == 7

    def test_what_a_type_ranks_has_its_order_and_decides_nothing_else(self):
        """What a type lists may have been read off the cells: a record may not decide which labels are added."""
        found = with_known_labels(["jan", "mar", "feb"], ["may", "mar", "feb", "jan", "none"])

        assert found[:4] == ("may", "mar", "feb", "jan")
        assert {*found} == {*MONTHS}

    def test_one_of_a_pair_brings_the_other(self):
        for found, added in [("no", "yes"), ("Yes", "No"), ("M", "F")]:
            assert set(with_known_labels([found])) == {found, added}

    def test_five_states_bring_the_union(self):
        assert len(with_known_labels(["CA", "NY", "TX", "FL", "IL"])) == 51

    def test_grades_are_counted_from_a_one(self):
        grades = with_known_labels(["A2", "B1", "B3", "C2", "C3"])

        assert grades == tuple(f"{letter}{digit}" for letter in "ABC" for digit in (1, 2, 3))

    def test_codes_are_counted_from_one(self):
        assert set(with_known_labels(["2", "5", "N"])) == {"1", "2", "3", "4", "5", "N"}

    def test_a_zero_that_was_found_is_the_first(self):
        assert with_known_labels(["0", "3"]) == ("0", "1", "2", "3")

    def test_codes_keep_their_width(self):
        assert with_known_labels(["03", "10", "07"]) == tuple(f"{i:02d}" for i in range(1, 11))


class TestLeft:
    def test_what_nobody_knows_is_not_added_to(self):
        for found in [
            (),
            ("no", "perhaps"),
            ("35", "87"),
            ("1", "a", "b"),
            ("03", "4", "005"),
            ("4", "-1"),
            ("1", "2"),
            ("CA", "NY", "TX", "FL"),
            ("CA", "DE", "FR", "IN", "IL", "US"),
            ("K8", "C3"),
            ("B2", "x", "y"),
            ("\u0664",),
        ]:
            assert with_known_labels(found) == tuple(sorted(found))


def test_a_column_whose_rare_months_noise_hides_has_them_all():
    values = np.repeat(["may", "jul", "aug", "dec"], [9_000, 8_000, 7_000, 3])
    raw = read(pd.DataFrame({"month": values})).columns["month"]
    budget = Budget(1.0, 1e-5).with_failure_delta(Fraction(1, 10**6))

    column = extract_column(
        "month",
        raw,
        share=Fraction(1, 2),
        delta=Fraction(1, 10**6),
        ledger=Ledger(budget),
        noise=SeededNoise(0),
    )

    assert isinstance(column, st.Categorical)
    assert column.categories == MONTHS
