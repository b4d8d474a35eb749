"""The bad-input matrix: 490 cases, each a clear error or a right result (reliability of input, section C.5).

Each case is a function that either returns normally, having asserted that the result is right, or raises one
of our own errors; `refuses` states which and what its message must say. No message may hold a cell's value:
every table carries canary values that are searched for in all messages and warnings.
"""

from __future__ import annotations

import warnings
from importlib import import_module

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
    assert len(CASES) == 490


class TestMatrix:
    @pytest.mark.parametrize("name", list(CASES))
    def test_bad_input_gives_a_clear_error_or_a_right_result(self, name, tmp_path):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            CASES[name][1](tmp_path)
        for warning in caught:
            # Those of other libraries, such as an overflow, are none of the user's business and may tell of a cell.
            assert issubclass(warning.category, SyntabulaWarning), warning.message
            assert matrix.CANARY_TEXT not in str(warning.message)
            assert str(matrix.CANARY_NUMBER) not in str(warning.message)
