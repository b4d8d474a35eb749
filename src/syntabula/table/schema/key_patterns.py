"""Patterns of keys: a small part of regular expressions, and distinct keys drawn from them without any data.

A pattern is a row of characters, each with an optional count such as {4}: `\\d` for a digit, a class such as [A-Z],
[0-9a-f] or [89ab], or a character that stands for itself (with a backslash before it if it has a meaning here). Several
patterns may be joined by |; see `key_mixtures`.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import shown
from syntabula.errors import SchemaError

UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
"""The pattern of random UUIDs, which `uuid` stands for."""

MOST_CHARACTERS = 200
_MOST_PERMUTED = 2**62
_PLAIN = frozenset(string.ascii_letters + string.digits + " -_:/#@,;=<>!%&~'\"")
_TOKEN = re.compile(
    r"(?P<digit>\\d)|\[(?P<of>([A-Za-z0-9](-[A-Za-z0-9])?)+)\]|\\(?P<escaped>[^A-Za-z0-9])"
    r"|(?P<plain>[^\\\[\]{}()*+?|.^$])",
    re.DOTALL,
)
_PIECE = re.compile(r"\\.|\[[^\]]*\]|.", re.DOTALL)
_COUNT = re.compile(r"\{([1-9][0-9]{0,2})\}")
# Classes that a draft tries, the narrowest first.
_CLASSES = {
    r"\d": string.digits,
    "[A-Z]": string.ascii_uppercase,
    "[a-z]": string.ascii_lowercase,
    "[0-9a-f]": string.digits + "abcdef",
    "[0-9A-F]": string.digits + "ABCDEF",
    "[A-Z0-9]": string.ascii_uppercase + string.digits,
    "[a-z0-9]": string.ascii_lowercase + string.digits,
    "[A-Za-z]": string.ascii_letters,
    "[A-Za-z0-9]": string.ascii_letters + string.digits,
}
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class KeyPattern:
    """The characters that each place of a key may have.

    Attributes:
        places: Different characters of each place, in order.
        column: Name of the column, so that keys of two columns with one pattern do not follow from each other.
    """

    places: tuple[str, ...]
    column: str = ""

    @classmethod
    def of(cls, pattern: object, column: str = "") -> KeyPattern:
        """Read a pattern, or the word uuid; raises SchemaError that says what is not understood."""
        if not isinstance(pattern, str) or not pattern:
            raise SchemaError(
                rf"pattern must be text such as '\d{{4}}-[A-Z]{{5}}', or uuid; got {shown(pattern)}"
            )
        text = UUID if pattern == "uuid" else pattern
        places: list[str] = []
        at = 0
        while at < len(text):
            token = _TOKEN.match(text, at)
            if token is None and text[at:] == "\\":
                raise SchemaError(
                    r"pattern ends in a backslash with nothing after it; write \\ for a backslash"
                )
            if token is None:
                raise SchemaError(
                    rf"pattern is not understood from its character {at + 1} on; it may hold \d, classes such as [A-Z] "
                    r"or [0-9a-f], counts such as {4}, and other characters as themselves, with a backslash before . ? * "
                    "+ and brackets"
                )
            at = token.end()
            count = _COUNT.match(text, at)
            at = count.end() if count else at
            places += [_characters(token)] * (int(count[1]) if count else 1)
        if len(places) > MOST_CHARACTERS:
            raise SchemaError(f"pattern makes keys of {len(places)} characters; at most {MOST_CHARACTERS}")
        return cls(tuple(places), column)

    @property
    def n_keys(self) -> int:
        """How many different keys there are."""
        number = 1
        for characters in self.places:
            number *= len(characters)
        return number

    def fits(self, text: str) -> bool:
        """Return whether a text is one of the keys."""
        return len(text) == len(self.places) and all(map(str.__contains__, self.places, text))

    @property
    def is_number(self) -> bool:
        """Whether all keys are different whole numbers of 64 bits: digits alone, the first not zero."""
        digits = all(set(characters) <= set(string.digits) for characters in self.places)
        return digits and "0" not in self.places[0] and len(self.places) <= 18

    def positions(self, first: int, n: int) -> NDArray[np.uint64]:
        """Return the positions [n] of new keys, from the first on.

        Raises:
            SchemaError: If there are fewer keys than positions.
        """
        if first + n > self.n_keys:
            raise SchemaError(
                f"pattern has {self.n_keys:,} different keys, and more rows are drawn; declare a longer one, say by "
                "`distinct` that keys repeat, or draw fewer rows"
            )
        return np.arange(first, first + n, dtype=np.uint64)

    def at(self, positions: NDArray[np.uint64]) -> list[str]:
        """Return the keys of some positions [n] below `n_keys`, which differ from those of all other positions.

        They depend on nothing but the pattern, the name of the column and the position: the first places, as many as 62
        bits hold, are a fixed permutation of the positions, and a hash of the position fills the others.
        """
        if not positions.size:
            return []
        letters = np.stack(
            [
                np.array([*of])[chosen]
                for of, chosen in zip(self.places, self._chosen(positions), strict=True)
            ],
            axis=1,
        )
        return ["".join(row) for row in letters.tolist()]

    def numbers_at(self, positions: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the same keys as whole numbers [n], if the pattern `is_number`."""
        numbers = np.zeros(positions.size, dtype=np.int64)
        for of, chosen in zip(self.places, self._chosen(positions), strict=True):
            numbers = 10 * numbers + np.array([int(digit) for digit in of])[chosen]
        return numbers

    def _chosen(self, positions: NDArray[np.uint64]) -> Iterator[NDArray[np.intp]]:
        """Yield, place by place, which of its characters each key has [n]."""
        permuted, n_permuted = 0, 1
        while permuted < len(self.places) and n_permuted * len(self.places[permuted]) <= _MOST_PERMUTED:
            n_permuted *= len(self.places[permuted])
            permuted += 1
        rest = shuffled(positions, n_permuted, np.full(positions.size, hashed(self.column)))
        for place, characters in enumerate(self.places):
            size = np.uint64(len(characters))
            if place < permuted:
                chosen, rest = rest % size, rest // size
            else:
                chosen = _mixed(positions ^ hashed(self.column), np.uint64(place)) % size
            yield chosen.astype(np.intp)


def alternatives_of(pattern: object) -> list[str]:
    """Return the patterns that are joined by |, which joins none after a backslash or within a class."""
    if not isinstance(pattern, str):
        return []
    found = [""]
    for piece in _PIECE.findall(pattern):
        if piece == "|":
            found.append("")
        else:
            found[-1] += piece
    return found


def _characters(token: re.Match[str]) -> str:
    if token["digit"]:
        return string.digits
    if token["of"] is None:
        return token["escaped"] or token["plain"]
    found: list[str] = []
    for first, _, last in re.findall(r"(.)(-(.))?", token["of"]):
        end = last or first
        if ord(end) < ord(first) or first.isdigit() != end.isdigit() or first.isupper() != end.isupper():
            raise SchemaError(
                f"pattern has the range {first}-{end}; give letters of one case, or digits, in order"
            )
        found += map(chr, range(ord(first), ord(end) + 1))
    if len(set(found)) < len(found):
        raise SchemaError(f"pattern has a character twice in [{token['of']}]; give each once")
    return "".join(found)


def _mixed(values: NDArray[np.uint64], key: np.uint64) -> NDArray[np.uint64]:
    """Return hashes of 64 bits (Steele, Lea and Flood, 2014: the finaliser of SplitMix)."""
    with np.errstate(over="ignore"):
        mixed = values + _ODD * (key + np.uint64(1))
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))


def hashed(name: str) -> np.uint64:
    """Return a number that stands for the name of a column."""
    return np.uint64(crc32(name.encode("utf-8", "surrogatepass")))


def repeated_positions(first: int, n: int, distinct: int, name: str) -> NDArray[np.uint64]:
    """Return for each row [n] one of the positions below `distinct`: all in order, then all again in other orders.

    It depends on nothing but the row and the name of its column, so that rows drawn in pieces have the keys that they
    would have together, and the keys of two columns do not follow from each other.
    """
    rows = np.arange(first, first + n, dtype=np.uint64)
    rounds, places = np.divmod(rows, np.uint64(distinct))
    keys = _mixed(rounds, hashed(name))
    return np.where(rounds > 0, shuffled(places, distinct, keys), places)


def shuffled(values: NDArray[np.uint64], size: int, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Permute the numbers below a size: a Feistel network on the next even number of bits, walked until it is below.

    Numbers that have the same of the keys [n] are permuted alike.
    """
    half = np.uint64(max(1, -(-(size - 1).bit_length() // 2)))
    mask = (np.uint64(1) << half) - np.uint64(1)

    def once(numbers: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
        left, right = numbers >> half, numbers & mask
        for turn in range(4):
            left, right = right, left ^ (_mixed(right ^ keys, np.uint64(1000 + turn)) & mask)
        return (left << half) | right

    found = once(values, keys)
    while (outside := found >= np.uint64(size)).any():
        found[outside] = once(found[outside], keys[outside])
    return found


def pattern_of(keys: Iterable[str]) -> str | None:
    """Return the narrowest pattern of classes that fits all keys; None if they differ in length, or in other characters.

    A character other than a digit that is the same in all keys stands for itself: many numbers begin with zeros.
    """
    distinct = set(keys)
    lengths = {len(key) for key in distinct}
    if len(lengths) != 1 or not 0 < (length := lengths.pop()) <= MOST_CHARACTERS:
        return None
    if all(map(re.compile(UUID).fullmatch, distinct)):
        return "uuid"
    parts = []
    for place in range(length):
        characters = {key[place] for key in distinct}
        if len(characters) == 1 and not characters <= set(string.digits):
            (only,) = characters
            part: str | None = character_itself(only)
        else:
            part = next((c for c, members in _CLASSES.items() if characters <= set(members)), None)
        if part is None:
            return None
        parts.append(part)
    return shortened_pattern(parts)


def character_itself(character: str) -> str:
    """Return the part of a pattern that is one character and no other."""
    return character if character.isalnum() or character in _PLAIN else f"\\{character}"


def shortened_pattern(parts: Iterable[str]) -> str:
    """Return the parts of a pattern, one for each place, as one pattern with counts."""
    found: list[tuple[str, int]] = []
    for part in parts:
        if found and found[-1][0] == part and len(part) > 1:
            found[-1] = (part, found[-1][1] + 1)
        else:
            found.append((part, 1))
    return "".join(f"{part}{{{count}}}" if count > 1 else part for part, count in found)
