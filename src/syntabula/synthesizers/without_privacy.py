"""Chooses the method that suits a table where privacy is switched off, by rows, columns, time and what is installed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

from syntabula._extras import is_installed
from syntabula._register import load
from syntabula.privacy.statement_facts import MethodChoice
from syntabula.synthesizers.plan import plan_of
from syntabula.synthesizers.settings import Settings, TableFacts, default_of

if TYPE_CHECKING:
    from syntabula.select.automatic import Automatic

_FEWEST_COLUMNS = 3
"""Private-GSD takes pairs, of which there is one at most in fewer columns."""

SMALL_ROWS = 2_000
"""Private-GSD comes before ARGN for fewer rows: between 1,000 and 3,000 rows of ARGN became harder to tell."""


class Offer(NamedTuple):
    """A method, what it needs, and why it is chosen where all before it are left out.

    Attributes:
        key: Key of the method.
        reason: Why, for the statement.
        module: Library that it needs; empty if none.
        extra: The extra that installs it.
    """

    key: str
    reason: str
    module: str = ""
    extra: str = ""


_ARGN = Offer(
    "argn",
    "privacy is switched off, and no rows were harder to tell from real ones than its own, among methods that do "
    "not repeat records",
    "torch",
    "neural",
)
_CIRCUIT = Offer(
    "circuit",
    "privacy is switched off, and it learns from records without repeating them, in less time than argn",
    "torch",
    "neural",
)
_SYNTHPOP = Offer(
    "synthpop",
    "privacy is switched off, and its rows were hard to tell from real ones; they may repeat records",
    "sklearn",
    "evaluate",
)
_ALL_PAIRS = Offer(
    "private-gsd",
    "privacy is switched off, and all pairs of columns can be measured exactly; its rows came next to those of argn",
)
_FEW_ROWS = Offer(
    "private-gsd",
    f"privacy is switched off, and with fewer than {SMALL_ROWS:,} rows exact pairs of columns were the better teacher "
    "on the whole",
)
_TREE = Offer("mst", "privacy is switched off, and a tree of pairs is learned in the least time")
_SINGLE = Offer("independent", "no other method is available")


def chosen_without_privacy(
    auto: Settings, selector: Automatic, table: TableFacts
) -> tuple[Settings, MethodChoice]:
    """Return the method that learns a table exactly, with the settings of `auto`, and why.

    The first of the offers is taken that is installed, and whose plan is within the limits of memory and time.
    benchmarks/results/without_privacy.md has the figures that they are ordered by.
    """
    if table.n_columns == 1:
        return _made(auto, selector, "independent"), MethodChoice(
            method="independent", reason="a single column has no correlations"
        )
    left_out: list[str] = []
    for offer in _offers(table):
        if offer.module and not is_installed(offer.module):
            left_out.append(
                f"{offer.key} was left out, as the extra {offer.extra!r} ({offer.module}) is not installed"
            )
            continue
        method = _made(auto, selector, offer.key)
        plan = plan_of(method, table)
        largest = max((step.memory_mb for step in plan.steps), default=0.0)
        if offer is not _SINGLE and (limit := selector.too_large(largest, plan.seconds)):
            left_out.append(f"{offer.key} was left out, as it may take {limit}")
            continue
        break
    return method, MethodChoice(method=offer.key, reason="; ".join([offer.reason, *left_out]))


def _offers(table: TableFacts) -> Iterator[Offer]:
    """Yield the methods, best first; the last one is always possible."""
    has_pairs, is_small = table.n_columns >= _FEWEST_COLUMNS, table.n_rows < SMALL_ROWS
    if has_pairs and is_small:
        yield _FEW_ROWS
    yield _ARGN
    if has_pairs and not is_small:
        yield _ALL_PAIRS
    yield from (_CIRCUIT, _SYNTHPOP, _TREE, _SINGLE)


def _made(auto: Settings, selector: Automatic, key: str) -> Settings:
    """Return a method with the settings that were changed in `auto`; the others are its own."""
    shared = {f.name for f in fields(Settings)}
    # The defaults are those of `auto`.
    given: dict[str, Any] = {
        f.name: getattr(auto, f.name)
        for f in fields(auto)
        if f.name in shared and getattr(auto, f.name) != default_of(f)
    }
    if key == _ALL_PAIRS.key:
        given["model"] = selector.evolved
    method: Settings = load("synthesizer", key)(**given)
    return method
