"""The result of `evaluate`: scores as text, JSON or a data frame."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from syntabula._arguments import shown
from syntabula._figures import short
from syntabula.errors import ArgumentError
from syntabula.metrics.metric import Group, MetricInfo
from syntabula.metrics.score import Score
from syntabula.table.frames.object_columns import object_array
from syntabula.table.raw import Container, Origin, PhysicalType, RawColumn

Against = Literal["real", "holdout"]

_TEXTS = ("metric", "group", "against", "direction", "table", "part")

NOT_PRIVATE = (
    "These scores were computed from the sensitive table itself. They are NOT covered by any privacy guarantee: "
    "publish them only as you would publish statistics of the table"
)


@dataclass(frozen=True, kw_only=True)
class Result:
    """One score with its metric and reference table.

    Attributes:
        info: The metric.
        against: Table that the synthetic one was compared with.
        score: The score with its baselines.
        seconds: Time to compute it, including the baselines.
        fault: How the metric's plug-in broke, in one sentence; empty if it did not.
    """

    info: MetricInfo
    against: Against
    score: Score
    seconds: float
    fault: str = ""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Scores of a synthetic table.

    Attributes:
        results: Scores in the order of the registry, each against the real and then the holdout table.
        facts: What was compared: numbers of rows, columns, columns left out, and the seed.
        container: Kind of table that `to_frame` makes, that of the real table.
        unloaded: One sentence for each plug-in whose metric is not among the results because it cannot be loaded.
    """

    results: tuple[Result, ...]
    facts: Mapping[str, Any]
    container: Container
    unloaded: tuple[str, ...] = ()

    @property
    def faults(self) -> tuple[str, ...]:
        """One sentence for each metric of a plug-in that broke, and each that cannot be loaded; empty if all is well."""
        return tuple(dict.fromkeys([*(r.fault for r in self.results if r.fault), *self.unloaded]))

    def score(self, metric: str, against: Against = "real") -> Score:
        """Return one score.

        Args:
            metric: Key of the metric.
            against: Table that the synthetic one was compared with.

        Raises:
            ArgumentError: If this score was not computed.
        """
        for result in self.results:
            if result.score.metric == metric and result.against == against:
                return result.score
        known = ", ".join(dict.fromkeys(r.score.metric for r in self.results))
        raise ArgumentError(
            f"there is no score {shown(metric)} against the {against} table; there are {known}"
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the scores as a tidy table with one number per row.

        Columns are the metric, its group, what the synthetic table was compared with, the direction, the table
        that was scored (SYNTHETIC or a baseline), the part (empty for the whole), and the value.
        """
        for result in self.results:
            score = result.score
            shared = {
                "metric": score.metric,
                "group": result.info.group,
                "against": result.against,
                "direction": score.direction,
            }
            yield {**shared, "table": "SYNTHETIC", "part": "", "value": score.value}
            for baseline, value in score.baselines.items():
                yield {**shared, "table": baseline, "part": "", "value": value}
            for part, value in score.details.items():
                yield {**shared, "table": "SYNTHETIC", "part": _joined(part), "value": value}

    def to_frame(self) -> Any:
        """Return the tidy table of `rows` as a data frame of the real table's library.

        Raises:
            MissingExtraError: If no library of data frames is installed.
        """
        from syntabula.table.frames.frames import to_frame

        columns = self._columns()
        return to_frame(columns, Origin(self.container, {n: c.physical for n, c in columns.items()}))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the tidy table of `rows` to a file; the suffix sets the format.

        Raises:
            ArgumentError: If the suffix is unknown.
            DataError: If the file cannot be written.
        """
        from syntabula.table.files.files import write_table

        write_table(self._columns(), path)

    def _columns(self) -> dict[str, RawColumn]:
        rows = [*self.rows()]
        columns = {name: _text_column([row[name] for row in rows]) for name in _TEXTS}
        values = np.array([row["value"] for row in rows], dtype=np.float64)
        columns["value"] = RawColumn(values, np.isnan(values), PhysicalType("float", "float64"))
        return columns

    def to_json(self) -> dict[str, Any]:
        """Return JSON-able facts, including the privacy warning."""
        return {
            "warning": NOT_PRIVATE,
            **self.facts,
            "faults": [*self.faults],
            "scores": [
                {
                    "group": result.info.group,
                    "against": result.against,
                    "seconds": round(result.seconds, 3),
                    "best": result.info.best,
                    **result.score.to_json(),
                }
                for result in self.results
            ],
        }

    def text(self) -> str:
        """Return the scores for a terminal, with baselines, meaning and the worst part."""
        if not self.results:
            return "no score was computed"
        width = max(len(_title(result)) for result in self.results)
        lines = []
        for group, results in itertools.groupby(self.results, key=lambda r: r.info.group):
            lines += ["", _heading(group)]
            for result in results:
                lines.append(f"  {_title(result):<{width}}  {result.score}{_best(result)}")
                lines.append(f"  {'':<{width}}  {result.info.summary}{_furthest(result.score)}")
                if note := _note(result.score):
                    lines.append(f"  {'':<{width}}  Note: {note}")
        apart = self.facts.get("left_out")
        left_out = ["", f"Identifiers are not compared: {', '.join(apart)}."] if apart else []
        unit = self.facts.get("unit")
        split = [] if unit is None else ["", f"Halves and holdouts keep all rows with one {unit!r} together."]
        broken = [line for fault in self.unloaded for line in ("", f"Not computed: {fault}.")]
        return "\n".join([*lines[1:], *left_out, *split, *broken, "", f"warning: {NOT_PRIVATE}."])

    def __str__(self) -> str:
        return self.text()


def _title(result: Result) -> str:
    return result.score.metric + (" (holdout)" if result.against == "holdout" else "")


def _best(result: Result) -> str:
    """Return the best possible value if the score has no baselines."""
    best, score = result.info.best, result.score
    return "" if best is None or score.baselines or math.isnan(score.value) else f"; best {best:g}"


def _heading(group: Group) -> str:
    return group.capitalize()


def _furthest(score: Score) -> str:
    worst = score.worst_part
    return "" if worst is None else f". Worst: {_joined(worst[0])} {short(worst[1])}"


def _note(score: Score) -> str:
    """Return the note of a score, but of one without a value, where it stands in the value's place."""
    return "" if math.isnan(score.value) else score.note


def _joined(part: tuple[str, ...]) -> str:
    return " × ".join(part)


def _text_column(texts: list[str]) -> RawColumn:
    return RawColumn(object_array(texts), np.zeros(len(texts), dtype=np.bool_), PhysicalType("text", "str"))
