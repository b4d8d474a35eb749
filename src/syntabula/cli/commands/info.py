"""`syntabula info`: what a release file contains and guarantees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from syntabula.cli import options
from syntabula.cli.console import Console

if TYPE_CHECKING:
    from syntabula.table.schema.columns import Column


def info(context: typer.Context, release: options.ReleaseFile) -> None:
    """Show the contents of a RELEASE file and its privacy statement; nothing in the file is executed."""
    console: Console = context.obj
    from syntabula import load
    from syntabula.table.rules.row_rules import rules_in_words

    loaded = load(release)
    columns = loaded.schema.columns
    width = max(len(name) for name in columns)
    lines = [
        f"{release}: method {loaded.method}, about {loaded.n_estimated} records (noisy estimate)",
        "",
        *(
            f"  {name:<{width}}  {column.kind}, {column.provenance} domain{_extent(column)}"
            for name, column in columns.items()
        ),
        "",
        loaded.privacy.text(),
    ]
    broken = loaded.rules_broken()
    if loaded.rules is not None:
        shown = rules_in_words(broken) if broken else "none"
        lines.insert(
            -2, f"\n  rules: {len(loaded.rules.rules)}; broken by drawn rows, which are discarded: {shown}"
        )
    facts = {
        "release": str(release),
        "method": loaded.method,
        "n_estimated": loaded.n_estimated,
        "schema": loaded.schema.to_json(),
        "statement": loaded.privacy.to_json(),
    } | ({} if loaded.rules is None else {"rules_broken": broken})
    console.result("\n".join(lines), facts)


def _extent(column: Column) -> str:
    """Return the extent of a domain; empty for one that was read off the table."""
    from syntabula.table.schema.columns import Categorical, Ordered

    if column.provenance == "observed":
        return ""
    if isinstance(column, Ordered):
        return f", {column.lower} to {column.upper}"
    if isinstance(column, Categorical):
        number = len(column.categories)
        return f", {number} categor{'y' if number == 1 else 'ies'}{' and others' if column.open else ''}"
    return ""
