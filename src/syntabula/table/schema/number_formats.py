"""How text writes numbers: a format is the number 1234.5 as a column of text would write it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from syntabula._arguments import shown
from syntabula.errors import SchemaError

_SIGN = "[$€£¥₹%]"
_PICTURE = re.compile(
    rf"(?P<prefix>({_SIGN} ?)?)1(?P<group>[,.' \u00a0\u202f]?)234"
    rf"((?P<mark>[.,])(?P<places>50*|0))?(?P<suffix>( ?{_SIGN})?)"
)
EXAMPLES = "'1234,5', '1,234.50', '1.234,50 €' or '$1,234'"


@dataclass(frozen=True)
class NumberFormat:
    """The form of a number in text.

    Attributes:
        prefix: Currency sign before the number, or nothing.
        group: Character between groups of three digits, or nothing.
        mark: Decimal mark; nothing if whole numbers alone are written.
        places: Which decimals are written: "5" as many as needed, "50" always two, "500" three, "0" at least one.
        suffix: Currency or percent sign after the number, or nothing.
    """

    prefix: str
    group: str
    mark: str
    places: str
    suffix: str

    @classmethod
    def of(cls, format: object) -> NumberFormat:
        """Read a format; raises SchemaError if it is not the number 1234.5 in a known form."""
        found = _PICTURE.fullmatch(format) if isinstance(format, str) else None
        if found is None or found["group"] == found["mark"]:
            raise SchemaError(
                f"format must be the number 1234.5 as text writes it, in quotes, such as {EXAMPLES}; got "
                f"{shown(format)}"
            )
        parts = {name: text or "" for name, text in found.groupdict().items()}
        return cls(**parts)

    @property
    def is_usual(self) -> bool:
        """Whether numbers are read as without a format, so that it matters only for writing."""
        return self.mark in ("", ".") and not (self.prefix or self.group or self.suffix)

    @property
    def fixed_places(self) -> int | None:
        """How many decimals are always written; None if as many as a number needs."""
        return len(self.places) if self.places.startswith("50") else None

    def written(self, value: Decimal | int | float) -> str:
        """Return a finite number in this form."""
        number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        whole, _, places = f"{abs(number):f}".partition(".")
        places = places.rstrip("0")
        if self.fixed_places is not None:
            places = places.ljust(self.fixed_places, "0")
        elif self.places == "0":
            places = places or "0"
        sign = "-" if number < 0 else ""
        grouped = f"{int(whole):,}".replace(",", self.group)
        # A column of whole numbers may be declared without a mark, and then be given others.
        rest = f"{self.mark or '.'}{places}" if places else ""
        return f"{sign}{self.prefix}{grouped}{rest}{self.suffix}"

    def for_decimals(self, format: str, decimals: int | None) -> str:
        """Return the format with as many places as a column of so many decimals needs; None for any precision."""
        if self.fixed_places is None or (decimals is not None and decimals <= self.fixed_places):
            return format
        places = "5" if decimals is None else "5".ljust(decimals, "0")
        return format.replace(f"{self.mark}{self.places}", f"{self.mark}{places}")

    @property
    def pattern(self) -> str:
        """Regular expression of the cells that are read: signs of currency, groups and decimals may be left out."""
        group = rf"[0-9]{{1,3}}({re.escape(self.group)}[0-9]{{3}})+|" if self.group else ""
        decimals = rf"({re.escape(self.mark)}[0-9]*)?" if self.mark else ""
        before, after = (
            rf"({re.escape(sign.strip())} ?)?" if sign else "" for sign in (self.prefix, self.suffix)
        )
        after = f"( ?{after})?" if after else ""
        return rf"[+-]?{before}[+-]?({group}[0-9]+){decimals}{after}"
