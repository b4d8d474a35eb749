"""The bad-input matrix: 511 cases, each a clear error or a right result (reliability of input, section C.5).

Each case is a function that either returns normally, having asserted that the result is right, or raises one
of our own errors; `refuses` states which and what its message must say. No message may hold a cell's value:
every table carries canary values that are searched for in all messages and warnings.
"""

from __future__ import annotations

import traceback
import warnings
from importlib import import_module
from pathlib import Path

import pytest

from syntabula.errors import SyntabulaWarning

pytest.register_assert_rewrite("bad_input")
for kind in (
    *("cells", "shapes", "types", "names", "arguments", "schemas", "files"),
    *("schema_texts", "text_files", "values", "strange"),
):
    import_module(f"bad_input.{kind}")
matrix = import_module("bad_input.matrix")
CASES = matrix.CASES


def test_the_matrix_has_all_of_its_cases() -> None:
    assert len(CASES) == 512


def fault_of(name: str, folder: Path) -> str | None:
    """Return what is wrong with the outcome of a case, whatever it is; None if nothing is."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            CASES[name][1](folder)
    except (Exception, pytest.fail.Exception):
        return traceback.format_exc()
    for warning in caught:
        # Those of other libraries, such as an overflow, are none of the user's business and may tell of a cell.
        if not issubclass(warning.category, SyntabulaWarning):
            return f"warns of {warning.message}"
        if any(str(canary) in str(warning.message) for canary in (matrix.CANARY_TEXT, matrix.CANARY_NUMBER)):
            return "shows a cell in a warning"
    return None


class TestMatrix:
    @pytest.mark.thorough
    @pytest.mark.parametrize("group", sorted({group for group, _ in CASES.values()}))
    def test_bad_input_gives_a_clear_error_or_a_right_result(self, group, tmp_path):
        faults = {}

        for position, name in enumerate(CASES):
            if CASES[name][0] == group:
                folder = tmp_path / str(position)
                folder.mkdir()
                if (fault := fault_of(name, folder)) is not None:
                    faults[name] = fault

        assert faults == {}
