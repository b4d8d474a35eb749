"""Kinds of text cells that hold a number with a sign, code or unit, as 1.234,50 € or 70 kg, or spaces between digits.

Each is a kind of the bare number in one style, so that a cell still has one kind, which depends on it alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product

from syntabula.table.database import quoted
from syntabula.table.files.declared_cells import matches
from syntabula.table.files.number_kinds import KINDS
from syntabula.table.raw import PhysicalType
from syntabula.table.schema.text_formats import CODES, GROUPS, SHORTEST, SPACES, UNITS, NumberFormat

_CURRENCIES = "$€£¥₹"
_SIGNS = f"{_CURRENCIES}%"
_AMOUNT = "amount"
_JOINED = (_AMOUNT, "whole", "padded real", "real", "padded comma", "comma")
"""Kinds of numbers whose groups of digits have been joined; amounts are whole, and hardly numbers of telephones."""
_MEASURED = (
    "whole",
    "point of thousandths",
    "padded real",
    "real",
    "comma of thousandths",
    "padded comma",
    "comma",
)
"""Kinds of numbers that have a unit behind them: those without marks between groups of digits."""
_MONEY = (*CODES, "kr", "zł", "Kč")
"""Units behind which numbers may have any marks between groups of digits."""
_OF_MONEY = (("\u00a0", "\u00a0"), ("\u202f", "\u00a0"), ("\u202f", "\u202f"), ("'", " "))
"""Characters between groups of digits of money, each with the space that is written before the unit."""
_OF_AMOUNT = "-[0-9]+|[0-9]{4,5}|[0-9]{7}"
"""Codes in groups of three digits have six, such as postal codes, eight or more, such as telephones, and no sign."""


@dataclass(frozen=True)
class Style:
    """What numbers of a column have around and between their digits.

    Attributes:
        prefix: Sign or code of a currency before each, or nothing.
        group: Character between groups of digits, if it is neither a point nor a comma; or nothing.
        suffix: Sign or unit behind each, or nothing.
    """

    prefix: str = ""
    group: str = ""
    suffix: str = ""

    def format(self, bare: PhysicalType) -> str:
        """Return the format of these numbers, given the type of the bare ones."""
        format = bare.format or ("1234" if bare.kind == "integer" else SHORTEST)
        return f"{self.prefix}{format[0]}{self.group}{format[1:]}{self.suffix}"


def _styles() -> Iterable[tuple[Style, tuple[str, ...]]]:
    for sign, space in product(_CURRENCIES, ("", " ")):
        yield Style(prefix=sign + space), KINDS
    for sign, space in product(_SIGNS, SPACES):
        # Others than French programs write plain spaces.
        if space in ("", " ") or sign in "€%":
            yield Style(suffix=space + sign), KINDS
    for unit, space in product(UNITS, ("", " ")):
        yield Style(suffix=space + unit), KINDS if unit in _MONEY else _MEASURED
    for unit in UNITS:
        yield Style(group=" ", suffix=f" {unit}"), _JOINED
    for unit, (group, space) in product(_MONEY, _OF_MONEY):
        yield Style(group=group, suffix=space + unit), _JOINED
    for code in CODES:
        yield Style(prefix=f"{code} "), KINDS
        for group in ("'", " "):
            yield Style(prefix=f"{code} ", group=group), _JOINED
    for suffix, group in product(("", *(f"{space}€" for space in SPACES)), GROUPS):
        yield Style(group=group, suffix=suffix), _JOINED


_STYLES = [*_styles()]


def _name(style: Style, kind: str) -> str:
    return f"{kind} as {_shape(style)}"


def _shape(style: Style) -> str:
    return f"{style.prefix}1{style.group}{'1' if style.group else ''}{style.suffix}"


_OF_KIND = {_name(style, kind): (style, kind) for style, kinds in _STYLES for kind in kinds}
SIGNED_KINDS = (*_OF_KIND,)
"""The kinds of numbers in a style."""


def bare_kinds(kinds: Iterable[str]) -> set[str]:
    """Return kinds with those of numbers in a style as the kinds of the bare numbers."""
    return {_bare_kind(kind) for kind in kinds}


def _bare_kind(kind: str) -> str:
    bare = _OF_KIND[kind][1] if kind in _OF_KIND else kind
    return "whole" if bare == _AMOUNT else bare


def case(cell: str, tests: Mapping[str, str], places: Mapping[str, int]) -> str:
    """Return the SQL case that gives the place of the kind of a cell if it is a number in a style.

    Args:
        cell: SQL of the cell.
        tests: SQL that tests whether `bare(cell)` is of a kind of bare numbers, in the order in which they count.
        places: Place of each kind; those of a style follow each other.
    """
    spaces, groups = "".join(SPACES), re.escape("".join(GROUPS))
    digits, sign = f"[0-9][0-9.,{groups}]*", "[+-]?"
    units, codes = "|".join(UNITS), "|".join(CODES)
    written = (
        f"{sign}([{_CURRENCIES}] ?|({codes}) ){sign}{digits}|{sign}{digits}[{spaces}]?([{_SIGNS}]|{units})?"
    )
    # A number without its digits shows the style.
    shape = f"regexp_replace(regexp_replace({cell}, '[+-]', '', 'g'), '[0-9.,]+', '1', 'g')"
    for group in GROUPS:
        shape = f"regexp_replace({shape}, {quoted(f'1({group}1)+')}, {quoted(f'1{group}1')})"
    tests = {_AMOUNT: matches(bare(cell), _OF_AMOUNT), **tests}
    found = []
    for kinds in (KINDS, _MEASURED, _JOINED):
        bases = " ".join(
            f"WHEN {quoted(_shape(style))} THEN {places[_name(style, kinds[0])]}"
            for style, of_style in _STYLES
            if of_style is kinds
        )
        offsets = " ".join(
            f"WHEN {test} THEN {kinds.index(kind)}" for kind, test in tests.items() if kind in kinds
        )
        found.append(f"(CASE {shape} {bases} END) + (CASE {offsets} END)")
    wells = "|".join(f"({group}[0-9]{{3}})+" for group in GROUPS)
    joined = matches(cell, f"[^0-9]*[1-9][0-9]{{0,2}}({wells})([.,][0-9]*)?[^0-9]*")
    # So are phones abroad written, such as +34 612 345 678, and hardly any amount.
    phone = matches(cell, rf"\+[0-9{spaces}]+")
    return (
        f"WHEN {matches(cell, written)} AND regexp_matches({cell}, {quoted(f'[{_SIGNS}{groups}]|[^0-9.,+-]$')}) "
        f"THEN coalesce({found[0]}, {found[1]}, CASE WHEN {joined} AND NOT {phone} THEN {found[2]} END, "
        f"{places['text']})"
    )


def bare(cell: str) -> str:
    """Return the SQL of a number without anything around or between its digits but marks and a minus."""
    return f"regexp_replace({cell}, '[^0-9.,+-]', '', 'g')"


def are_amounts(physical: PhysicalType) -> bool:
    """Return whether numbers are of a currency, all with as many decimals, so that three of these may be a group."""
    if physical.kind != "float" or physical.format is None or "%" in physical.format:
        return False
    form = NumberFormat.of(physical.format)
    return (
        form.fixed_places is not None
        and not form.group
        and bool(
            {*form.prefix, *form.suffix, form.prefix.strip(), form.suffix.strip()} & {*_CURRENCIES, *CODES}
        )
    )


def shared_style(
    stands_out: Collection[str], plain: Collection[str]
) -> tuple[Style, dict[str, list[str]]] | None:
    """Return the style that numbers of some kinds share, and the kinds by those of the bare numbers.

    Args:
        stands_out: Kinds of the present cells of a column.
        plain: Kinds of numbers without any style, which small numbers have beside those in groups.

    Returns:
        None if they share no style, or need none.
    """
    styles, bare = set[Style](), dict[str, list[str]]()
    for kind in stands_out:
        if kind not in _OF_KIND and kind not in plain:
            return None
        styles.add(_OF_KIND[kind][0] if kind in _OF_KIND else Style())
        bare.setdefault(_bare_kind(kind), []).append(kind)
    around = {replace(style, group="") for style in styles}
    groups = {style.group for style in styles if style.group}
    if len(around) != 1 or len(groups) > 1:
        return None
    style = replace(next(iter(around)), group="".join(groups))
    # Numbers of telephones and companies have spaces between groups of digits, but no decimals and a length of their own;
    # some are written without the spaces.
    is_code = style.group in SPACES and around == {Style()} and {*bare} == {"whole"}
    is_code = is_code and not any(_OF_KIND[kind][1] == _AMOUNT for kind in stands_out if kind in _OF_KIND)
    return None if style == Style() or is_code else (style, bare)
