"""The battery for plug-ins: our own parts pass it, and it finds what breaks a promise."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

import syntabula as st
from syntabula import testing
from syntabula._arguments import count, normalise
from syntabula._register import entries, load, register
from syntabula._spaces import Range, tunable
from syntabula.bins.uniform import Bins, UniformBins
from syntabula.metrics import KolmogorovSmirnov, TotalVariation
from syntabula.metrics.score import Score
from syntabula.models.pgm import PGM
from syntabula.prepare.preprocessing import FittedDiscretizer
from syntabula.prepare.quantile import QuantileBins
from syntabula.select.fixed_marginals import OneWay

NEED_TORCH = ("neural", "relaxed_projection")
SMALL = {
    "neural": {"n_rows": 32, "units": 4, "iterations": 5},
    "relaxed_projection": {"n_rows": 32, "iterations": 20},
    "autoregressive": {"units": 8, "embedding": 2, "waves": 2},
    "circuit": {"states": 4},
    "variational": {"units": 8, "hidden": 4},
    "adversarial": {"units": 8, "critic_units": 8, "hidden": 4},
    "tabular_diffusion": {"units": 8, "levels": 20, "steps_back": 3},
}


class TestOurOwn:
    @pytest.mark.parametrize(
        "key", ["one_way", "spanning_tree", pytest.param("adaptive", marks=pytest.mark.thorough)]
    )
    def test_selectors_pass(self, key: str) -> None:
        testing.check_selector(load("selector", key)())

    @pytest.mark.parametrize("key", [e.key for e in entries("model") if e.key != "bayesian_network"])
    def test_models_pass(self, key: str) -> None:
        if key in NEED_TORCH:
            pytest.importorskip("torch")
        testing.check_model(load("model", key)(**SMALL.get(key, {})))

    @pytest.mark.thorough
    @pytest.mark.parametrize(
        "key", ["autoregressive", "circuit", "variational", "adversarial", "tabular_diffusion"]
    )
    def test_models_of_records_pass(self, key: str) -> None:
        pytest.importorskip("torch")
        testing.check_record_model(load("record_model", key)(**SMALL[key]))

    @pytest.mark.parametrize("key", [e.key for e in entries("discretizer")])
    def test_discretizers_pass(self, key: str) -> None:
        testing.check_discretizer(load("discretizer", key)())

    @pytest.mark.parametrize("metric", [TotalVariation(way=2), KolmogorovSmirnov()], ids=lambda m: m.key)
    def test_metrics_pass(self, metric: object) -> None:
        testing.check_metric(metric)

    @pytest.mark.parametrize("key", [e.key for e in entries("attack")])
    def test_attacks_pass(self, key: str) -> None:
        testing.check_attack(load("attack", key)())

    @pytest.mark.thorough
    def test_methods_pass(self) -> None:
        testing.check_synthesizer(st.MST)


@dataclass(frozen=True, kw_only=True)
class Peeking(OneWay):
    """Measures other marginals where the records say so."""

    key: ClassVar[str] = "peeking"

    def select(self, curator, model, *, share=Fraction(1), progress=None):
        (exact,) = curator._engine.counts([("a",)])
        first = ("a",) if exact[0] % 2 else ("b",)
        return model.over(curator.domain).fit(curator.measure([first], share=share, step="peek"))


@dataclass(frozen=True, kw_only=True)
class Greedy(OneWay):
    """Spends twice its share."""

    key: ClassVar[str] = "greedy"

    def select(self, curator, model, *, share=Fraction(1), progress=None):
        return super().select(curator, model, share=min(2 * share, Fraction(1)), progress=progress)


@dataclass(frozen=True, kw_only=True, eq=False)
class Unregistered(PGM):
    """Calls itself what another class is."""


@dataclass(frozen=True, kw_only=True)
class Thankless(OneWay):
    """Measures, and forgets to return the fitted model."""

    key: ClassVar[str] = "thankless"

    def select(self, curator, model, *, share=Fraction(1), progress=None):
        super().select(curator, model, share=share, progress=progress)


@register("model", "forgetful-pgm")
@dataclass(frozen=True, kw_only=True, eq=False)
class Forgetful(PGM):
    """Draws rows of which given columns do not come out as given."""

    kind: ClassVar[str] = "forgetful-pgm"

    def sample(self, n, rng, given=None):
        return super().sample(n, rng)


@dataclass(frozen=True)
class PeekingBins(FittedDiscretizer):
    """Cuts at the median of the records themselves."""

    key: str = "peeking"
    needs_count: bool = False

    def fit(self, column, lower, upper, *, count, n_estimated, share, step):
        points = column._sorted().values
        cut = float(np.median(points)) if len(points) else lower
        if not column.integer and lower < cut < upper:
            return Bins((float(lower), cut, float(upper)))
        return UniformBins(count).bins(lower, upper, integer=column.integer)


@dataclass(frozen=True)
class WrongWay:
    """A distance that says that higher is better."""

    inner: TotalVariation = field(default_factory=TotalVariation)
    key: str = "wrong-way"

    def __call__(self, tables, rng) -> Score:
        return replace(self.inner(tables, rng), direction="higher")


@dataclass(frozen=True, kw_only=True)
class Credulous(OneWay):
    """Takes anything for its number."""

    key: ClassVar[str] = "credulous"

    rounds: int = 3


@dataclass(frozen=True, kw_only=True)
class TooFar(OneWay):
    """Declares that a search tries what it refuses."""

    key: ClassVar[str] = "too-far"

    rounds: int = tunable(3, Range(low=0, high=9))

    def __post_init__(self):
        normalise(self, rounds=count(1))


@register("model", "leaky-pgm")
@dataclass(frozen=True, kw_only=True, eq=False)
class Leaky(PGM):
    """Has a field of its state among its options."""

    kind: ClassVar[str] = "leaky-pgm"

    fits: int = 0

    def __post_init__(self):
        super().__post_init__()
        normalise(self, fits=count(0))

    def fit(self, measurements):
        return replace(super().fit(measurements), fits=self.fits + 1)


class TwoMinds(WrongWay):
    """Says one direction beforehand, and another in its scores."""

    direction: ClassVar[str] = "lower"


@dataclass(frozen=True, kw_only=True)
class Counting:
    """Returns as many features as the table has rows."""

    key: ClassVar[str] = "counting"
    learns: ClassVar[bool] = True

    def features(self, synthetic, knowledge):
        return np.zeros(synthetic.n_rows)


class Doubtful(Counting):
    """Is larger for a table without the target."""

    learns: ClassVar[bool] = False

    def features(self, synthetic, knowledge):
        return np.array([-float(synthetic.n_rows)])


class Averaging(Counting):
    """Forgets that cells may be missing."""

    def features(self, synthetic, knowledge):
        return np.array([synthetic.numbers["income"].mean()])


class TestWhatIsFound:
    def test_a_broken_promise_is_named(self) -> None:
        cases = [
            (lambda: testing.check_selector(Peeking()), "depends on the records"),
            (lambda: testing.check_selector(Greedy()), "the selector spent more than its share"),
            (lambda: testing.check_selector(Thankless()), "select returns no model"),
            (lambda: testing.check_model(Unregistered()), "the class is not registered"),
            (lambda: testing.check_model(Forgetful()), "a given column is not returned as given"),
            (lambda: testing.check_discretizer(PeekingBins()), "depends on the records"),
            (lambda: testing.check_attack(Counting()), "number of features depends on the synthetic table"),
            (lambda: testing.check_attack(Doubtful()), "larger without the target"),
            (lambda: testing.check_attack(Averaging()), "a feature is not a finite number"),
            (lambda: testing.check_attack(Counting), r"pass an object, such as Counting\(\)"),
            (lambda: testing.check_metric(WrongWay()), "the direction may be the wrong way round"),
            (lambda: testing.check_metric(TwoMinds()), "the class says 'lower' is better"),
            (lambda: testing.check_selector(Credulous()), "accepts text for the number `rounds`"),
            (
                lambda: testing.check_selector(TooFar()),
                "a search tries rounds=0, and refuses it: rounds must",
            ),
            (lambda: testing.check_model(Leaky()), "a fit changes `fits`, which commands offer as an option"),
            (lambda: testing.check_selector(OneWay), r"pass an object, such as OneWay\(\)"),
            (lambda: testing.check_model(PGM), r"pass an object, such as PGM\(\)"),
            (lambda: testing.check_metric(TotalVariation), r"pass an object, such as TotalVariation\(\)"),
            (lambda: testing.check_discretizer(QuantileBins), r"pass an object, such as QuantileBins\(\)"),
        ]
        for check, message in cases:
            with pytest.raises(AssertionError, match=message):
                check()

    def test_a_discretizer_that_asks_for_nothing_passes(self) -> None:
        testing.check_discretizer(QuantileBins())
