"""TabDDPM from end to end, beside `contracts/test_record_methods.py`: rows keep what columns tell of each other."""

from __future__ import annotations

import numpy as np
import pytest
from record_cases import SCHEMA, method, private, release, require_library, table

from syntabula.record_models.noisy_loop import NoisyTraining
from syntabula.record_models.tabular_diffusion import TabularDiffusion

KIND = "tabular_diffusion"


@pytest.mark.thorough
def test_rows_keep_dependences_of_numbers_and_labels() -> None:
    made = release(KIND).sample(2_000, seed=0)

    assert np.corrcoef(made["size"], made["double"])[0, 1] > 0.9
    assert (
        made["size"][made["kind"] == "large"].mean() > 11 > 9 > made["size"][made["kind"] == "small"].mean()
    )
    assert abs(made["size"].mean() - table()["size"].mean()) < 0.5
    assert made["size"].std() == pytest.approx(table()["size"].std(), rel=0.2)


@pytest.mark.thorough
def test_rows_are_tried_until_enough_have_a_condition() -> None:
    above = release(KIND).sample(100, where={"size": (12.0, 13.0), "kind": "large"}, seed=0)

    assert above["size"].between(12, 13).all()


def test_options_are_changed_by_name() -> None:
    assert method(KIND).with_options(levels=7).model.levels == 7


@pytest.mark.thorough
def test_rows_of_a_private_release_have_the_marginals_and_keep_a_dependence() -> None:
    require_library(KIND)
    noisy, model = NoisyTraining(steps=100, rate=0.1), TabularDiffusion(units=32, steps_back=8, draws=4)

    made = (
        private(KIND, epsilon=10.0, noisy=noisy, model=model).fit(table(2_000), SCHEMA).sample(3_000, seed=0)
    )

    real = table(2_000)
    # 3,000 rows, and 2,000 records: a share is off by 0.07 with probability below 1e-6.
    assert abs((made["kind"] == "large").mean() - (real["kind"] == "large").mean()) < 0.07
    assert abs(made["size"].mean() - real["size"].mean()) < 0.6
    assert np.corrcoef(made["size"], made["double"])[0, 1] > 0.4
