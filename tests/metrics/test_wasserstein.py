from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wasserstein_distance

from syntabula.errors import ArgumentError
from syntabula.metrics import compare
from syntabula.metrics.wasserstein import Wasserstein


def draw(n: int, seed: int, lean: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = np.round(rng.normal(40 + lean, 12, size=n), 1)
    return pd.DataFrame(
        {
            "age": age,
            "pay": np.round(age * 7 + rng.normal(size=n), 2),
            "sex": rng.choice(["f", "m"], size=n, p=[0.5 + lean / 50, 0.5 - lean / 50]),
            "job": np.where(age > 50, "old", rng.choice(["a", "b"], size=n)),
        }
    )


def as_synmeter_defines(real: pd.DataFrame, synthetic: pd.DataFrame) -> float:
    """Mean of five type means with full cost matrices, written out by the definition."""
    import ot  # loads torch, which collecting tests need not wait for

    both = pd.concat([real, synthetic])
    scaled = [
        {c: ((f[c] - both[c].min()) / (both[c].max() - both[c].min())).to_numpy() for c in ("age", "pay")}
        for f in (real, synthetic)
    ]
    texts = [{c: f[c].to_numpy(dtype=str) for c in ("sex", "job")} for f in (real, synthetic)]

    def numeric(c: str) -> np.ndarray:
        return np.abs(scaled[0][c][:, None] - scaled[1][c][None, :])

    def differ(c: str) -> np.ndarray:
        return (texts[0][c][:, None] != texts[1][c][None, :]).astype(float)

    def half_l1(columns: list[str]) -> float:
        shares = [f.groupby(columns).size() / len(f) for f in (real, synthetic)]
        return float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)

    means = [
        np.mean([half_l1([c]) for c in ("sex", "job")]),
        np.mean([wasserstein_distance(scaled[0][c], scaled[1][c]) for c in ("age", "pay")]),
        half_l1(["sex", "job"]),
        np.mean(
            [
                ot.emd2([], [], differ(c) + numeric(n))
                for c, n in itertools.product(("sex", "job"), ("age", "pay"))
            ]
        ),
        ot.emd2([], [], numeric("age") + numeric("pay")),
    ]
    return float(np.mean(means))


class TestWasserstein:
    def test_is_the_mean_of_five_type_means(self):
        real, synthetic = draw(200, 1), draw(200, 2, lean=3)

        score = Wasserstein()(compare(real, synthetic), np.random.default_rng(0))

        assert score.value == pytest.approx(as_synmeter_defines(real, synthetic), abs=1e-9)
        assert len(score.details) == 4 + 6

    def test_types_that_a_table_lacks_are_left_out(self):
        real, synthetic = draw(100, 1)[["sex", "job"]], draw(100, 2)[["sex", "job"]]

        score = Wasserstein()(compare(real, synthetic), np.random.default_rng(0))

        kinds = [name for name in score.facts if name.startswith("mean of")]
        assert kinds == ["mean of categorical", "mean of categorical-categorical"]
        assert score.value == pytest.approx(np.mean([score.facts[kind] for kind in kinds]))

    def test_only_transports_are_sampled(self):
        tables = compare(draw(500, 1), draw(400, 2))

        whole, small = (Wasserstein(max_rows=n)(tables, np.random.default_rng(0)) for n in (500, 100))

        assert small.facts["rows of the synthetic table in transports"] == 100
        assert small.facts["transported pairs"] == 6 - 1
        for part in (("age",), ("sex",), ("sex", "job")):
            assert small.details[part] == whole.details[part]
        assert small.details["age", "pay"] != whole.details["age", "pay"]

    def test_some_pairs_estimate_the_score_of_all_with_a_stated_error(self):
        # Six numbers, 15 pairs. One draw is off by more than 6 standard errors with a chance far below 1e-6 if
        # the means of 8 of 15 values were normal; the seed is fixed besides.
        rng = np.random.default_rng(3)
        real, synthetic = (
            pd.DataFrame(rng.normal(size=(80, 6)) ** power, columns=[*"abcdef"]) for power in (1, 3)
        )
        tables = compare(real, synthetic)

        whole, some = (Wasserstein(max_pairs=n)(tables, np.random.default_rng(0)) for n in (15, 8))

        error = some.facts["standard error of the choice of pairs"]
        assert whole.facts["standard error of the choice of pairs"] == 0.0
        assert len(whole.details) - len(some.details) == 7
        assert error > 0
        assert abs(some.value - whole.value) < 6 * error
        assert some.details.items() <= whole.details.items()

    def test_tables_of_many_columns_are_sampled_more(self):
        frame = pd.DataFrame({f"c{i}": [0.5, 1.5] for i in range(41)})
        metric = Wasserstein()

        assert metric._rows(compare(frame, frame)) == 1000
        assert metric._rows(compare(frame[["c0"]], frame[["c0"]])) == 2000

    def test_a_copy_costs_nothing_even_in_a_sample(self):
        frame = draw(500, 1)

        score = Wasserstein(max_rows=50)(compare(frame, frame.copy()), np.random.default_rng(0))

        assert score.value == 0.0

    def test_every_solver_sees_which_table_is_nearer(self):
        for solver in ["exact", "sinkhorn", "sliced"]:
            real, metric = draw(150, 1), Wasserstein(solver=solver)

            near, far = (
                metric(compare(real, draw(150, 2, lean=lean)), np.random.default_rng(0)).value
                for lean in (0, 15)
            )

            assert near < far

    def test_options_out_of_range_are_refused(self):
        for options in [
            {"max_rows": 0},
            {"max_pairs": 1},
            {"solver": "magic"},
            {"regularisation": 0.0},
            {"directions": 0},
        ]:
            with pytest.raises(ArgumentError):
                Wasserstein(**options)
