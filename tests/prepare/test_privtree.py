"""Fine bins: values that are frequent come back as they were, without privacy alone."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.prepare.privtree import FineBins
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import SeededNoise
from syntabula.record_models.loop import Training

SCHEMA = st.Schema({"pay": st.Numeric(0.0, 100.0), "age": st.Numeric(0, 5000, integer=True)})
FINE = st.Preprocessing(discretizer="fine")


def table(n: int = 3_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    pay = np.where(rng.random(n) < 0.3, rng.choice([0.0, 12.5, 100.0], n), rng.uniform(0, 100, n))
    return pd.DataFrame({"pay": pay, "age": rng.choice([3, 70, 4_999], n)})


class TestWithoutPrivacy:
    def test_frequent_values_come_back_as_they_were(self) -> None:
        made = st.Independent(epsilon=math.inf, preprocessing=FINE).fit(table(), SCHEMA).sample(seed=0)

        assert set(made["age"]) == {3, 70, 4_999}
        for value in (0.0, 12.5, 100.0):
            # 300 of 3,000 records; the false alarm of 6 standard deviations of 16 is below 1e-8.
            assert abs(int((made["pay"] == value).sum()) - 300) < 100

    def test_columns_have_up_to_a_thousand_codes_unless_a_number_is_given(self) -> None:
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"pay": rng.uniform(0, 100, 20_000), "age": 3})
        method = st.Independent(epsilon=math.inf, preprocessing=FINE)

        sizes = [
            m.fit(frame, SCHEMA).codec.domain.size("pay")
            for m in (method, st.Independent(epsilon=math.inf, preprocessing=FINE, bins=40))
        ]

        assert 200 < sizes[0] <= 1_000
        assert sizes[1] <= 40

    @pytest.mark.parametrize("name", ["independent", "mst", "argn"])
    def test_values_end_where_records_do_whatever_the_bounds(self, name: str) -> None:
        rng = np.random.default_rng(0)
        # Two places on a map, in bounds that hold the whole earth.
        frame = pd.DataFrame({"east": rng.choice([-120.0, -70.0], 2_000) + rng.normal(size=2_000)})
        frame["north"] = -frame["east"] / 3 + rng.normal(size=2_000)
        schema = st.Schema({c: st.Numeric(-1_000.0, 1_000.0) for c in frame})
        options = {"training": Training(steps=20)} if name == "argn" else {}

        made = st.synthesizer(name)(epsilon=math.inf, seed=0, **options).fit(frame, schema).sample()

        for column in frame:
            assert made[column].between(frame[column].min(), frame[column].max()).all()
        assert not made["east"].between(-110, -80).any()

    def test_the_ledger_says_that_it_was_exact(self) -> None:
        release = st.Independent(epsilon=math.inf, preprocessing=FINE).fit(table(), SCHEMA)

        assert "cuts between values" in str(release.privacy.to_json())


class TestWithABudget:
    def test_bins_are_those_of_privtree(self) -> None:
        releases = [
            st.Independent(epsilon=1.0, seed=3, preprocessing=st.Preprocessing(discretizer=d)).fit(
                table(), SCHEMA
            )
            for d in ("fine", "privtree")
        ]

        assert releases[0].codec == releases[1].codec

    def test_exact_cuts_are_refused(self) -> None:
        budget = Budget(epsilon=1.0, delta=1e-6)
        column = ColumnCurator(np.arange(9.0), Ledger(budget), SeededNoise(0))

        with pytest.raises(st.errors.BudgetError, match="exact answers need"):
            column.fine_cuts(100, step="cut")

    def test_its_key_is_listed(self) -> None:
        assert FineBins().key == "fine"
        assert isinstance(FINE.fitted, FineBins)
