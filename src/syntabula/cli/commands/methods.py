"""`syntabula methods`: lists the synthesizers and their options."""

from __future__ import annotations

import math
from fractions import Fraction
from textwrap import indent, wrap
from typing import Annotated, Any

import typer

from syntabula._entries import UNLISTED
from syntabula.cli import options
from syntabula.cli.console import Console
from syntabula.cli.request import selector_and_model

_INDENT = " " * 8
(_UNIFORM,) = (entry for entry in UNLISTED if entry.kind == "discretizer")


def methods(
    context: typer.Context,
    method: Annotated[
        str | None,
        typer.Argument(help="Show the options of this synthesizer, selector or model.", metavar="METHOD"),
    ] = None,
    selector: options.Selector = None,
    model: options.Model = None,
) -> None:
    """List synthesizers, selectors, models and discretizers, or the options of one of them or of a pair."""
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
    from syntabula._register import entries

    known, selectors, models = list_synthesizers(), list_selectors(), list_models()
    discretizers = [_UNIFORM, *entries("discretizer")]
    width = max(len(i.key) for i in (*known, *selectors, *models, *discretizers))
    lines = ["Methods, for --method:"]
    for method in known:
        paper = f" ({method.paper})" if method.paper else ""
        also = "".join(f"; also named {alias}" for alias in method.aliases)
        lines.append(f"  {method.key:<{width}}  {method.summary}{paper}{also}")
    titles = ("Selectors, for --selector:", "Models, for --model:", "Discretizers, for --discretizer:")
    for title, parts in zip(titles, (selectors, models, discretizers), strict=True):
        lines += ["", title, *(f"  {info.key:<{width}}  {info.summary}" for info in parts)]
    facts = {
        "methods": [
            {"key": m.key, "name": m.name, "summary": m.summary, "paper": m.paper, "aliases": [*m.aliases]}
            for m in known
        ],
        "selectors": [{"key": s.key, "summary": s.summary} for s in selectors],
        "models": [{"key": m.key, "summary": m.summary} for m in models],
        "discretizers": [{"key": d.key, "summary": d.summary} for d in discretizers],
    }
    console.result("\n".join(lines), facts)


def _describe(console: Console, name: str) -> None:
    """Show a method; or, of this name, a selector or a model with its options, or a discretizer."""
    from syntabula import Marginal, list_models, list_selectors, list_synthesizers, synthesizer
    from syntabula._register import entries

    known = {method.key for method in list_synthesizers()}
    selector = next((s for s in list_selectors() if s.key == name and name not in known), None)
    model = next((m for m in list_models() if m.key == name and name not in known), None)
    discretizer = next((d for d in [_UNIFORM, *entries("discretizer")] if d.key == name), None)
    if selector is not None:
        title = f"Selector {name}, for --selector {name} --model MODEL. {selector.summary}"
        _show(console, name, title, Marginal(selector=name, model="pgm"), only="selector")
    elif model is not None:
        title = f"Model {name}, for --selector SELECTOR --model {name}. {model.summary}"
        _show(console, name, title, Marginal(selector="one_way", model=name), only="model")
    elif discretizer is not None and name not in known:
        title = f"Discretizer {name}, for --discretizer {name}. {discretizer.summary}"
        console.result(title, {"key": name, "options": {}})
    else:
        kind = synthesizer(name)
        _show(console, name, (kind.__doc__ or "").strip().splitlines()[0], kind)


def _describe_pair(console: Console, selector: str, model: str) -> None:
    from syntabula import Marginal

    title = f"Selector {selector} with model {model}."
    _show(console, f"{selector}+{model}", title, Marginal(selector=selector, model=model))


def _show(console: Console, key: str, title: str, kind: Any, *, only: str | None = None) -> None:
    from syntabula import method_options, option_notes
    from syntabula.table.schema.plain_yaml import write_yaml
    from syntabula.tuning.space import declared_space, plain_space

    parts = {part: named for part, named in method_options(kind).items() if only in (None, part)}
    lines = [title]
    for part, named in parts.items():
        if named:
            called = "training with noise, as a budget asks for" if part == "noisy" else part
            lines += ["", f"Options of the {called}, with their defaults:"]
        notes = option_notes(kind, part=part)
        for name, value in named.items():
            lines.append(f"  --option {name}={_shown(value)}")
            lines += wrap(notes.get(name, ""), width=100, initial_indent=_INDENT, subsequent_indent=_INDENT)
    space = declared_space(kind)
    if only is not None:
        space = {name: tried for name, tried in space.items() if name in parts[only]}
    if space:
        lines += ["", "What tune tries, unless --space FILE.yaml says otherwise:"]
        lines += indent(write_yaml(plain_space(space), short=True), "  ").splitlines()
    facts = {part: {n: _plain(v) for n, v in named.items()} for part, named in parts.items()}
    console.result("\n".join(lines), {"key": key, "options": facts, "space": plain_space(space)})


def _plain(value: object) -> object:
    """Return a default as JSON has it; one that JSON cannot hold as it is shown."""
    if isinstance(value, tuple):
        return [*map(_plain, value)]
    is_plain = value is None or isinstance(value, bool | int | str)
    return value if is_plain or (isinstance(value, float) and math.isfinite(value)) else _shown(value)


def _shown(value: object) -> str:
    """Return a default as `--option` takes it."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return "null" if value is None else str(float(value)) if isinstance(value, Fraction) else str(value)
