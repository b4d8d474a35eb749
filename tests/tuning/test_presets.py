from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest

import syntabula as st
from syntabula.errors import ArgumentError
from syntabula.record_models.evolution import Evolution
from syntabula.synthesizers.tabpe import TabPE
from syntabula.tuning.presets import SYNMETER, space_for
from syntabula.tuning.space import check_space, declared_space, with_values


def test_every_space_of_a_preset_has_options_of_its_method_with_allowed_values():
    """The least and the largest value of each range, and each choice, are accepted by the method."""
    for key in SYNMETER:
        method = st.synthesizer(key)(epsilon=math.inf)
        space = space_for(method, "synmeter")

        check_space(method, space)
        for name, tried in space.items():
            for value in tried.ends:
                with_values(method, {name: value}, 1000)


def test_the_usual_space_is_the_declared_one():
    assert space_for(st.RAPPlusPlus(), "usual") == declared_space(st.RAPPlusPlus())


def test_the_space_of_rap_plus_plus_has_what_its_papers_set():
    method = st.RAPPlusPlus()
    space = space_for(method, "usual")

    check_space(method, space)
    assert {
        "rounds_per_column", "chosen_per_round", "n_thresholds", "threshold_rounds", "n_rows", "iterations",
        "learning_rate",
    } <= {*space}  # fmt: skip
    for name, tried in space.items():
        for value in tried.ends:
            with_values(method, {name: value}, 1000)


def test_a_preset_without_the_method_says_which_it_has():
    with pytest.raises(ArgumentError, match=r"'synmeter' has no options of 'aim'.*tabddpm"):
        space_for(st.AIM(), "synmeter")
    with pytest.raises(ArgumentError, match=r"'synmeter' has no options of 'one_way\+gum'"):
        space_for(st.Marginal(selector="one_way", model="gum"), "synmeter")
    with pytest.raises(ArgumentError, match="did you mean 'synmeter'"):
        space_for(st.MST(), "synmetre")


def test_a_method_that_declares_nothing_needs_a_space():
    @dataclass(frozen=True, kw_only=True)
    class Silent(Evolution):
        rounds: int = 40
        columns: int | None = 4

    @dataclass(frozen=True, kw_only=True)
    class Mine(TabPE):
        evolution: Evolution = field(default_factory=Silent)

    with pytest.raises(ArgumentError, match="declare no values to search; give a space"):
        space_for(Mine(), "usual")
