"""How much of what columns tell of each other a trained model's rows have, and who is warned."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest

import syntabula as st
from syntabula.errors import TrainingWarning
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.fourier import FourierFeatures, draw_features
from syntabula.record_models.dependence_kept import (
    dependence_kept,
    features_kept,
    warn_if_nothing_learned,
)
from syntabula.record_models.loop import Training
from syntabula.record_models.population import EvolvedRows

N = 4_000
DOMAIN = Domain(("a", "b", "c"), (3, 12, 2), frozenset({"b"}))


def table(*, seed: int = 0, dependent: float = 1.0) -> EncodedTable:
    """Return rows of which a part have a second column that follows the first."""
    rng = np.random.default_rng(seed)
    a, b, c = (rng.integers(0, size, N).astype(np.uint64) for size in DOMAIN.sizes)
    b = np.where(rng.random(N) < dependent, 4 * a + b % 4, b)
    return EncodedTable(DOMAIN, (a, b.astype(np.uint64), c))


def counts(of: EncodedTable) -> dict[str, np.ndarray]:
    return {c: np.bincount(of.column(c), minlength=DOMAIN.size(c)).astype(float) for c in DOMAIN.columns}


def model(of: EncodedTable) -> EvolvedRows:
    return EvolvedRows.of(of, N)


class TestPart:
    # The part that independent rows have by chance has a standard deviation of about .01 here, of rows like the
    # table's of .02: at ten and five of them, false alarms are below 1e-6.
    def test_is_all_of_rows_like_the_tables_and_none_of_independent_columns(self) -> None:
        real = table()

        assert dependence_kept(model(table(seed=1)), real, counts(real)) == pytest.approx(1, abs=0.1)
        assert dependence_kept(model(table(seed=1, dependent=0)), real, counts(real)) == pytest.approx(
            0, abs=0.1
        )

    def test_is_between_where_some_rows_have_it(self) -> None:
        real = table()

        kept = dependence_kept(model(table(seed=1, dependent=0.7)), real, counts(real))

        assert 0.3 < kept < 0.7

    def test_is_all_where_the_table_shows_none(self) -> None:
        real = table(dependent=0)

        assert dependence_kept(model(table(seed=1, dependent=0)), real, counts(real)) == 1

    def test_of_a_single_column_or_record_is_all(self) -> None:
        one = EncodedTable(Domain(("a",), (2,)), (np.array([0, 1], np.uint64),))
        single = EncodedTable(DOMAIN, tuple(np.zeros(1, np.uint64) for _ in DOMAIN))

        assert dependence_kept(EvolvedRows.of(one, 2), one, {"a": np.ones(2)}) == 1
        assert dependence_kept(EvolvedRows.of(single, 1), single, counts(single)) == 1

    def test_of_what_cannot_be_drawn_is_none(self) -> None:
        class Stuck(EvolvedRows):
            kind = "stuck"

            def sample(self, n, rng, given=None):  # type: ignore[no-untyped-def]
                raise ValueError("probabilities contain NaN")

        real = table()

        assert dependence_kept(Stuck.of(real, N), real, counts(real)) == 0


class TestWarning:
    def test_names_the_rate_and_is_left_out_of_a_trial_of_few_steps(self) -> None:
        real, apart = table(), model(table(seed=1, dependent=0))

        with pytest.warns(TrainingWarning, match=r"lower learning_rate, which is 0\.2"):
            warn_if_nothing_learned(apart, real, counts(real), 0.2, None)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warn_if_nothing_learned(apart, real, counts(real), 0.2, 100)
            warn_if_nothing_learned(model(table(seed=1)), real, counts(real), 0.2, None)

    @pytest.mark.parametrize(
        ("training", "longer"),
        [
            (Training(seconds=1e-6), "raise seconds, or take"),
            (Training(seconds=1e-6, steps=900), "raise steps and seconds, or take"),
        ],
    )
    def test_names_the_seconds_that_ended_a_training(self, training: Training, longer: str) -> None:
        real = table()
        frame = pd.DataFrame({c: real.column(c).astype(str) for c in DOMAIN.columns})

        with pytest.warns(TrainingWarning, match=longer):
            st.ARGN(epsilon=math.inf, seed=0, training=training).fit(frame)

    @pytest.mark.thorough
    def test_tells_of_a_training_that_stopped_at_its_marginals(self) -> None:
        real = table()
        frame = pd.DataFrame({c: real.column(c).astype(str) for c in DOMAIN.columns})

        with pytest.warns(TrainingWarning, match="next to nothing of what columns tell of each other"):
            st.ARGN(epsilon=math.inf, seed=0, training=Training(learning_rate=1.0)).fit(frame)


def features_of(real: EncodedTable) -> tuple[FourierFeatures, np.ndarray]:
    """Return waves over pairs of columns, and their sums over some rows."""
    features = draw_features(DOMAIN, counts(real), most=150, columns=2, rng=np.random.default_rng(0))
    waves = [
        np.exp(1j * sum(a[real.column(c)] for c, a in zip(clique, angles, strict=True))).sum(0)
        for clique, angles in features.blocks()
    ]
    return features, np.stack([np.real(waves), np.imag(waves)], axis=-1).ravel()


class TestPartOfMeanFeatures:
    # The part has a standard deviation of .006 of rows like the table's, and of .02 of others, whose mean is .01 where
    # columns are independent: at five of them and more, false alarms are below 1e-6.
    def test_is_all_of_rows_like_the_tables_and_none_of_independent_columns(self) -> None:
        real = table()
        features, sums = features_of(real)
        kept = [
            features_kept(model(table(seed=1, dependent=part)), features, sums, counts(real))
            for part in (1.0, 0.5, 0.0)
        ]

        assert kept[0] == pytest.approx(1, abs=0.1)
        assert 0.3 < kept[1] < 0.7
        assert kept[2] == pytest.approx(0.01, abs=0.1)

    def test_is_all_where_the_table_shows_none(self) -> None:
        real = table(dependent=0)
        features, sums = features_of(real)

        assert features_kept(model(table(seed=1, dependent=0)), features, sums, counts(real)) == 1

    def test_of_a_generator_that_stayed_where_it_began_is_warned_of(self) -> None:
        real = table()
        frame = pd.DataFrame({c: real.column(c).astype(str) for c in DOMAIN.columns})
        small = {"features": 150, "rows": 64, "units": 16}
        method = st.DPMERF(epsilon=math.inf, seed=0)

        with pytest.warns(TrainingWarning, match="next to nothing of what columns tell of each other"):
            method.with_options(**small, steps=100, learning_rate=1e-6).fit(frame)
        with warnings.catch_warnings():
            warnings.simplefilter("error", TrainingWarning)
            method.with_options(**small, steps=200, learning_rate=1e-2).fit(frame)
            method.with_options(**small, steps=20, learning_rate=1e-6).fit(frame)

    def test_names_the_options_of_trees_which_have_no_rate(self) -> None:
        real = table()
        frame = pd.DataFrame({c: real.column(c).astype(str) for c in DOMAIN.columns})

        with pytest.warns(
            TrainingWarning, match=r"\): lower least_leaf, least_split or complexity, or take another"
        ):
            st.Synthpop(epsilon=math.inf, seed=0).with_options(least_leaf=10**6).fit(frame)
