"""`syntabula methods`: which synthesizers there are."""

from __future__ import annotations

import typer

from syntabula.cli.console import Console


def methods(context: typer.Context) -> None:
    """List the synthesizers and where they come from."""
    console: Console = context.obj
    from syntabula import list_synthesizers

    known = list_synthesizers()
    width = max(len(method.key) for method in known)
    lines = []
    for method in known:
        paper = f" ({method.paper})" if method.paper else ""
        lines.append(f"{method.key:<{width}}  {method.summary}{paper}")
    facts = [{"key": m.key, "name": m.name, "summary": m.summary, "paper": m.paper} for m in known]
    console.result("\n".join(lines), facts)
