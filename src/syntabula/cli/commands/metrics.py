"""`syntabula metrics`: lists the metrics and how to read them."""

from __future__ import annotations

import typer

from syntabula.cli.console import Console

_NEEDS = {"target": "a target", "holdout": "a holdout", "rules": "rules in a schema"}


def metrics(context: typer.Context) -> None:
    """List the metrics of `evaluate`, with what they need and their sources."""
    console: Console = context.obj
    from syntabula import list_metrics

    known = list_metrics()
    width = max(len(metric.key) for metric in known)
    lines: list[str] = []
    group = ""
    for metric in known:
        if metric.group != group:
            group = metric.group
            lines += ["", group.capitalize()]
        needs = "".join(f"; needs {_NEEDS[need]}" for need in metric.needs)
        asked = "" if metric.quick else "; only on request"
        paper = f" ({metric.paper})" if metric.paper else ""
        lines.append(f"  {metric.key:<{width}}  {metric.summary}{paper}")
        lines.append(f"  {'':<{width}}  {metric.direction} is better{needs}{asked}")
    facts = [
        {
            "key": metric.key,
            "group": metric.group,
            "summary": metric.summary,
            "direction": metric.direction,
            "best": metric.best,
            "paper": metric.paper,
            "needs": [*metric.needs],
            "quick": metric.quick,
        }
        for metric in known
    ]
    console.result("\n".join(lines[1:]), facts)
