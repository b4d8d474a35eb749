"""`import syntabula` and `syntabula --help` stay light."""

from __future__ import annotations

import subprocess
import sys

HEAVY = {
    "pandas", "polars", "pyarrow", "duckdb", "opendp", "scipy", "matplotlib", "typer", "torch", "narwhals",
    "jax",
}  # fmt: skip


def modules_after(code: str) -> set[str]:
    """Return the top-level modules of a fresh interpreter that has run some code."""
    script = f"import sys, contextlib, io\n{code}\nsys.__stdout__.write(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


class TestImport:
    def test_importing_the_package_loads_no_heavy_library(self) -> None:
        assert not modules_after("import syntabula") & HEAVY

    def test_listing_methods_loads_no_heavy_library(self) -> None:
        assert not modules_after("import syntabula; syntabula.list_synthesizers()") & HEAVY

    def test_help_loads_no_heavy_library_but_that_of_the_command_line(self) -> None:
        for words in [["--help"], ["synth", "--help"], ["methods"], ["--version"]]:
            code = (
                "from syntabula.cli.main import main\n"
                f"with contextlib.redirect_stdout(io.StringIO()): assert main({words!r}) == 0"
            )

            assert not modules_after(code) & (HEAVY - {"typer"})
