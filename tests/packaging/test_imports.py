"""Imports point one way, as the table of rooms says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "syntabula"

# "" is the package's own surface: what `import syntabula` offers.
EVERYWHERE = {
    "errors",
    "_arguments",
    "_docstrings",
    "_entries",
    "_extras",
    "_figures",
    "_files",
    "_float32",
    "_memory",
    "_planning",
    "_register",
    "_spaces",
    "_threads",
    "_version",
}
_ENCODED = {"marginals", "privacy", "bins", "table"}
_LEARNING = {*_ENCODED, "models", "record_models", "select"}
MAY_IMPORT: dict[str, set[str]] = {
    "marginals": set(),
    "privacy": {"marginals"},
    "bins": set(),
    "table": {"bins", "marginals"},
    "prepare": _ENCODED,
    "datasets": _ENCODED,
    "models": {"marginals"},
    "record_models": {"models", "privacy", "marginals"},
    "select": {"models", "privacy", "marginals"},
    "synthesizers": {*_LEARNING, "prepare"},
    "metrics": _ENCODED,
    "attacks": {*_LEARNING, "synthesizers", "metrics"},
    "tuning": {*_LEARNING, "table", "synthesizers", "metrics"},
    "bench": {*_LEARNING, "prepare", "synthesizers", "metrics", "attacks", "datasets", "tuning"},
    "plugins": {*_LEARNING, "prepare", "synthesizers", "metrics", "attacks"},
    "testing": {*_LEARNING, "prepare", "synthesizers", "metrics", "attacks", "datasets"},
    "report": {"", "synthesizers", "metrics", "bench", "marginals", "table", "privacy"},
    "demo": {"", "report", "metrics"},
    # table: only to refuse an unknown format of the output before any budget is spent.
    # privacy: only to find in a journal which files a run wrote itself.
    # bench: its room is public by itself, as that of datasets is.
    "cli": {"", "report", "demo", "table", "privacy", "bench", "tuning"},
    "__main__": {"cli"},
    "_register": {"_entries"},
    "_entries": set(),
    "_version": set(),
    "_arguments": set(),
    "_docstrings": set(),
    "_extras": set(),
    "_planning": set(),
    "_spaces": set(),
    "_memory": set(),
    "_threads": set(),
    "_figures": set(),
    "_files": set(),
    "_float32": set(),
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
        # No expression holds an import.
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from imports(child, into_functions=True) if into_functions else ()
        elif not isinstance(child, ast.expr):
            yield from imports(child, into_functions=into_functions)


WITH_TORCH = {
    "privacy/training/gradient_parts.py": {"torch"},
    "privacy/training/watched.py": {"torch"},
    "record_models/denoising_loss.py": {"torch"},
    "record_models/rounded_products.py": {"torch"},
}
"""A class of torch is the base of one there."""


def imported_room(module: str) -> str:
    name = module.removeprefix("syntabula").removeprefix(".").split(".")[0]
    is_room = (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file()
    return name if name and is_room else ""


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def rooms_beyond(path: Path) -> set[str]:
    """Return the rooms that a file imports and that its own may not."""
    room = room_of(path)
    used = {
        imported_room(m)
        for m in imports(tree_of(path), into_functions=True)
        if m.split(".")[0] == "syntabula"
    }
    public = {"datasets"} if "" in MAY_IMPORT[room] else set()
    return used - MAY_IMPORT[room] - EVERYWHERE - {room} - public


class TestDirections:
    def test_every_room_says_what_it_may_import(self) -> None:
        rooms = {room_of(path) for path in FILES}

        assert "privacy" in rooms
        assert rooms <= set(MAY_IMPORT), "say in this test what the new room may import"

    def test_a_room_imports_only_rooms_below_it(self) -> None:
        beyond = {path.relative_to(SOURCE).as_posix(): rooms_beyond(path) for path in FILES}

        assert {path: rooms for path, rooms in beyond.items() if rooms} == {}

    def test_no_heavy_library_is_imported_at_the_top_of_a_module(self) -> None:
        heavy = {
            path.relative_to(SOURCE).as_posix(): HEAVY
            & {module.split(".")[0] for module in imports(tree_of(path), into_functions=False)}
            for path in FILES
        }

        assert {path: libraries for path, libraries in heavy.items() if libraries} == WITH_TORCH

    def test_what_imports_one_is_imported_within_functions_alone(self) -> None:
        modules = {"syntabula." + path.removesuffix(".py").replace("/", ".") for path in WITH_TORCH}
        importers = {
            path.relative_to(SOURCE).as_posix()
            for path in FILES
            if modules & {*imports(tree_of(path), into_functions=False)}
        }

        assert importers <= WITH_TORCH.keys()
