"""Options of a method's parts, given by name."""

from __future__ import annotations

from typing import Any

import pytest

import syntabula as st
from syntabula.errors import ArgumentError
from syntabula.synthesizers.settings import method_options, option_notes


def test_the_options_of_selector_and_model_are_listed_with_their_defaults() -> None:
    options = method_options(st.AIM)

    assert options["selector"]["max_model_mb"] == 80.0
    assert options["selector"]["max_rounds"] is None
    assert options["model"]["stop_at_noise"] is True
    assert not any(name.startswith("_") for part in options.values() for name in part)


def test_every_option_is_explained() -> None:
    for info in st.list_synthesizers():
        kind = st.synthesizer(info.key)

        options, notes = method_options(kind), option_notes(kind)

        assert set(notes) == {name for named in options.values() for name in named}, info.key
        assert all(note.endswith(".") and "  " not in note for note in notes.values()), info.key


def test_an_option_of_two_parts_is_explained_for_each() -> None:
    notes = option_notes("argn")

    assert notes["steps"].startswith("training: At most so many batches; None for 30 passes")
    assert " noisy: Exactly so many; None for 300 times the square root of epsilon" in notes["steps"]
    assert "training:" not in notes["batch"]
    assert option_notes("argn", part="noisy")["steps"].startswith("Exactly so many")
    with pytest.raises(ArgumentError, match="part must be one of 'model', 'training', 'noisy', or None"):
        option_notes("argn", part="noise")


def test_changed_options_make_parts_for_the_method() -> None:
    method = st.AIM(epsilon=2.0).with_options(max_rounds=3, iterations=50)

    assert method.epsilon == 2.0
    assert method.selector.max_rounds == 3
    assert method.model.iterations == 50
    assert method.selector.max_model_mb == 80.0


def test_a_part_without_a_changed_option_stays_the_same_object() -> None:
    method = st.AIM()

    assert method.with_options(max_rounds=3).model is method.model
    assert method.with_options() is method


def test_options_of_a_method_are_those_that_it_has() -> None:
    assert method_options(st.AIM().with_options(max_rounds=3))["selector"]["max_rounds"] == 3


def test_options_of_a_method_are_found_by_its_key() -> None:
    assert method_options("aim") == method_options(st.AIM)
    assert option_notes("AIM") == option_notes(st.AIM)


@pytest.mark.parametrize("of", [method_options, option_notes])
class TestNoMethod:
    def test_a_name_that_is_none_gets_the_nearest(self, of: Any) -> None:
        with pytest.raises(ArgumentError, match="there is no method 'privsin'; did you mean 'privsyn'"):
            of("privsin")

    def test_anything_else_is_refused(self, of: Any) -> None:
        for value in [5, None, st.Schema, ["aim"], st.Boolean()]:
            with pytest.raises(
                ArgumentError, match=r"method must be a method, the class of one, or its key; got"
            ):
                of(value)


def test_an_unknown_option_gets_a_hint() -> None:
    with pytest.raises(ArgumentError, match="'max_round'; did you mean 'max_rounds'"):
        st.AIM().with_options(max_round=3)


def test_a_senseless_value_is_refused() -> None:
    for value in ["many", 0, 2.5]:
        with pytest.raises(ArgumentError, match="max_rounds"):
            st.AIM().with_options(max_rounds=value)


def test_an_option_of_the_wrong_type_is_named() -> None:
    with pytest.raises(ArgumentError, match="measure_share must be a fraction"):
        st.AIM().with_options(measure_share="half")
