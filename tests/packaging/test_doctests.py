"""The examples in docstrings run, and give what they say."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
MODULES = sorted(
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
    for path in SRC.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.thorough
@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    found = doctest.testmod(import_module(name))

    assert found.attempted > 0
    assert found.failed == 0
