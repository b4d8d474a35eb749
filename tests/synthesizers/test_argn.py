"""ARGN from end to end, beside `contracts/test_record_methods.py`: rows keep what columns tell of each other."""

from __future__ import annotations

import numpy as np
import pytest
from record_cases import SCHEMA, method, private, release, require_library, table

import syntabula as st
from syntabula.errors import ArgumentError, BudgetError
from syntabula.record_models.noisy_loop import NoisyTraining

KIND = "autoregressive"


class TestRows:
    @pytest.mark.thorough
    def test_they_keep_dependences_of_numbers_and_labels(self) -> None:
        made = release(KIND).sample(3_000, seed=0)

        assert np.corrcoef(made["size"], made["double"])[0, 1] > 0.97
        assert (
            made["size"][made["kind"] == "large"].mean()
            > 11
            > 9
            > made["size"][made["kind"] == "small"].mean()
        )
        assert abs(made["size"].mean() - table()["size"].mean()) < 0.5

    @pytest.mark.thorough
    def test_numbers_have_fine_codes(self) -> None:
        assert min(release(KIND).codec.domain.sizes[:2]) > 200


class TestOptions:
    def test_they_are_changed_by_name(self) -> None:
        assert method(KIND).with_options(units=7).model.units == 7

    def test_no_steps_are_refused(self) -> None:
        with pytest.raises(ArgumentError, match="steps"):
            method(KIND).with_options(steps=0)

    def test_what_is_no_model_of_records_is_refused(self) -> None:
        with pytest.raises(ArgumentError, match="model must be a model that is trained on records"):
            method(KIND, model=3)


class TestBudget:
    def test_needs_a_model_that_can_be_trained_with_noise(self) -> None:
        class Plain:
            kind = "plain"
            trained = trained_with_noise = None

        del Plain.trained_with_noise
        with pytest.raises((BudgetError, ArgumentError)):
            private(KIND, model=Plain())

    @pytest.mark.thorough
    def test_rows_have_the_marginals_and_keep_a_dependence(self) -> None:
        require_library(KIND)
        noisy = NoisyTraining(steps=300, rate=0.1)

        made = private(KIND, epsilon=10.0, noisy=noisy).fit(table(), SCHEMA).sample(3_000, seed=0)

        real = table()
        # 3,000 rows of each: a share is off by 0.04 with probability below 1e-5.
        assert abs((made["kind"] == "large").mean() - (real["kind"] == "large").mean()) < 0.04
        assert abs(made["size"].mean() - real["size"].mean()) < 0.6
        assert np.corrcoef(made["size"], made["double"])[0, 1] > 0.5

    @pytest.mark.thorough
    def test_found_categories_leave_training_its_part_of_delta(self) -> None:
        require_library(KIND)
        frame = table()[["kind", "size"]]

        release = private(KIND, epsilon=10.0, preprocessing=st.Preprocessing()).fit(frame)

        assert set(release.provenance.values()) == {"private"}
        assert {*release.sample(200, seed=0)["kind"]} == {"large", "small"}
