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
    rf"((?P<mark>[.,])(?P<places>50?|0))?(?P<suffix>( ?{_SIGN})?)"
)
EXAMPLES = "'1234,5', '1,234.50', '1.234,50 €' or '$1,234'"


@dataclass(frozen=True)
class NumberFormat:
    """The form of a number in text.

    Attributes:
        prefix: Currency sign before the number, or nothing.
        group: Character between groups of three digits, or nothing.
        mark: Decimal mark; nothing if whole numbers alone are written.
        places: Which decimals are written: "5" as many as needed, "50" always all of the column, "0" at least one.
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

    def written(self, value: Decimal | int | float, decimals: int | None = None) -> str:
        """Return a finite number in this form; `decimals` are those of the column."""
        number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        whole, _, places = f"{abs(number):f}".partition(".")
        places = places.rstrip("0")
        if self.places == "50":
            places = places.ljust(decimals or 0, "0")
        elif self.places == "0":
            places = places or "0"
        sign = "-" if number < 0 else ""
        grouped = f"{int(whole):,}".replace(",", self.group)
        # A column of whole numbers may be declared without a mark, and then be given others.
        rest = f"{self.mark or '.'}{places}" if places else ""
        return f"{sign}{self.prefix}{grouped}{rest}{self.suffix}"

    def for_decimals(self, format: str, decimals: int | None) -> str:
        """Return the format as a column of so many decimals can have it; None for any precision."""
        if self.places == "50" and not decimals:
            return format.replace(f"{self.mark}50", f"{self.mark}{'5' if decimals is None else '0'}")
        return format

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
