"""Property tests run alike everywhere."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parents[1]
SET_FOR_ALL = {"deadline", "derandomize"}


class TestProfile:
    def test_no_example_has_a_deadline_and_all_runs_draw_the_same_examples(self):
        assert settings().deadline is None
        assert settings().derandomize

    @pytest.mark.thorough
    def test_no_test_sets_these_for_itself(self):
        found = [
            f"{path.relative_to(TESTS)}:{node.lineno}"
            for path in TESTS.rglob("test_*.py")
            # Most files are not worth a look at their tree.
            if any(word in (program := path.read_text(encoding="utf-8")) for word in SET_FOR_ALL)
            for node in ast.walk(ast.parse(program))
            if isinstance(node, ast.Call)
            and getattr(node.func, "id", "") == "settings"
            and SET_FOR_ALL & {keyword.arg for keyword in node.keywords}
        ]

        assert not found
