from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from syntabula.errors import PrivacyWarning
from syntabula.metrics import compare
from syntabula.metrics.discriminator import DiscriminatorSimilarity
from syntabula.metrics.evaluate import evaluate
from syntabula.metrics.sharing import shares_out


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = np.where(rng.random(n) < 0.05, np.nan, rng.normal(40, 10, n))
    return pd.DataFrame({"age": age, "town": rng.choice([f"town {i}" for i in range(15)], n)})


def drawn(frame: pd.DataFrame, n: int, seed: int) -> pd.DataFrame:
    return frame.sample(n, replace=True, random_state=seed, ignore_index=True)


def shared_out(frame: pd.DataFrame, n: int, seed: int) -> pd.DataFrame:
    """Rows of which each column has the records' values in their shares, in an order of its own."""
    rng = np.random.default_rng(seed)
    places = np.arange(n) * len(frame) // n
    return pd.DataFrame({c: frame[c].sort_values().to_numpy()[rng.permutation(places)] for c in frame})


class TestSharesOut:
    @pytest.mark.parametrize("n", [400, 1000, 3000])
    @pytest.mark.parametrize("column", ["age", "town"])
    def test_rows_that_share_out_are_found_by_any_column(self, n: int, column: str) -> None:
        frame = people(1000, 1)[[column]]

        assert shares_out(compare(frame, shared_out(frame, n, 2)))

    @pytest.mark.parametrize("n", [400, 1000, 3000])
    def test_independent_draws_do_not(self, n: int) -> None:
        frame = people(1000, 1)

        # Each is wrong with a chance of one in a million at most.
        assert not shares_out(compare(frame, drawn(frame, n, 2)))
        assert not shares_out(compare(frame, people(n, 2)))

    def test_a_copy_does(self) -> None:
        frame = people(300, 1)

        assert shares_out(compare(frame, frame))

    def test_few_values_or_rows_are_not_judged(self) -> None:
        coins = pd.DataFrame({"c": ["a", "b"] * 200})

        assert not shares_out(compare(coins, coins))
        assert not shares_out(compare(people(40, 1), people(40, 1)))

    def test_missing_cells_alone_are_one_part(self) -> None:
        frame = people(300, 1).assign(age=np.nan)[["age"]]

        assert not shares_out(compare(frame, frame))

    def test_the_learned_records_count_beside_a_holdout(self) -> None:
        frame, unseen = people(1000, 1), people(1000, 2)
        tables = compare(frame, shared_out(frame, 1000, 3), holdout=unseen)

        assert shares_out(tables.against_holdout())
        assert not shares_out(compare(unseen, shared_out(frame, 1000, 3)))


class TestNote:
    def test_the_score_of_a_classifier_says_that_its_area_is_too_low(self) -> None:
        frame = people(400, 1)
        score = DiscriminatorSimilarity()

        shared, fresh = (
            score(compare(frame, other), np.random.default_rng(0))
            for other in (shared_out(frame, 400, 2), drawn(frame, 400, 2))
        )

        assert f"area under the curve ({shared.facts['area under the curve']:.2f}) is too low" in shared.note
        assert fresh.note == ""

    def test_the_text_of_an_evaluation_has_it(self) -> None:
        frame = people(400, 1)

        with pytest.warns(PrivacyWarning):
            found = evaluate(
                frame, shared_out(frame, 400, 2), metrics="discriminator-similarity", baselines=()
            )

        assert f"  Note: {found.score('discriminator-similarity').note}\n" in found.text()
