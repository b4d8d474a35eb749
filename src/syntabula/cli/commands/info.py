"""`syntabula info`: what a release file holds and promises."""

from __future__ import annotations

import typer

from syntabula.cli import options
from syntabula.cli.console import Console


def info(context: typer.Context, release: options.ReleaseFile) -> None:
    """Show what a RELEASE file holds and its privacy statement; nothing in the file is executed."""
    console: Console = context.obj
    from syntabula import load

    loaded = load(release)
    columns = loaded.schema.columns
    width = max(len(name) for name in columns)
    lines = [
        f"{release}: method {loaded.method}, about {loaded.n_estimated} records (noisy estimate)",
        "",
        *(
            f"  {name:<{width}}  {column.kind}, {column.provenance} domain"
            for name, column in columns.items()
        ),
        "",
        loaded.privacy.text(),
    ]
    facts = {
        "release": str(release),
        "method": loaded.method,
        "n_estimated": loaded.n_estimated,
        "schema": loaded.schema.to_json(),
        "statement": loaded.privacy.to_json(),
    }
    console.result("\n".join(lines), facts)
