from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import pytest

import syntabula as st
from syntabula._spaces import Choice, Range, declared_of, tunable, tunable_part
from syntabula.errors import ArgumentError
from syntabula.models.gum import GUM
from syntabula.record_models.adversarial import _CRITIC_UNITS, _NOISY_CRITIC_UNITS
from syntabula.record_models.autoregressive import Autoregressive
from syntabula.record_models.tabular_diffusion import _NOISY_UNITS, _UNITS
from syntabula.record_models.variational import _EMPHASIS, _NOISY_EMPHASIS
from syntabula.select.fixed_marginals import OneWay
from syntabula.select.spanning_tree import SpanningTree
from syntabula.synthesizers.settings import method_options, parts_of
from syntabula.tuning.space import (
    check_space,
    declared_space,
    plain_space,
    space_of,
    with_values,
)

PAIRS = [(info.key, "pgm") for info in st.list_selectors()] + [
    ("one_way", info.key) for info in st.list_models()
]
OURS = [st.synthesizer(info.key)(epsilon=math.inf) for info in st.list_synthesizers()]
# The space of a marginal method is those of its selector and its model, which are in one of the pairs.
METHODS = [m for m in OURS if not isinstance(m, st.Marginal) or isinstance(m, st.Auto | st.AIM)] + [
    st.Marginal(selector=selector, model=model) for selector, model in PAIRS
]
# What options that follow from the budget are where none is given: without one, and with one.
NONE_IS = {
    ("tvae", "emphasis"): (_EMPHASIS, _NOISY_EMPHASIS),
    ("tabddpm", "units"): (_UNITS, _NOISY_UNITS),
    ("ctgan", "critic_units"): (_CRITIC_UNITS, _NOISY_CRITIC_UNITS),
}
NOISY = [st.ARGN, st.CTGAN, st.TVAE, st.TabDDPM, st.TableDiffusion, st.Synthpop]


@dataclass(frozen=True, kw_only=True)
class Forest(SpanningTree):
    """A selector whose method tries other values."""

    speed: float = tunable(1.0, Range(low=0.5, high=2.0))


@dataclass(frozen=True, kw_only=True)
class Mine(st.Marginal):
    selector: Forest = tunable_part(Forest, records_per_noise=Choice((2.0, 5.0)), speed=None)
    model: GUM = field(default_factory=GUM)


class TestDeclaredSpace:
    def test_has_bins_and_what_the_parts_declare(self):
        assert declared_space(st.MST()) == {
            "bins": Range(low=10, high=200, log=True),
            "discretizer": Choice(("privtree", "uniform", "quantile")),
            "records_per_noise": Range(low=1.0, high=16.0, log=True),
        }

    def test_every_method_declares_options_that_it_has_and_values_that_it_accepts(self):
        for method in METHODS:
            space = declared_space(method)

            assert space
            check_space(method, space)
            for name, tried in space.items():
                for value in tried.ends:
                    with_values(method, {name: value}, 1000)

    def test_every_range_holds_the_default_of_the_method(self):
        """A method that gives a part other defaults must say what is tried instead."""
        for method in METHODS:
            given = {n: getattr(part, n) for part in parts_of(method).values() for n in declared_of(part)}
            for name, tried in declared_space(method).items():
                default = given.get(name)
                if isinstance(tried, Range) and isinstance(default, int | float | Fraction):
                    assert tried.low <= default <= tried.high, (method.name, name)

    def test_every_default_with_a_budget_or_without_lies_in_the_space_of_the_method(self):
        """What a fit takes where nothing is given: of several parts with an option, that which the budget makes act."""
        for info in st.list_synthesizers():
            for epsilon in (math.inf, 1.0):
                kind = st.synthesizer(info.key)
                if kind.why_not_private and epsilon < math.inf:
                    continue
                method = kind(epsilon=epsilon)
                idle = "noisy" if math.isinf(epsilon) else "training"
                parts = {**method_options(method)}
                if "noisy" in parts:
                    parts.pop(idle)
                taken = {name: value for options in parts.values() for name, value in options.items()}
                for name, tried in declared_space(method).items():
                    if name in taken and name != "discretizer":
                        default = taken[name]
                        if default is None:
                            default = NONE_IS[info.key, name][epsilon < math.inf]
                        assert min(tried.ends) <= default <= max(tried.ends), (info.key, epsilon, name)
                        if name in method.tried_with_budget and epsilon < math.inf:
                            assert min(tried.ends) < default < max(tried.ends), (info.key, name)

    def test_nothing_is_tried_that_has_no_effect_with_or_without_a_budget(self):
        with_budget = {m.key: {*declared_space(m)} for m in (kind(epsilon=1.0) for kind in NOISY)}
        without = {m.key: {*declared_space(m)} for m in (kind(epsilon=math.inf) for kind in NOISY)}

        assert {key: without[key] - with_budget[key] for key in without} == {
            **{key: {"batch"} for key in without},
            "ctgan": {"batch", "units", "layers"},
            "synthpop": {"least_leaf", "complexity"},
        }
        assert {
            key: with_budget[key] - without[key] for key in without if with_budget[key] - without[key]
        } == {
            "synthpop": {"levels", "crowd"},
        }

    def test_a_part_without_an_option_is_not_given_it_with_a_budget(self):
        other = st.TVAE(epsilon=1.0, model=Autoregressive())

        assert "emphasis" not in declared_space(other)
        check_space(other, declared_space(other))

    def test_a_class_has_the_space_of_its_default_parts(self):
        for info in st.list_synthesizers():
            kind = st.synthesizer(info.key)
            assert [*declared_space(kind).items()] == [*declared_space(kind(epsilon=math.inf)).items()]

    def test_a_method_tries_other_values_of_its_part_or_none(self):
        space = declared_space(Mine())

        assert [*space] == ["bins", "discretizer", "passes", "records_per_noise"]
        assert space["records_per_noise"] == Choice((2.0, 5.0))

    def test_what_a_method_declares_of_its_part_does_not_hold_for_another(self):
        assert [*declared_space(Mine(selector=OneWay()))] == ["bins", "discretizer", "passes"]

    def test_how_a_method_trains_comes_first(self):
        """The order decides what a seed tries."""
        assert [*declared_space(st.ARGN)] == ["learning_rate", "batch", "units", "layers", "dropout"]
        assert [*declared_space(st.Circuit)] == ["smoothing", "learning_rate"]
        assert [*declared_space(st.AIM)][2:] == ["rounds_per_column", "measure_share", "max_model_mb"]


class TestSpaceOf:
    def test_reads_plain_values_as_yaml_has_them(self):
        found = space_of({"units": {"low": 16, "high": 64, "log": True}, "batch": [64, 128]})

        assert found == {"units": Range(low=16, high=64, log=True), "batch": Choice((64, 128))}

    def test_reads_what_plain_space_returns(self):
        for method in METHODS:
            assert space_of(plain_space(declared_space(method))) == declared_space(method)

    def test_names_the_option_that_is_wrong(self):
        for document, what in [
            ({}, "mapping"),
            ([1], "mapping"),
            ({1: [2]}, "names"),
            ({"units": 3}, "'units'"),
            ({"units": {"low": 3}}, "'units'.*needs high"),
            ({"units": {"low": 3, "high": 4, "step": 1}}, "'units'.*step"),
        ]:
            with pytest.raises(ArgumentError, match=what):
                space_of(document)


class TestCheckSpace:
    def test_suggests_a_similar_option(self):
        with pytest.raises(ArgumentError, match="did you mean 'rounds_per_column'"):
            check_space(st.AIM(), {"rounds_per_colum": Range(low=1, high=2)})

    def test_epochs_are_for_methods_that_train_in_steps(self):
        check_space(st.TVAE(epsilon=math.inf), {"epochs": Range(low=1, high=2)})
        with pytest.raises(ArgumentError, match="epochs"):
            check_space(st.AIM(), {"epochs": Range(low=1, high=2)})
        with pytest.raises(ArgumentError, match="keep one"):
            check_space(st.TVAE(epsilon=math.inf), {n: Range(low=1, high=2) for n in ("epochs", "steps")})


class TestWithValues:
    def test_sets_options_of_parts_bins_and_preprocessing(self):
        found = with_values(st.AIM(), {"bins": 30, "discretizer": "uniform", "max_model_mb": 5.0}, 100)

        assert (found.bins, found.preprocessing.discretizer, found.selector.max_model_mb) == (
            30,
            "uniform",
            5.0,
        )

    def test_epochs_become_steps_of_the_batch_that_is_tried(self):
        found = with_values(st.TVAE(epsilon=math.inf), {"epochs": 10, "batch": 50}, 1001)

        assert (found.training.steps, found.training.batch) == (201, 50)
