"""Which selectors and models there are, and which pairs of them make sense: the grid of all marginal methods."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from syntabula._arguments import refusal, shown
from syntabula.errors import ArgumentError
from syntabula.models.base import MarginalModel
from syntabula.select.base import Selector


@dataclass(frozen=True)
class PartInfo:
    """A selector or a model that can be named in any command.

    Attributes:
        key: Its lower-case name.
        home: Module (within syntabula) and class, "module:Class".
        summary: What it does, in one sentence.
        adaptive: Of a selector: it measures again where the model is wrong, until the budget is spent.
        why_not_adaptive: Of a model: why an adaptive selector makes no sense with it; empty if it does.
    """

    key: str
    home: str
    summary: str
    adaptive: bool = False
    why_not_adaptive: str = ""


# A new selector or model takes one line in its table, and is then known to `--selector`, `--model` and
# `syntabula methods`. Its class is a dataclass whose fields are the options and have defaults; a model needs
# a `kind` and a line in `models/kinds.py` as well, so that releases can be saved.
_SELECTORS = (
    PartInfo("one_way", "select.one_way:OneWay", "Every column on its own."),
    PartInfo("all_pairs", "select.given:AllPairs", "Every pair of columns at once."),
    PartInfo("given", "select.given:GivenWorkload", "The marginals of a given workload at once."),
    PartInfo("spanning_tree", "select.spanning_tree:SpanningTree", "Pairs that join all columns, as in MST."),
    PartInfo("privbayes", "select.privbayes:ParentSets", "A few parents for each column, as in PrivBayes."),
    PartInfo(
        "independent_difference",
        "select.independent_difference:IndependentDifference",
        "Pairs whose dependence outweighs their noise, as in PrivSyn (InDif).",
    ),
    PartInfo(
        "adaptive", "select.adaptive:Adaptive", "Where the model is most wrong, as in AIM.", adaptive=True
    ),
    PartInfo(
        "mwem",
        "select.worst_approximated:WorstApproximated",
        "A round per column, each where the model is most wrong, as in MWEM.",
        adaptive=True,
    ),
    PartInfo(
        "doubling",
        "select.doubling:FirstTimeDoubling",
        "The pair where the model is most wrong, whatever its size, as in MargNet.",
        adaptive=True,
    ),
    PartInfo(
        "fixed_rounds",
        "select.fixed_rounds:FixedRounds",
        "The pairs where the model is most wrong, in rounds of equal cost, as in MargNet-s.",
        adaptive=True,
    ),
    PartInfo(
        "top_q",
        "select.top_q:TopQ",
        "A few pairs a round, none twice, and thresholds of ordered columns, as in RAP++.",
        adaptive=True,
    ),
    PartInfo(
        "cells",
        "select.cell_queries:CellQueries",
        "Single cells where the model is most wrong, as in GEM and RAP.",
        adaptive=True,
    ),
    PartInfo(
        "privmrf",
        "select.privmrf:AttributeGraph",
        "Marginals within a graph of dependent columns, refined, as in PrivMRF.",
        adaptive=True,
    ),
)
_MODELS = (
    PartInfo("pgm", "models.pgm:PGM", "Private-PGM: factors on a junction tree."),
    PartInfo(
        "relaxed_projection", "models.relaxed_projection:RelaxedProjection", "Free soft rows, as in RAP."
    ),
    PartInfo("neural", "models.neural:NeuralRows", "Soft rows that a network makes, as in GEM and MargNet."),
    PartInfo("gum", "models.gum:GUM", "Records copied and overwritten step by step, as in PrivSyn."),
    PartInfo("genetic", "models.genetic:Genetic", "Records that mutate and cross over, as in Private-GSD."),
    PartInfo(
        "bayesian_network",
        "models.bayesian_network:BayesianNetwork",
        "Each column given a few before it, as in PrivBayes.",
        why_not_adaptive="a network has one set of parents for each column, so it cannot learn whatever marginal "
        "is found wrong next, and the same one would be chosen again. Take spanning_tree, privbayes, all_pairs or "
        "given, which choose beforehand, or another model",
    ),
)


def list_selectors() -> list[PartInfo]:
    """Return all strategies that decide which marginals are measured; nothing heavy is imported."""
    return list(_SELECTORS)


def list_models() -> list[PartInfo]:
    """Return all models that are fitted to marginals; nothing heavy is imported."""
    return list(_MODELS)


def grid_parts(selector: str, model: str) -> dict[str, Any]:
    """Return a selector and a model with their default options, as keyword arguments of `Marginal`.

    Args:
        selector: Key of a selector, as `list_selectors` gives it.
        model: Key of a model, as `list_models` gives it.

    Raises:
        ArgumentError: If there is none of that key, with near misses, or the pair makes no sense, with why.

    Examples:
        >>> sorted(grid_parts("adaptive", "pgm"))
        ['model', 'selector']
    """
    chosen = _named("selector", selector, _SELECTORS), _named("model", model, _MODELS)
    _check(*chosen)
    return {"selector": _made(chosen[0]), "model": _made(chosen[1])}


def check_pair(selector: Selector, model: MarginalModel) -> None:
    """Raise ArgumentError, saying why, if these are no parts or make no sense together; others' own always do."""
    if not hasattr(selector, "select"):
        raise refusal(
            "selector", f"a selector or the key of one ({', '.join(s.key for s in _SELECTORS)})", selector
        )
    if not hasattr(model, "fit"):
        raise refusal("model", f"a model or the key of one ({', '.join(m.key for m in _MODELS)})", model)
    chosen = _info(selector, _SELECTORS), _info(model, _MODELS)
    if chosen[0] is not None and chosen[1] is not None:
        _check(chosen[0], chosen[1])


def pair_name(selector: Selector, model: MarginalModel) -> str:
    """Return what a statement calls a free pair: the keys of its parts, or their classes if they have none."""
    names = []
    for part, table in ((selector, _SELECTORS), (model, _MODELS)):
        info = _info(part, table)
        names.append(info.key if info else type(part).__name__)
    return "+".join(names)


def _check(selector: PartInfo, model: PartInfo) -> None:
    if selector.adaptive and model.why_not_adaptive:
        raise ArgumentError(
            f"selector {selector.key!r} cannot be combined with model {model.key!r}: {model.why_not_adaptive}"
        )


def named_part(kind: str, key: str) -> Any:
    """Return a "selector" or a "model" with its default options; raises ArgumentError if there is none of that key."""
    return _made(_named(kind, key, _SELECTORS if kind == "selector" else _MODELS))


def _named(kind: str, key: str, table: tuple[PartInfo, ...]) -> PartInfo:
    known = {info.key: info for info in table}
    wanted = str(key).lower().replace("-", "_")
    if wanted not in known:
        # Users of a method know its name, which the summary of its part tells.
        of_method = [info.key for info in table if wanted in _words(info.summary)]
        near = of_method or difflib.get_close_matches(wanted, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ArgumentError(f"there is no {kind} {shown(key)}; {kind}s are {', '.join(known)}{hint}")
    return known[wanted]


def _words(summary: str) -> set[str]:
    return {word.replace("-", "_") for word in re.findall(r"[\w+-]+", summary.lower())}


def _info(part: object, table: tuple[PartInfo, ...]) -> PartInfo | None:
    module, name = type(part).__module__, type(part).__name__
    for info in table:
        home, _, listed = info.home.partition(":")
        # A package may list what one of its modules defines.
        if name == listed and f"{module}.".startswith(f"syntabula.{home}."):
            return info
    return None


def _made(info: PartInfo) -> Any:
    module, _, name = info.home.partition(":")
    return getattr(import_module(f"syntabula.{module}"), name)()
