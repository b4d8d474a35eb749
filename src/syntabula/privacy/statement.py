"""The privacy statement of a release, in plain words for a reader without training in statistics."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from syntabula.privacy.conversion import shown_above
from syntabula.privacy.statement_facts import MethodChoice, StatementFacts, lines_of

if TYPE_CHECKING:
    from syntabula.privacy.ledger import Ledger
    from syntabula.privacy.noise import NoiseSource

_OF_COLUMN = re.compile(r"""(.+?) of (['"]).*\2""", re.DOTALL)
_MOST_APART = 3
"""Largest number of otherwise equal steps, one per column, that are still listed one by one."""

_GROUPS = (2, 5, 10)
"""Numbers of records of one person for which a statement says what is promised."""

_USELESS_DELTA = 0.01

_OF_UNITS = (
    "Which column names a unit, {column!r}, and how many rows of one are used at most, {rows}. A hash chooses them, "
    "which looks at the key alone; the others are not used. Keys are made anew."
)

_OF_TYPES = (
    "Stored types of undeclared columns ({n}): {names}. For a column of categories, the type is the kind of its "
    "labels and whether they are ordered; the labels themselves were found like any other domain."
)


@dataclass(frozen=True, kw_only=True)
class PrivacyStatement(StatementFacts):
    """The facts about a release's privacy, and their text in plain words; see `StatementFacts` for its attributes."""

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Return the statement as plain text for a reader without training in statistics."""
        parts = ["PRIVACY STATEMENT"]
        for heading, lines in self.sections():
            parts += ["", *([heading] if heading else []), *lines]
        return "\n".join(parts) + "\n"

    def sections(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the headings of `text` and the lines below each; the verdict comes first, without a heading."""
        choice = self.choice
        why = [] if choice is None else _wrapped(f"{choice.method}, because {choice.reason}.")
        return (
            ("", tuple(_verdict(self))),
            *([("Which method was chosen, and why", tuple(why))] if why else []),
            ("What it protects", tuple(_protection(self))),
            ("What was spent, step by step", tuple(_spending(self))),
            ("What is taken as public", tuple(_public(self))),
            ("What it does not cover", tuple(_limits(self))),
        )


def statement_of(
    ledger: Ledger,
    noise: NoiseSource,
    *,
    method: str,
    provenance: Mapping[str, str],
    version: str,
    choice: MethodChoice | None,
    types_read: bool,
    stored_types: Sequence[str] = (),
    made_anew: Sequence[str] = (),
    hidden: Sequence[str] = (),
    cut_off: Mapping[str, float] | None = None,
    cut_off_at_most: float = 0.0,
    rules: Sequence[str] = (),
    rules_observed: bool = False,
) -> PrivacyStatement:
    """Make the statement of a run; see the attributes of `StatementFacts`."""
    private = ledger.budget.kind != "none"
    return PrivacyStatement(
        method=method,
        budget=ledger.budget,
        epsilon_spent=ledger.epsilon_spent if private else None,
        lines=lines_of(ledger),
        relation=ledger.unit.relation,
        unit=ledger.unit,
        noise=noise.name,
        noise_is_private=noise.is_private,
        provenance=dict(provenance),
        version=version,
        choice=choice,
        replayed=ledger.replayed,
        types_read=types_read,
        stored_types=tuple(stored_types),
        made_anew=tuple(made_anew),
        hidden=tuple(hidden),
        cut_off=dict(cut_off or {}),
        cut_off_at_most=cut_off_at_most,
        rules=tuple(rules),
        rules_observed=rules_observed,
    )


def _verdict(statement: StatementFacts) -> list[str]:
    if statement.reasons_against:
        return [f"  WARNING: {reason}." for reason in statement.reasons_against]
    return [f"  This release is differentially private: {_bounds(statement, statement.budget.epsilon)}."]


def _bounds(statement: StatementFacts, epsilon_at_most: float) -> str:
    epsilon = f"epsilon = {shown_above(epsilon_at_most)}"
    if statement.budget.kind == "pure":
        return f"{epsilon} (pure)"
    return f"{epsilon}, delta = {shown_above(statement.budget.delta)}"


def _protection(statement: StatementFacts) -> list[str]:
    if statement.budget.kind == "none":
        return ["  Nothing: the synthetic table may reveal anything about the people in the original."]
    lines = [
        f"  Unit: {statement.unit.words}. Neighbouring tables: {statement.relation}.",
        "  Whatever an attacker already knows, and whatever is done with this release, the odds of any",
        f"  conclusion about whether a given {_unit(statement)} was in the table change by at most a factor of",
        f"  exp(epsilon) = {_factor(statement.budget.epsilon)}"
        + (
            f", except with probability delta = {shown_above(statement.budget.delta)}."
            if statement.budget.delta
            else "."
        ),
        "  The number of records is protected too: it is estimated from noisy counts.",
        f"  Allowed: {statement.budget.describe(statement.unit.short)}",
        f"  Steps add up {statement.budget.composition()}.",
        f"  Noise: {statement.noise}.",
    ]
    if statement.reasons_against:
        lines.append("  The warnings above limit this: they name what the guarantee does not cover.")
    return lines


def _spending(statement: StatementFacts) -> list[str]:
    groups = folded([(line.step, line.mechanism) for line in statement.lines])
    width = max((len(name) for name, _ in groups), default=0)
    rows = []
    for name, places in groups:
        lines = [statement.lines[place] for place in places]
        share = "   -  " if lines[0].share is None else f"{sum(x.share or 0.0 for x in lines):6.1%}"
        each = "each " if len(lines) > 1 else ""
        rows.append(f"  {share}  {name:<{width}}  {each}{lines[0].mechanism}")
    if statement.epsilon_spent is not None:
        total = sum(line.share or 0.0 for line in statement.lines)
        rows.append(f"  {total:6.1%}  in all: {_bounds(statement, statement.epsilon_spent)}")
    if any(line.events is None for line in statement.lines):
        rows += _wrapped(
            "The version that made this release did not record the parameters of each draw, so the total cannot be "
            "recomputed."
        )
    return rows + _resumption(statement)


def _resumption(statement: StatementFacts) -> list[str]:
    if not statement.replayed:
        return []
    return [
        f"  The run was interrupted and resumed: {statement.replayed} of the answers came from its journal, and",
        "  none was drawn or charged twice. If the table was changed in between, they describe the",
        "  earlier one; what all answers together reveal about a record stays within the total.",
    ]


def _public(statement: StatementFacts) -> list[str]:
    stored, unit = statement.stored_types, statement.unit
    lines = [
        "  Column names and their order, the kind of table (of text its separator, quotes and encoding too),",
        "  the schema and the options of the method.",
        *(_wrapped(_OF_TYPES.format(n=len(stored), names=", ".join(stored))) if stored else []),
        "  Values outside the schema are clipped to its bounds or read as missing or other; a record that",
        "  fits no declared value is left out. Each record is treated independently of the others.",
        *(_wrapped(_OF_UNITS.format(column=unit.column, rows=unit.rows)) if unit.column else []),
    ]
    paid, found = {line.step for line in statement.lines}, statement.columns_of("private")
    here = [c for c in found if domain_step(c) in paid]
    earlier = [c for c in found if c not in here]
    exact = statement.budget.currency == "none"
    how = (
        "found without privacy, by exact counts"
        if exact
        else "found under differential privacy, paid for above"
    )
    for words, names in (
        ("stated by the custodian, independently of the data", statement.columns_of("public")),
        (how, here),
        ("found under differential privacy by an earlier release, whose cost comes on top", earlier),
        ("READ OFF THE SENSITIVE TABLE, not protected", statement.columns_of("observed")),
    ):
        if names:
            lines += _wrapped(f"Domains {words} ({len(names)}): {', '.join(names)}.")
    if rules := statement.rules:
        source = (
            "READ OFF THE SENSITIVE TABLE, not protected"
            if statement.rules_observed
            else "stated by the custodian"
        )
        lines += _wrapped(
            f"Rules that every row of the release satisfies, {source}, at no cost ({len(rules)}): {'; '.join(rules)}."
        )
    if statement.cut_off:
        parts = ", ".join(f"{name} ({part:.0%})" for name, part in statement.cut_off.items())
        lines += _wrapped(
            "Of these columns, values beyond the bounds that were found are moved to the nearest bound "
            f"({'fractions' if exact else 'noisy fractions'}): {parts}. To keep them, state bounds in a schema."
        )
    if statement.cut_off_at_most > 0:
        which = "the other columns" if statement.cut_off else "columns"
        counted = "" if exact else " by noisy counts, in 19 columns of 20"
        lines += _wrapped(
            f"Of {which} whose bounds were found, values beyond them are moved to the nearest bound too: at most "
            f"{statement.cut_off_at_most:.1%} of the values of each{counted}. A few large values may hold most of a "
            "column's spread; to keep them, state bounds in a schema."
        )
    anew = statement.made_anew
    if anew:
        hides = "the values are keys, or there are none"
        why = hides if exact else f"noise hides every category, {hides}"
        more = "" if exact else ", or raise epsilon or the share of preprocessing"
        lines += _wrapped(
            f"For {', '.join(anew)}, {why}: they are made anew, and only the number of missing cells, how many "
            f"keys differ and, where most have one, the form of keys was learned. To learn more, state the categories "
            f"in a schema{more}."
        )
    return lines + _without_values(statement)


def _without_values(statement: StatementFacts) -> list[str]:
    """Name the columns of numbers, days and times of which only missing cells were learned."""
    if not statement.hidden:
        return []
    names = ", ".join(statement.hidden)
    if statement.budget.currency == "none":
        return _wrapped(f"For {names}, there are no values: synthetic rows hold none either.")
    return _wrapped(
        f"For {names}, noise hides where the values lie, or there are none: each is replaced by 0, or by 1970-01-01, and "
        "only which cells are missing was learned. To learn more, state bounds in a schema, or raise epsilon or the "
        "share of preprocessing."
    )


def _limits(statement: StatementFacts) -> list[str]:
    # Without privacy there is nothing to add up, and nobody is protected.
    added = "  Several releases from the same table add up: their epsilons must be added, and their deltas."
    guarantee = [] if statement.budget.kind == "none" else [added, *_wrapped(_several_rows(statement))]
    return [
        *guarantee,
        "  Scores that compare the synthetic with the real table are not part of this release and are not",
        "  private. Timing and memory of the computer that made the release are not covered.",
        f"  Made by syntabula {statement.version}, method {statement.method}.",
    ]


def _unit(statement: StatementFacts) -> str:
    """Return a unit in a few words."""
    return "record" if statement.unit.column is None else f"{statement.unit.column!r}, with all of its rows,"


def _several_rows(statement: StatementFacts) -> str:
    """Say what is promised to somebody with several records."""
    unit, budget = statement.unit, statement.budget
    if unit.column is not None:
        return (
            f"Whoever has more than one {unit.column!r} is protected less. That the rows of one synthetic "
            f"{unit.column!r} fit together was not learned."
        )
    less = "A person with several records is protected less"
    if budget.kind == "none":
        return f"{less}."
    of_groups = [(rows, *budget.for_rows(rows)) for rows in _GROUPS]
    useful = [group for group in of_groups if group[2] < _USELESS_DELTA]
    bounds = [
        f"with {rows} of them by epsilon {shown_above(epsilon, 3)}"
        + (f", delta {shown_above(delta, 2)}" if delta > budget.delta else "")
        for rows, epsilon, delta in useful
    ]
    rest = "" if len(useful) == len(of_groups) else "; with more, no bound of use follows"
    return (
        f"{less}{': ' if bounds else ''}{'; '.join(bounds)}{rest}. To protect persons, name the column of their keys "
        "as the unit in the schema."
    )


def _wrapped(sentence: str) -> list[str]:
    return wrap(
        sentence,
        width=104,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _factor(epsilon: float) -> str:
    if epsilon > 50:
        return "more than 10^21, which protects nobody"
    return shown_above(math.exp(epsilon), digits=3)


def domain_step(name: str) -> str:
    """Return the ledger's name for the search for a column's domain."""
    return f"find the domain of {name!r}"


def folded(steps: Sequence[tuple[str, Hashable]]) -> list[tuple[str, list[int]]]:
    """Combine steps that did the same for one column each, so that wide tables read like narrow ones.

    Args:
        steps: Name of each step, such as "fit the bins of 'age'", and a key that combined steps must share.

    Returns:
        Names, in order of the first step of each, and the positions of the steps; a few columns are not combined.
    """
    groups: dict[tuple[str, Hashable], list[int]] = {}
    for position, (name, common) in enumerate(steps):
        of_column = _OF_COLUMN.fullmatch(name)
        key = (of_column[1], common) if of_column else (name, (position, common))
        groups.setdefault(key, []).append(position)
    found: list[tuple[str, list[int]]] = []
    for (what, _), places in groups.items():
        if len(places) > _MOST_APART:
            found.append((f"{what} of {len(places)} columns", places))
        else:
            found += [(steps[place][0], [place]) for place in places]
    return sorted(found, key=lambda group: group[1][0])
