"""Texts of the page: results in plain words, and formatted numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from syntabula._figures import short
from syntabula.metrics.comparison import Comparison, Floats
from syntabula.metrics.evaluation import Result
from syntabula.metrics.score import Score
from syntabula.privacy.conversion import shown_above
from syntabula.report.differences import Difference
from syntabula.report.groups import Groups, described, shown
from syntabula.report.plots import short_number

_LEAST_TIES = 0.01
"""If the mean association of a table's columns is below this, there is no dependence to preserve."""


_MOST_NAMED = 20
_NAMED_RULES = 5


def of_empty_categories(empty: Mapping[str, int], columns: Mapping[str, Any]) -> str:
    """Say which columns have declared categories that never come out, and what to do.

    Args:
        empty: Their number, of each column that has any.
        columns: The columns of the schema, by name.
    """
    declared = {name: len(columns[name].categories) for name in empty}
    worst = sorted(empty, key=lambda name: -empty[name] / declared[name])
    listed = ", ".join(f"{empty[name]} of {declared[name]} of {name!r}" for name in worst[:_MOST_NAMED])
    return (
        f"declared categories that no record has, or too few to stand out from noise, never come out: {listed}"
        f"{' and more' if len(worst) > _MOST_NAMED else ''}; merge rare categories, raise epsilon, or use more records"
    )


@dataclass(frozen=True, kw_only=True)
class Tile:
    """One number at the top of the page.

    Attributes:
        name: Name of the number.
        value: The number.
        meaning: How to read it, in one sentence.
    """

    name: str
    value: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A mark on the scale of a score.

    Attributes:
        name: Whose value it is: SYNTHETIC or a baseline.
        value: The value.
        place: Its position, in percent of the scale's length.
    """

    name: str
    value: str
    place: float


def percent(share: float) -> str:
    """Return a share as a percentage to a tenth."""
    text = f"{100 * share:.1f}" if share < 0.9995 else "100"
    # A number and its sign stay on one line.
    return f"{text}\u00a0%" if share >= 0.0005 or share == 0 else "below 0.1\u00a0%"


def number(value: float) -> str:
    """Return a value with three digits, or a dash if there is none."""
    return short(value) if math.isfinite(value) else "–"


def edge_texts(groups: Groups, *, is_time: bool) -> list[str]:
    """Return the texts of a numeric column's edges; empty if it is categorical."""
    if groups.edges is None:
        return []
    if not is_time:
        # An interval that begins between 16 and 17 starts with 17.
        between = bool((groups.edges % 1 == 0.5).all())
        return [short_number(float(edge)) for edge in groups.edges + 0.5 * between]
    times = np.rint(groups.edges).astype(np.int64).view("datetime64[us]")
    long = groups.edges[-1] - groups.edges[0] > 3 * 86_400e6
    texts = np.datetime_as_string(times, unit="D" if long else "m")
    return [str(text).replace("T", " ") for text in texts]


def tiles(
    scores: Mapping[int, Score], ties: Score, statement: Any, attacks: Sequence[Mapping[str, Any]]
) -> list[Tile]:
    """Return the numbers at the top of the page; `ties` is the score of associations."""
    found = [
        Tile(
            name="Single columns",
            value=percent(scores[1].value),
            meaning="of a column's cells would have to change, on average, for both tables to agree; "
            f"{percent(scores[1].baselines['HALF'])} between two halves of the real table",
        )
    ]
    if any(len(part) == 2 for part in scores[2].details):
        found.append(
            Tile(
                name="Pairs of columns",
                value=percent(scores[2].value),
                meaning="of the rows, for two columns seen together; "
                f"{percent(scores[2].baselines['HALF'])} between two halves of the real table, "
                f"{percent(scores[2].baselines['HISTOGRAM'])} if the columns were independent",
            )
        )
        kept = ties_kept(ties)
        if kept is not None:
            found.append(
                Tile(
                    name="Ties kept",
                    value=f"{100 * kept:.0f}\u00a0%",
                    meaning="of the way from independent columns to a fresh half of the real table, "
                    "measured by the association of columns",
                )
            )
    if statement is not None:
        spent = statement.epsilon_spent
        found.append(
            Tile(
                name="Privacy",
                value="none" if spent is None else f"ε = {shown_above(statement.budget.epsilon, 4)}",
                meaning="no guarantee at all"
                if spent is None
                else f"δ = {shown_above(statement.budget.delta)}; smaller is stronger"
                + ("" if statement.is_private else ". It does NOT hold in full: see the statement"),
            )
        )
    judged = [facts for facts in attacks if "auc" in facts]
    if judged:
        worst = max(judged, key=lambda facts: float(facts["auc"]))
        found.append(
            Tile(
                name="Strongest attack",
                value=f"AUC {worst['auc']:.2f}",
                meaning="chance is 0.5"
                + (
                    f"; no attack can exceed {worst['auc_ceiling']:.2f} if the guarantee holds"
                    if worst.get("auc_ceiling") is not None
                    else ""
                ),
            )
        )
    return found


def ties_kept(ties: Score) -> float | None:
    """Return where associations are between HISTOGRAM and HALF (0 .. 1); None if there are none to preserve.

    The distance of pairs would not do: it would count errors of single columns as lost dependence.
    """
    best, without = ties.baselines["HALF"], ties.baselines["HISTOGRAM"]
    if not without - best > _LEAST_TIES:
        return None
    return min(1.0, max(0.0, (without - ties.value) / (without - best)))


def overview(
    tables: Comparison,
    scores: Mapping[int, Score],
    ties: Score,
    found: Mapping[int, Sequence[Difference]],
) -> list[str]:
    """Return the page's summary, in a few sentences."""
    real, synthetic = tables.real.n_rows, tables.synthetic.n_rows
    columns = len(tables.columns)
    sentences = [
        f"The real table has {real:,} rows and the synthetic one {synthetic:,}; "
        f"{columns} column{'s were' if columns > 1 else ' was'} compared."
    ]
    if tables.left_out:
        sentences.append(
            f"Not compared, as their values are made up: {', '.join(map(shown, tables.left_out))}."
        )
    if tables.real.units is not None:
        sentences.append("Halves of the real table keep all rows of a person together.")
    kept = ties_kept(ties) if found[2] else None
    if kept is not None:
        quality = next(word for least, word in _QUALITY if kept >= least)
        sentences.append(f"The synthetic table keeps {quality} of the dependence between pairs of columns.")
    for way, what in ((1, "column"), (2, "pair of columns")):
        parts = found[way]
        if parts and parts[0].excess > 0.01:
            sentences.append(
                f"The {what} that differs most beyond chance is {joined(parts[0].columns)}: "
                f"{percent(parts[0].distance)} differ, where two halves of the real table differ by "
                f"{percent(parts[0].chance)}."
            )
        elif parts:
            sentences.append(f"No {what} differs by more than 1\u00a0% beyond chance.")
    return sentences


_QUALITY = (
    (0.9, "nearly all"),
    (0.65, "most"),
    (0.35, "about half"),
    (0.1, "a little"),
    (0.0, "almost nothing"),
)


def joined(columns: Sequence[str]) -> str:
    """Return the joined names of one or two columns."""
    return " × ".join(map(shown, columns))


def unchecked_rules(rules: Sequence[str], *, whole: bool) -> str:
    """Say that rules of a release were not checked: all of them, or which."""
    why = "the given schema declares a column of theirs otherwise, or the real table lacks one"
    if whole:
        return f"The rules of the release were not checked: {why}."
    named = "; ".join(rules[:_NAMED_RULES]) + ("; and so on" if len(rules) > _NAMED_RULES else "")
    return f"Some rules of the release were not checked: {why}. They are: {named}."


def paragraphs(lines: Sequence[str]) -> list[str]:
    """Join lines that were wrapped for a terminal into paragraphs, each ending with a full stop."""
    found = [""]
    for line in lines:
        found[-1] = f"{found[-1]} {line.strip()}".strip()
        if line.endswith("."):
            found.append("")
    return [text for text in found if text]


def largest_gap(real: Floats, synthetic: Floats, words: Sequence[str]) -> str:
    """Return which group differs most between the tables.

    Args:
        real: Shares of the groups, flat.
        synthetic: The same.
        words: The groups in words.
    """
    place = int(np.argmax(np.abs(real - synthetic)))
    return f"{words[place]}: {percent(real[place])} real, {percent(synthetic[place])} synthetic"


def group_words(groups: Groups, edges: Sequence[str]) -> list[str]:
    """Return the groups of a column in words."""
    return [described(groups, place, edges) for place in range(groups.size)]


def scale(result: Result) -> list[Mark]:
    """Return the marks of the score and its baselines, from the best value to the worst of them."""
    score = result.score
    return _marks(score.value, score.baselines, score.direction, result.info.best)


def disclosure_scale(facts: Mapping[str, Any]) -> list[Mark]:
    """Return such marks for a disclosure score, given as JSON-able facts, and its baselines."""
    value, baselines = facts["value"], facts.get("baselines") or {}
    known = {name: math.nan if found is None else float(found) for name, found in baselines.items()}
    return _marks(math.nan if value is None else float(value), known, facts["direction"], 0.0)


def _marks(value: float, baselines: Mapping[Any, float], direction: str, best: float | None) -> list[Mark]:
    values: dict[str, float] = {"SYNTHETIC": value}
    values.update({str(name): found for name, found in baselines.items()})
    known = {name: found for name, found in values.items() if math.isfinite(found)}
    if len(known) < 2 or "SYNTHETIC" not in known:
        return []
    ends = [*known.values(), *([] if best is None else [best])]
    low, high = min(ends), max(ends)
    span = (high - low) or 1.0
    return [
        Mark(
            name=name,
            value=number(found),
            place=100 * ((found - low) / span if direction == "lower" else (high - found) / span),
        )
        for name, found in known.items()
    ]
