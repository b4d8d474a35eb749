"""`syntabula methods`: which synthesizers there are, and what can be set in one."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import typer

from syntabula.cli.console import Console


def methods(
    context: typer.Context,
    method: Annotated[
        str | None, typer.Argument(help="Show the options of this one.", metavar="METHOD")
    ] = None,
) -> None:
    """List the synthesizers and where they come from, or the options of one."""
    console: Console = context.obj
    if method is None:
        _list(console)
    else:
        _describe(console, method)


def _list(console: Console) -> None:
    from syntabula import list_synthesizers

    known = list_synthesizers()
    width = max(len(method.key) for method in known)
    lines = []
    for method in known:
        paper = f" ({method.paper})" if method.paper else ""
        lines.append(f"{method.key:<{width}}  {method.summary}{paper}")
    facts = [{"key": m.key, "name": m.name, "summary": m.summary, "paper": m.paper} for m in known]
    console.result("\n".join(lines), facts)


def _describe(console: Console, method: str) -> None:
    from syntabula import method_options, synthesizer

    kind = synthesizer(method)
    parts = method_options(kind)
    lines = [(kind.__doc__ or "").strip().splitlines()[0], ""]
    lines += [
        f"  --option {name}={_shown(value)}" for options in parts.values() for name, value in options.items()
    ]
    facts = {part: {n: _shown(v) for n, v in options.items()} for part, options in parts.items()}
    console.result("\n".join(lines), {"key": method, "options": facts})


def _shown(value: object) -> str:
    return "null" if value is None else str(float(value)) if isinstance(value, Fraction) else str(value)
