"""Reads results of `evaluate` and `attack` for the page, from objects or their JSON files."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from syntabula._arguments import path as file_path
from syntabula._arguments import refusal
from syntabula._files import not_a_file
from syntabula.errors import ArgumentError
from syntabula.metrics.comparison import Comparison
from syntabula.metrics.evaluation import Evaluation, Result
from syntabula.metrics.metric import MetricInfo
from syntabula.metrics.registry import loaded_metrics
from syntabula.metrics.score import Score

PathLike = str | os.PathLike[str]
Facts = Mapping[str, Any]


def read_evaluation(source: Evaluation | PathLike) -> tuple[tuple[Result, ...], Facts]:
    """Return scores, and the facts about the tables they were computed from.

    Args:
        source: The result of `evaluate`, or a file with the output of `syntabula evaluate --json`.

    Raises:
        ArgumentError: If the file holds something else.
        OSError: If the file cannot be read.
    """
    if isinstance(source, Evaluation):
        return source.results, {**source.facts, "faults": source.faults}
    found = _parsed(file_path("evaluation", source))
    try:
        # Files of earlier versions have no faults.
        read = {**found, "faults": [*found.get("faults", ())]}
        return tuple(_result(facts) for facts in found["scores"]), read
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ArgumentError(
            f"{str(source)!r} holds no scores; make it with `syntabula evaluate --json`"
        ) from None


def read_attacks(sources: Any) -> list[Facts]:
    """Return results of attacks and disclosure scores, each as JSON-able facts.

    Args:
        sources: A result of `attack` or `membership_disclosure`, a file that `syntabula attack` wrote, or
            several of these.

    Raises:
        ArgumentError: If it is something else.
        OSError: If a file cannot be read.
    """
    if isinstance(sources, str | os.PathLike):
        found = _parsed(sources)
        many = [*found.get("attacks", ()), *([found["disclosure"]] if "disclosure" in found else [])]
        if not many or not all(_is_finding(facts) for facts in many):
            raise ArgumentError(f"{str(sources)!r} holds no attacks; make it with `syntabula attack --out`")
        return many
    if hasattr(sources, "to_json"):
        facts = sources.to_json()
        if not _is_finding(facts):
            raise ArgumentError("attacks must be results of `attack` or `membership_disclosure`")
        return [facts]
    if isinstance(sources, Mapping):
        return [facts for source in sources.values() for facts in read_attacks(source)]
    if isinstance(sources, Iterable):
        return [facts for source in sources for facts in read_attacks(source)]
    raise refusal("attacks", "results of attacks, or files that `syntabula attack` wrote", sources)


def not_computed(facts: Facts, results: Iterable[Result]) -> list[str]:
    """Return the sentences about metrics that cannot be loaded, or broke, and that no note of a score holds."""
    notes = [result.score.note for result in results]
    return [fault for fault in map(str, facts["faults"]) if not any(fault in note for note in notes)]


def check_same_tables(facts: Facts, tables: Comparison) -> None:
    """Refuse scores of tables other than those of the page; raises ArgumentError."""
    expected = {
        "rows_real": tables.real.n_rows,
        "rows_synthetic": tables.synthetic.n_rows,
        "columns": [*tables.columns],
    }
    if tables.holdout is not None:
        expected["rows_holdout"] = tables.holdout.n_rows
    if tables.target is not None:
        expected["target"] = tables.target
    for name, value in expected.items():
        if facts.get(name) != value:
            raise ArgumentError(
                f"the scores are of other tables: their {name.replace('_', ' of ')} differ; evaluate these "
                "tables, with the same schema, holdout and target"
            )


def _parsed(path: PathLike) -> dict[str, Any]:
    if kind := not_a_file(path, standard_input=True):
        raise ArgumentError(f"{str(path)!r} is {kind}, not a file; give the path of a file")
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError:
        raise ArgumentError(f"{str(path)!r} is not a JSON document") from None
    if not isinstance(found, dict):
        raise ArgumentError(f"{str(path)!r} holds no results")
    return found


def _result(facts: Facts) -> Result:
    score = Score(
        metric=str(facts["metric"]),
        value=_number(facts["value"]),
        direction=facts["direction"],
        details={tuple(map(str, part["of"])): _number(part["value"]) for part in facts["details"]},
        facts=dict(facts["facts"]),
        note=str(facts["note"]),
        baselines={name: _number(value) for name, value in facts["baselines"].items()},
    )
    known = {info.key: info for info in loaded_metrics()[0]}
    # A metric with options of its own, or of another package, is not in the registry here.
    info = known.get(score.metric) or MetricInfo(
        key=score.metric,
        group=facts["group"],
        summary="",
        direction=score.direction,
        best=None,
        paper="",
        home="",
    )
    return Result(info=info, against=facts["against"], score=score, seconds=float(facts["seconds"]))


def _is_finding(facts: Any) -> bool:
    return isinstance(facts, Mapping) and ("auc" in facts or facts.get("metric") is not None)


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
