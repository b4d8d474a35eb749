"""Formulas of a workbook that no program has computed: libraries write them without a value, or with 0 for each.

So their cells would read as empty, or as 0.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from typing import IO, Any
from xml.etree.ElementTree import iterparse
from zipfile import ZipFile

from syntabula._extras import require
from syntabula.errors import DataError
from syntabula.table.schema.schema import columns_listed

_SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_READ_AT_ONCE = 2**20
_LONGEST_TAG = 64
_FORMULA = re.compile(rb"<(\w+:)?f[\s/>]")
"""The tag of a formula. Most sheets have none, and are read no second time cell by cell."""
_RELATIONS = "_rels/.rels"
"""The part of an archive that names the one of the workbook."""


def check_computed(place: str, part: str, names: dict[int, str]) -> None:
    """Refuse a sheet with formulas that were never computed.

    A column would come out empty or as 0, in all rows or in those that were added last, though it looks filled where it
    is opened. All of a column's formulas are 0 in a workbook that asks to be computed when it is opened: then none is
    known.

    Args:
        place: Path of the workbook.
        part: Name of the sheet's part in its archive.
        names: Names of columns by their places in the sheet, from 0.

    Raises:
        DataError: If there are any; the message names columns, by letters where they have no name.
    """
    with ZipFile(place) as archive:
        with archive.open(part.lstrip("/")) as sheet:
            if not _has_formulas(sheet):
                return
        with archive.open(part.lstrip("/")) as sheet:
            without, zero = _uncomputed(sheet)
        places = sorted(without | zero if _is_computed_when_opened(archive) else without)
    if not places:
        return
    letters = require("openpyxl.utils", "excel").get_column_letter
    named = [names[column] for column in places if column in names]
    where = columns_listed(named) if named else f"column {letters(places[0] + 1)} of the sheet"
    raise DataError(
        f"{where}: the workbook holds formulas here without their values, as no program has computed them since they "
        "were written. Open it in Excel or LibreOffice and save it there, or save its sheet as CSV"
    )


def _has_formulas(sheet: IO[bytes]) -> bool:
    """Return whether a sheet may have formulas; it is read a part at a time."""
    before = b""
    while part := sheet.read(_READ_AT_ONCE):
        # In UTF-16 the tag has other bytes.
        if _FORMULA.search(before + part) or part.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            return True
        before = part[-_LONGEST_TAG:]
    return False


def _is_computed_when_opened(archive: ZipFile) -> bool:
    """Return whether a workbook asks for all formulas to be computed anew, as those of XlsxWriter do."""
    if _RELATIONS not in archive.namelist():
        return False
    with archive.open(_RELATIONS) as relations:
        books = [
            e.get("Target", "").lstrip("/")
            for _, e in iterparse(relations)
            if e.get("Type", "").endswith("/officeDocument")
        ]
    for name in {*books} & {*archive.namelist()}:
        with archive.open(name) as book:
            for _, element in iterparse(book):
                if element.tag == _SPACE + "calcPr" and element.get("fullCalcOnLoad") in ("1", "true"):
                    return True
    return False


def _uncomputed(sheet: IO[bytes]) -> tuple[set[int], set[int]]:
    """Return the places of columns in which a formula has no value, and of those whose formulas are all 0.

    A formula that comes to the empty text has an empty value, and its cell says that it is a text.
    """
    utils: Any = require("openpyxl.utils.cell", "excel")
    without: set[int] = set()
    zero: dict[int, bool] = {}
    column = -1
    for _, element in iterparse(sheet):
        if element.tag == _SPACE + "row":
            column = -1
            element.clear()
        elif element.tag == _SPACE + "c":
            # Some programs leave out where a cell is: beside the one before it.
            at = element.get("r")
            column = column + 1 if at is None else utils.coordinate_to_tuple(at)[1] - 1
            value = element.find(_SPACE + "v")
            is_known = value is not None and (bool(value.text) or element.get("t") == "str")
            if element.find(_SPACE + "f") is not None:
                if not is_known:
                    without.add(column)
                zero[column] = zero.get(column, True) and value is not None and value.text == "0"
            element.clear()
    return without, {column for column, is_zero in zero.items() if is_zero}
