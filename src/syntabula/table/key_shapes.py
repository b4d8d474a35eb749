"""The shape of a single text, as a pattern of keys; it depends on no other text."""

from __future__ import annotations

import re
from functools import cache

from syntabula.table.schema.key_patterns import UUID, character_itself, shortened_pattern

LONGEST = 64
"""Texts of more characters have no shape: hardly any keys are longer."""

_LEAST_HEX = 8
"""Digits and the letters a to f are hexadecimal from this many on."""

_UUID = re.compile(UUID)
_PIECES = re.compile(r"[A-Za-z0-9]+|[^A-Za-z0-9]", re.DOTALL)
_LETTERS_THEN_DIGITS = re.compile(r"([A-Z]*|[a-z]*)([0-9]*)")
_MIXED = {
    "[0-9a-f]": True,
    "[0-9A-F]": True,
    "[A-Z0-9]": False,
    "[a-z0-9]": False,
    "[A-Za-z]": False,
    "[A-Za-z0-9]": False,
}
"""Classes of other runs, the narrowest first, and whether they need a longer run."""


def shape_of(text: str, *, keeps_letters: bool) -> str | None:
    """Return the pattern of a text's characters, such as `\\d{4}-[A-Z]{5}`; None for an empty or a long one.

    Digits are any digits. A run of letters of one case, which digits may follow, is any such letters, or stands for
    itself. Of a mixed run each place has the narrowest class that holds all of its characters. Other characters stand for
    themselves.

    Args:
        text: A cell.
        keeps_letters: Whether letters of one case stand for themselves, so that INV-0012 has the shape `INV-\\d{4}`.
    """
    if not 0 < len(text) <= LONGEST:
        return None
    if _UUID.fullmatch(text):
        return UUID
    parts: list[str] = []
    for piece in _PIECES.findall(text):
        plain = _LETTERS_THEN_DIGITS.fullmatch(piece)
        if plain:
            letters, digits = plain.groups()
            of_letters = "[A-Z]" if letters.isupper() else "[a-z]"
            parts += [*letters] if keeps_letters else [of_letters] * len(letters)
            parts += [r"\d"] * len(digits)
        elif piece.isascii() and piece.isalnum():
            parts += [_class_of(piece)] * len(piece)
        else:
            parts.append(character_itself(piece))
    return shortened_pattern(parts)


def _class_of(run: str) -> str:
    fits = (
        c
        for c, is_hex in _MIXED.items()
        if _matcher(c).fullmatch(run) and (not is_hex or len(run) >= _LEAST_HEX)
    )
    return next(fits)


@cache
def _matcher(characters: str) -> re.Pattern[str]:
    return re.compile(f"{characters}+")
