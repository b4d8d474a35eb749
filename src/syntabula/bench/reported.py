"""The figures that the papers print, as facts with their source."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from syntabula.bench.study import Study

Figures = Mapping[tuple[str, str, str, float], float]


def reported_figures(study: Study) -> Figures:
    """Return the printed figures of a study by score, table, label and budget; empty if there are none."""
    found: dict[tuple[str, str, str, float], float] = {}
    exact = {c.label for c in study.methods if c.is_baseline and c.method != "BINS"}
    for place in study.reported:
        printed = _papers()[place.paper]["tables"].get(place.table, {})
        for score, theirs in place.scores.items():
            for dataset, title in place.datasets.items():
                by_method = printed.get(theirs, {}).get(title, {})
                for label, method in place.methods.items():
                    for epsilon, value in by_method.get(method, {}).items():
                        budgets = [_budget(epsilon)] if epsilon else study.epsilons
                        for budget in [math.inf] if label in exact else budgets:
                            scale = _SECONDS if theirs == "running_time_min" else 1.0
                            found.setdefault((score, dataset, label, budget), scale * float(value))
    return found


_SECONDS = 60.0
"""Running times are printed in minutes, and shown as `fit seconds`."""


def source_of(paper: str) -> str:
    """Return where a paper's figures are from, and what they are."""
    return str(_papers()[paper]["source"])


def _budget(epsilon: str) -> float:
    return math.inf if epsilon == "inf" else float(epsilon)


@functools.cache
def _papers() -> Mapping[str, Any]:
    text = resources.files("syntabula.bench").joinpath("reported.json").read_text(encoding="utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found
