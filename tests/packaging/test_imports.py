"""Imports point one way, as the table of rooms says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "syntabula"

# "" is the package's own surface: what `import syntabula` offers.
EVERYWHERE = {
    "errors", "_arguments", "_docstrings", "_extras", "_input_files", "_memory", "_version", "_warnings",
    "_whole_file",
}  # fmt: skip
_ENCODED = {"marginals", "privacy", "discretize", "table"}
_LEARNING = {*_ENCODED, "models", "select"}
MAY_IMPORT: dict[str, set[str]] = {
    "marginals": set(),
    "privacy": {"marginals"},
    "discretize": {"privacy", "marginals"},
    "table": {"discretize", "privacy", "marginals"},
    "datasets": _ENCODED,
    "models": {"marginals"},
    "select": {"models", "privacy", "marginals"},
    "synthesizers": _LEARNING,
    "metrics": _ENCODED,
    "attacks": {*_LEARNING, "synthesizers", "metrics"},
    "tune": {*_LEARNING, "synthesizers", "metrics"},
    "bench": {*_LEARNING, "synthesizers", "metrics", "datasets"},
    "report": {"", "metrics", "bench", "marginals", "table", "privacy"},
    "demo": {"", "report", "table", "marginals"},
    # table: only to refuse an unknown format of the output before any budget is spent.
    "cli": {"", "report", "demo", "table"},
    "__main__": {"cli"},
    "_registry": set(),
    "_version": set(),
    "_arguments": set(),
    "_docstrings": set(),
    "_extras": set(),
    "_input_files": set(),
    "_memory": set(),
    "_warnings": set(),
    # privacy: the lock of a journal, which also shows whose temporary files are in use.
    "_whole_file": {"privacy"},
    "errors": set(),
}
HEAVY = {
    "pandas", "polars", "pyarrow", "duckdb", "opendp", "scipy", "matplotlib", "narwhals", "torch", "jax",
    "mbi", "sklearn", "jinja2",
}  # fmt: skip
FILES = sorted(p for p in SOURCE.rglob("*.py") if p != SOURCE / "__init__.py")


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def imports(node: ast.AST, *, into_functions: bool) -> Iterator[str]:
    """Yield the dotted name of every module imported at run time (`from syntabula import x`: syntabula.x)."""
    for child in ast.iter_child_nodes(node):
        if is_type_checking(child):
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute"
            assert child.module is not None
            if child.module == "syntabula":
                yield from (f"syntabula.{alias.name}" for alias in child.names)
            else:
                yield child.module
        elif into_functions or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from imports(child, into_functions=into_functions)


def imported_room(module: str) -> str:
    name = module.removeprefix("syntabula").removeprefix(".").split(".")[0]
    is_room = (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file()
    return name if name and is_room else ""


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(SOURCE).as_posix())
class TestDirections:
    def test_a_room_imports_only_rooms_below_it(self, path: Path) -> None:
        room = room_of(path)
        assert room in MAY_IMPORT, f"say in this test what the room {room!r} may import"
        tree = ast.parse(path.read_text(encoding="utf-8"))

        used = {
            imported_room(m) for m in imports(tree, into_functions=True) if m.split(".")[0] == "syntabula"
        }

        public = {"datasets"} if "" in MAY_IMPORT[room] else set()
        assert used <= MAY_IMPORT[room] | EVERYWHERE | {room} | public

    def test_no_heavy_library_is_imported_at_the_top_of_a_module(self, path: Path) -> None:
        tree = ast.parse(path.read_text(encoding="utf-8"))

        used = {module.split(".")[0] for module in imports(tree, into_functions=False)}

        assert not used & HEAVY
