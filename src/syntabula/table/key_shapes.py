"""The shape of a single text, as a pattern of keys; it depends on no other text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from syntabula.table.schema.key_patterns import UUID, character_itself, shortened_pattern

LONGEST = 64
"""Texts of more characters have no shape: hardly any keys are longer."""

MOST_SHAPES = 12
"""Keys of more shapes are rather random characters, which one wider class describes better."""

_LEAST_SHARE = 0.002
"""Part of the keys below which a shape is left out beside others."""

_LEAST_HEX = 8
"""Digits and the letters a to f are hexadecimal from this many on."""

_UUID = re.compile(UUID)
_RUNS = re.compile(r"[A-Z]+|[a-z]+|[0-9]+")
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


def shape_of(text: str, *, keeps_letters: bool, divides: bool = False) -> str | None:
    """Return the pattern of a text's characters, such as `\\d{4}-[A-Z]{5}`; None for an empty or a long one.

    Digits are any digits. A run of letters of one case, which digits may follow, is any such letters, or stands for
    itself. Of a mixed run each place has the narrowest class that holds all of its characters. Other characters stand for
    themselves.

    Args:
        text: A cell.
        keeps_letters: Whether letters of one case stand for themselves, so that INV-0012 has the shape `INV-\\d{4}`.
        divides: Whether a mixed run is divided into its letters and digits, so that N102UW has the shape
            `[A-Z]\\d{3}[A-Z]{2}`, unless it looks hexadecimal.
    """
    if not 0 < len(text) <= LONGEST:
        return None
    if _UUID.fullmatch(text):
        return UUID
    parts: list[str] = []
    for piece in _PIECES.findall(text):
        plain = _LETTERS_THEN_DIGITS.fullmatch(piece)
        if plain:
            for run in plain.groups():
                parts += _run(run, keeps_letters=keeps_letters)
        elif piece.isascii() and piece.isalnum():
            of_all = _class_of(piece)
            if divides and not _MIXED[of_all]:
                for run in _RUNS.findall(piece):
                    parts += _run(run, keeps_letters=keeps_letters)
            else:
                parts += [of_all] * len(piece)
        else:
            parts.append(character_itself(piece))
    return shortened_pattern(parts)


def _run(run: str, *, keeps_letters: bool) -> list[str]:
    """Return the parts of a run of letters of one case, or of digits."""
    if run.isdigit():
        return [r"\d"] * len(run)
    return [*run] if keeps_letters else ["[A-Z]" if run.isupper() else "[a-z]"] * len(run)


def joined_patterns(counts: Mapping[str, float]) -> tuple[str, tuple[float, ...] | None] | None:
    """Return patterns as one, the most frequent first, and the part of the rows that has each, unless it is a single one.

    Args:
        counts: Number of rows of each, exact or noisy.

    Returns:
        The patterns that have no key of a more frequent one, and their parts; None if one has too few keys for its part.
    """
    from syntabula.table.schema.key_mixtures import KeyMixture, overlap
    from syntabula.table.schema.key_patterns import KeyPattern

    least = _LEAST_SHARE * sum(counts.values())
    kept: dict[str, KeyPattern] = {}
    for pattern in sorted(counts, key=lambda p: (-counts[p], p)):
        read = KeyPattern.of(pattern)
        if counts[pattern] >= least and not any(overlap(read, other) for other in kept.values()):
            kept[pattern] = read
    if len(kept) == 1:
        return next(iter(kept)), None
    whole = sum(counts[p] for p in kept)
    shares = tuple(round(counts[p] / whole, 3) for p in kept)
    return ("|".join(kept), shares) if kept and KeyMixture.of([*kept], shares).n_keys else None


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
