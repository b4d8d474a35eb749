from __future__ import annotations

import math

import pytest

import syntabula as st
from syntabula.errors import ArgumentError
from syntabula.tuning.presets import PRESETS, space_for
from syntabula.tuning.space import Choice, Range, check_space, space_of, with_values


class TestRange:
    @pytest.mark.parametrize(
        ("given", "what"),
        [
            ({"low": 2, "high": 1}, "swap"),
            ({"low": 0, "high": 1, "log": True}, "above 0"),
            ({"low": math.nan, "high": 1}, "low of a range"),
            ({"low": 0, "high": math.inf}, "high of a range"),
            ({"low": "5", "high": 9}, "low of a range"),
            ({"low": True, "high": 9}, "low of a range"),
            ({"low": 1, "high": 9, "log": 1}, "log of a range"),
        ],
    )
    def test_refuses_what_is_no_range(self, given, what):
        with pytest.raises(ArgumentError, match=what):
            Range(**given)

    def test_is_of_whole_numbers_if_both_bounds_are(self):
        assert Range(low=1, high=9).integer
        assert not Range(low=1, high=9.5).integer


class TestChoice:
    @pytest.mark.parametrize("values", [(), (1, 1), ([1],), ("a", "b", "a")])
    def test_refuses_none_and_values_listed_twice(self, values):
        with pytest.raises(ArgumentError, match="choice"):
            Choice(values)


class TestSpaceOf:
    def test_reads_plain_values_as_yaml_has_them(self):
        found = space_of({"units": {"low": 16, "high": 64, "log": True}, "batch": [64, 128]})

        assert found == {"units": Range(low=16, high=64, log=True), "batch": Choice((64, 128))}

    @pytest.mark.parametrize(
        ("document", "what"),
        [
            ({}, "mapping"),
            ([1], "mapping"),
            ({1: [2]}, "names"),
            ({"units": 3}, "'units'"),
            ({"units": {"low": 3}}, "'units'.*needs high"),
            ({"units": {"low": 3, "high": 4, "step": 1}}, "'units'.*step"),
        ],
    )
    def test_names_the_option_that_is_wrong(self, document, what):
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


@pytest.mark.parametrize(("preset", "key"), [(p, k) for p, spaces in PRESETS.items() for k in spaces])
def test_every_space_of_a_preset_has_options_of_its_method_with_allowed_values(preset, key):
    """The least and the largest value of each range, and each choice, are accepted by the method."""
    method = st.synthesizer(key)(epsilon=math.inf)
    space = space_for(key, preset)

    check_space(method, space)
    for name, tried in space.items():
        values = (tried.low, tried.high) if isinstance(tried, Range) else tried.values
        for value in values:
            with_values(method, {name: value}, 1000)


def test_a_preset_without_the_method_says_which_it_has():
    with pytest.raises(ArgumentError, match=r"'synmeter' has no options of 'aim'.*tabddpm"):
        space_for("aim", "synmeter")
    with pytest.raises(ArgumentError, match="did you mean 'synmeter'"):
        space_for("mst", "synmetre")
