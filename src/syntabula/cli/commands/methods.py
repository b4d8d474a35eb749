"""`syntabula methods`: which synthesizers there are, and what can be set in one."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

import typer

from syntabula.cli import options
from syntabula.cli.console import Console
from syntabula.cli.request import selector_and_model


def methods(
    context: typer.Context,
    method: Annotated[
        str | None, typer.Argument(help="Show the options of this one.", metavar="METHOD")
    ] = None,
    selector: options.Selector = None,
    model: options.Model = None,
) -> None:
    """List the synthesizers, and the selectors and models of the grid; or the options of one or of a pair."""
    console: Console = context.obj
    pair = selector_and_model(method, selector, model)
    if pair is not None:
        _describe_pair(console, *pair)
    elif method is not None:
        _describe(console, method)
    else:
        _list(console)


def _list(console: Console) -> None:
    from syntabula import list_models, list_selectors, list_synthesizers

    known, selectors, models = list_synthesizers(), list_selectors(), list_models()
    width = max(len(key) for key in [i.key for i in known] + [i.key for i in (*selectors, *models)])
    lines = ["Methods, for --method:"]
    for method in known:
        paper = f" ({method.paper})" if method.paper else ""
        lines.append(f"  {method.key:<{width}}  {method.summary}{paper}")
    for title, parts in (("Selectors, for --selector:", selectors), ("Models, for --model:", models)):
        lines += ["", title, *(f"  {info.key:<{width}}  {info.summary}" for info in parts)]
    facts = {
        "methods": [{"key": m.key, "name": m.name, "summary": m.summary, "paper": m.paper} for m in known],
        "selectors": [{"key": s.key, "summary": s.summary} for s in selectors],
        "models": [{"key": m.key, "summary": m.summary} for m in models],
    }
    console.result("\n".join(lines), facts)


def _describe(console: Console, method: str) -> None:
    from syntabula import method_options, synthesizer

    kind = synthesizer(method)
    first = (kind.__doc__ or "").strip().splitlines()[0]
    _show(console, method, first, method_options(kind))


def _describe_pair(console: Console, selector: str, model: str) -> None:
    from syntabula import grid_parts, method_options

    parts = grid_parts(selector, model)
    title = f"Selector {selector} with model {model}."
    _show(console, f"{selector}+{model}", title, method_options(parts))


def _show(console: Console, key: str, title: str, parts: dict[str, dict[str, Any]]) -> None:
    lines = [title, ""]
    lines += [
        f"  --option {name}={_shown(value)}" for named in parts.values() for name, value in named.items()
    ]
    facts = {part: {n: _shown(v) for n, v in named.items()} for part, named in parts.items()}
    console.result("\n".join(lines), {"key": key, "options": facts})


def _shown(value: object) -> str:
    return "null" if value is None else str(float(value)) if isinstance(value, Fraction) else str(value)
