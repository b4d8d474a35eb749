"""Fits of tables in which persons have several rows: what is used, what is said, and what comes out."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import DataError, PrivacyWarning, ResumeError

SCHEMA = st.Schema(
    {
        "person": st.Identifier(integer=True),
        "age": st.Numeric(0, 99, integer=True),
        "job": st.Categorical(("cook", "judge")),
    },
    unit="person",
    rows_per_unit=3,
)
METHOD = st.Independent(epsilon=1.0, seed=1)


def people(n_rows: int = 3000) -> pd.DataFrame:
    """Draw a table in which persons have 1 to 10 rows."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(n_rows), rng.integers(1, 11, n_rows))[:n_rows] + 5_000_000
    job = rng.choice(["cook", "judge"], n_rows, p=[0.7, 0.3])
    frame = pd.DataFrame({"person": person, "age": rng.integers(0, 100, n_rows), "job": job})
    return frame.sample(frac=1, random_state=1, ignore_index=True)


class TestRows:
    def test_no_synthetic_person_has_more_rows_than_were_used(self):
        release = METHOD.fit(people(), SCHEMA)
        rows = release.sample(2000, seed=1)["person"].value_counts()

        assert rows.max() == 3
        # Persons with fewer rows than are kept are 2 in 10 of all; noise on their counts is about 40.
        assert 0.5 < (rows == 3).mean() < 1

    def test_the_noisy_number_of_rows_is_that_of_the_rows_used(self):
        frame = people()
        used = frame["person"].value_counts().clip(upper=3).sum()

        # Noise of standard deviation 12 on each of two counts; six of them are exceeded with probability below 1e-8.
        assert METHOD.fit(frame, SCHEMA).n_estimated == pytest.approx(used, abs=150)

    def test_no_key_is_released(self, tmp_path):
        release = METHOD.fit(people(), SCHEMA)
        release.save(tmp_path / "r.syn")
        made = st.load(tmp_path / "r.syn").sample(3000, seed=1)

        assert not set(made["person"]) & set(people()["person"])
        assert made.equals(release.sample(3000, seed=1))

    def test_pieces_and_conditions_have_keys_of_the_same_kind(self):
        release = METHOD.fit(people(), SCHEMA)
        cooks = release.sample(600, where={"job": "cook"}, seed=1)

        assert set(cooks["job"]) == {"cook"}
        assert cooks["person"].value_counts().max() == 3

    def test_without_privacy_shares_are_exact(self):
        frame = people()
        release = st.Independent(epsilon=float("inf")).fit(frame, SCHEMA)
        real = frame["person"].value_counts().clip(upper=3).value_counts(normalize=True)
        made = release.sample(20_000, seed=1)["person"].value_counts().value_counts(normalize=True)

        assert made.sort_index().to_numpy() == pytest.approx(real.sort_index().to_numpy(), abs=1e-3)

    def test_one_row_per_person_costs_no_count_of_persons(self):
        release = METHOD.fit(people(), replace(SCHEMA, rows_per_unit=1))

        assert not [line for line in release.privacy.lines if "units" in line.step]
        assert release.sample(100, seed=1)["person"].is_unique

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_files_are_read_alike(self, kind, tmp_path):
        frame = people(400)
        path = tmp_path / f"t.{kind}"
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path, index=False)
        columns = [*SCHEMA]

        of_file = METHOD.fit(path, SCHEMA).sample(50, seed=1)[columns]

        assert (
            of_file.to_numpy().tolist()
            == METHOD.fit(frame, SCHEMA).sample(50, seed=1)[columns].to_numpy().tolist()
        )


class TestSaid:
    def test_the_statement_names_the_unit(self):
        text = METHOD.fit(people(), SCHEMA).privacy.text()

        assert "Unit: all rows with one 'person', at most 3." in text
        assert "for adding or removing all rows with one 'person'" in text
        assert "Keys are made anew" in text

    def test_without_a_unit_it_says_what_several_records_of_a_person_have(self):
        schema = replace(SCHEMA, unit=None, rows_per_unit=None)
        text = " ".join(METHOD.fit(people(), schema).privacy.text().split())

        assert (
            "with 2 of them by epsilon 2.16; with 5 of them by epsilon 6.17; with 10 of them by epsilon 14.5"
            in text
        )

    def test_a_plan_shows_what_rows_cost(self):
        plan = METHOD.plan(SCHEMA)

        noise = plan.noise_by_rows
        assert [*noise] == [1, 2, 3, 5, 10]
        assert noise[10] == pytest.approx(10 * noise[1], rel=0.01)
        assert "rows_per_unit" in str(plan)
        assert plan.to_json()["rows_per_unit"] == 3

    def test_a_plan_of_records_says_nothing_of_units(self):
        plan = METHOD.plan(replace(SCHEMA, unit=None, rows_per_unit=None))

        assert plan.noise_by_rows == {}
        assert "unit" not in plan.to_json()

    @pytest.mark.thorough
    def test_an_undeclared_key_brings_a_warning_that_a_declaration_ends(self):
        frame = people().rename(columns={"person": "patient_id"})
        with pytest.warns(PrivacyWarning, match="unit: patient_id"):
            METHOD.fit(frame)
        with warnings.catch_warnings():
            warnings.simplefilter("error", PrivacyWarning)
            METHOD.fit(frame, st.Schema({"patient_id": st.Identifier()}, others="find"))


class TestRefused:
    def test_rows_without_a_key(self):
        for gap in [None, "", "  "]:
            frame = people(50).astype({"person": object})
            frame.loc[7, "person"] = gap

            with pytest.raises(
                DataError, match="column 'person' names the unit, but has cells that are empty"
            ):
                METHOD.fit(frame, SCHEMA)

    def test_a_journal_of_another_unit(self, tmp_path):
        journal = tmp_path / "j"
        st.Independent(epsilon=1.0, journal=journal).fit(people(), SCHEMA)

        resumed = st.Independent(epsilon=1.0, journal=journal, resume=True)
        with pytest.raises(
            ResumeError, match="its unit is person, at most 3 rows, but here it is person, at most 4"
        ):
            resumed.fit(people(), replace(SCHEMA, rows_per_unit=4))


class TestResumed:
    @pytest.mark.thorough
    def test_a_run_that_ended_early_is_resumed_with_the_same_rows(self, tmp_path):
        frame, whole = people(), tmp_path / "whole"
        first = st.MST(epsilon=1.0, seed=3, journal=whole).fit(frame, SCHEMA)
        lines = whole.read_text().splitlines(keepends=True)

        for kept in (2, 5, len(lines) - 1):
            part = tmp_path / f"part{kept}"
            part.write_text("".join(lines[:kept]))
            again = st.MST(epsilon=1.0, seed=3, journal=part, resume=True).fit(frame, SCHEMA)

            assert again.sample(100, seed=1).equals(first.sample(100, seed=1))
            assert part.read_text() == whole.read_text()


class TestRules:
    @pytest.mark.thorough
    def test_persons_have_several_rows_where_rules_discard_some(self):
        rules = st.Rules(require=["not (job = 'judge' and age < 30)"])
        frame = people()
        frame.loc[frame["age"] < 30, "job"] = "cook"
        release = METHOD.fit(frame, replace(SCHEMA, rules=rules))
        rows = release.sample(1500, seed=1)

        assert not ((rows["job"] == "judge") & (rows["age"] < 30)).any()
        assert rows["person"].value_counts().max() == 3
