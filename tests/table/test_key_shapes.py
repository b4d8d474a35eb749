"""The shape of a text is a pattern of keys that depends on that text alone."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from syntabula.table.key_shapes import LONGEST, shape_of
from syntabula.table.schema.key_patterns import UUID, KeyPattern


def test_characters_become_classes() -> None:
    for text, shape, with_letters in [
        ("7590-VHVEG", r"\d{4}-[A-Z]{5}", r"\d{4}-VHVEG"),
        ("INV-2024-00017", r"[A-Z]{3}-\d{4}-\d{5}", r"INV-\d{4}-\d{5}"),
        ("C00017", r"[A-Z]\d{5}", r"C\d{5}"),
        ("id_12", r"[a-z]{2}_\d{2}", r"id_\d{2}"),
        ("6edc8c4e9848", "[0-9a-f]{12}", "[0-9a-f]{12}"),
        ("6EDC8C4E9848", "[0-9A-F]{12}", "[0-9A-F]{12}"),
        ("6ed", "[a-z0-9]{3}", "[a-z0-9]{3}"),
        ("1A2B", "[A-Z0-9]{4}", "[A-Z0-9]{4}"),
        ("aB", "[A-Za-z]{2}", "[A-Za-z]{2}"),
        ("aB3", "[A-Za-z0-9]{3}", "[A-Za-z0-9]{3}"),
        ("(1.5)", r"\(\d\.\d\)", r"\(\d\.\d\)"),
        ("ü1", r"ü\d", r"ü\d"),
        ("0f8fad5b-d9cb-469f-a165-70867728950e", UUID, UUID),
    ]:
        assert shape_of(text, keeps_letters=False) == shape
        assert shape_of(text, keeps_letters=True) == with_letters


def test_empty_and_long_texts_have_none() -> None:
    assert shape_of("", keeps_letters=True) is None
    assert shape_of("a" * LONGEST, keeps_letters=True) is not None
    assert shape_of("a" * (LONGEST + 1), keeps_letters=True) is None


@given(st.text(max_size=12), st.booleans())
def test_every_shape_is_a_pattern_that_makes_texts_of_this_shape(text: str, keeps_letters: bool) -> None:
    shape = shape_of(text, keeps_letters=keeps_letters)
    if shape is None:
        return

    pattern = KeyPattern.of(shape)

    assert len(pattern.places) == len(text)
    assert all(character in place for character, place in zip(text, pattern.places, strict=True))
    assert re.fullmatch(shape, text, re.DOTALL)
