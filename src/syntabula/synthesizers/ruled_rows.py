"""Draws rows of a release that has rules: rows are drawn and completed, and those that break a rule are discarded.

A model knows codes alone, and merges some: if two amounts share a bin, half of the pairs of values drawn from it would
break the rule that one is at most the other, though their codes keep it. So a row that breaks a rule first gets other
values within its codes, again and again, and is discarded only if none will do. Rows thus follow the release's
distribution of the codes that can satisfy the rules, and within them that of the values that do, whichever model it has.
A model that holds structural zeros draws few or no other codes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ResourceError, RuleWarning, warn_caller
from syntabula.marginals.domain import EncodedTable
from syntabula.models.base import Model
from syntabula.models.recoded import RecodedModel
from syntabula.synthesizers.drawn_ends import DrawnEnds
from syntabula.synthesizers.lost_groups import Groups
from syntabula.table.coding.codec import Codec
from syntabula.table.coding.column_codes import decode_column, encode_column
from syntabula.table.coding.conditions import Allowed
from syntabula.table.raw import RawColumn, RepeatedTexts, joined, joined_beside
from syntabula.table.rules.row_rules import RowRules, rules_in_words
from syntabula.table.schema.columns import Identifier
from syntabula.table.schema.schema import columns_listed

Draw = Callable[[int, int, np.random.Generator], dict[str, RawColumn]]
Wanted = Callable[[Mapping[str, RawColumn]], NDArray[np.bool_]]

_AT_ONCE = 250_000
_LEAST_TRIED = 20_000
_LEAST_KEPT = 1e-3
_WORTH_A_WARNING = 0.1
_MOST_REDRAWS = 20
_WORTH_A_REDRAW = 0.05
"""Share of the broken rows that other values must mend, or the rest is given up."""
CONDITIONS = "the conditions"


@dataclass(eq=False)
class RuledRows:
    """Rows that satisfy rules, and conditions on columns that the rules compute.

    Attributes:
        rules: The rules.
        codec: The release's codec, which numbers identifiers.
        model: The release's model, which says which codes are merged.
        learned: Draws decoded rows of the learned columns, from one position up to another.
        conditioned: Columns whose values satisfy conditions, and therefore stay as they were drawn.
        stated: Those conditions on them that a user states, and rules do not imply.
        wanted: Returns which completed rows satisfy the other conditions; None if there are none.
        computed: Columns with these conditions, which rules compute or which are learned as distances.
        tried: Number of rows drawn so far.
        kept: How many of these satisfied rules and conditions.
        within_rules: How many of these satisfied the rules.
        broken: For each rule, how many of these rows broke it.
    """

    rules: RowRules
    codec: Codec
    model: Model
    learned: Draw
    conditioned: Collection[str] = ()
    stated: Mapping[str, Allowed] = field(default_factory=dict)
    wanted: Wanted | None = None
    computed: Collection[str] = ()
    tried: int = 0
    kept: int = 0
    within_rules: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    _warned: bool = False

    def draw(self, start: int, stop: int, rng: np.random.Generator) -> dict[str, RawColumn]:
        """Draw the rows from one position up to another.

        Raises:
            ResourceError: If fewer than one row in a thousand satisfies rules and conditions; names the rule that most
                rows break, or the columns whose conditions they fail.
        """
        missing = stop - start
        pieces: list[dict[str, RawColumn]] = []
        while missing > 0 or not pieces:
            share = max(self.kept / self.tried, _LEAST_KEPT) if self.tried else 1.0
            n_rows = min(_AT_ONCE, max(missing, int(1.05 * missing / share)))
            columns, kept = self.try_rows(n_rows, rng)
            rows = np.flatnonzero(kept)[:missing]
            pieces.append(columns if len(rows) == n_rows else {n: c.take(rows) for n, c in columns.items()})
            missing -= len(rows)
            if missing > 0 and self.tried >= _LEAST_TRIED and self.kept < _LEAST_KEPT * self.tried:
                raise ResourceError(self._refusal())
        self._warn()
        return self._numbered(joined_rows(pieces), start)

    def try_rows(
        self, n_rows: int, rng: np.random.Generator
    ) -> tuple[dict[str, RawColumn], NDArray[np.bool_]]:
        """Draw rows of the whole model and complete them; return them, and which satisfy rules and conditions."""
        learned = self._ends(self.learned(0, n_rows, rng), rng, allowed=self.stated)
        columns, kept, broken = self.rules.completed(learned, n_rows, rng)
        for _ in range(_MOST_REDRAWS):
            rows = np.flatnonzero(~kept)
            if not rows.size:
                break
            others, mended, broken = self.rules.completed(self._redrawn(learned, rows, rng), rows.size, rng)
            place(columns, others, rows[mended], np.flatnonzero(mended))
            kept[rows[mended]] = True
            if mended.sum() < _WORTH_A_REDRAW * rows.size:
                break
        self.broken.update(broken)
        if not kept.all() or self.groups.seen:
            self.groups.add(columns, kept)
        self.within_rules += int(kept.sum())
        if self.wanted is not None:
            wanted = self.wanted(columns)
            self.broken[CONDITIONS] += int((~wanted).sum())
            kept &= wanted
        self.tried += n_rows
        self.kept += int(kept.sum())
        return columns, kept

    def _redrawn(
        self, learned: Mapping[str, RawColumn], rows: NDArray[np.intp], rng: np.random.Generator
    ) -> dict[str, RawColumn]:
        """Return some of the learned rows with other values that the model cannot tell from theirs."""
        merged = self.model.recoding if isinstance(self.model, RecodedModel) else None
        columns, bins = self.codec.schema.columns, self.codec.bins
        several = {*bins, *(() if merged is None else merged.maps)}
        names = [n for n in self.codec.domain.columns if n in several and n in self._deciding]
        found = {name: column.take(rows) for name, column in learned.items()}
        codes = {name: encode_column(columns[name], found[name], bins.get(name)).codes for name in names}
        table = EncodedTable.from_mapping(self.codec.domain.project(names), codes)
        if merged is not None:
            recoding = merged.project(names)
            table = recoding.decode(recoding.encode(table), rng)
        for name in names:
            within = self.codec.within(name)
            found[name] = decode_column(columns[name], table.column(name), bins.get(name), within, rng)
        return self._ends(found, rng, allowed=self.stated)

    @cached_property
    def _ends(self) -> Callable[..., dict[str, RawColumn]]:
        return DrawnEnds(self.rules, self.codec)

    @cached_property
    def _deciding(self) -> set[str]:
        """Learned columns that decide whether a row breaks a rule, and whose values may change."""
        compiled = self.rules.compiled
        expressions = [*compiled.derived.values(), *(c.expression for c in compiled.conditions)]
        found = {column for expression in expressions for column in expression.columns}
        found |= {*compiled.distances, *(n for d in compiled.distances.values() for n in d.columns)}
        return found - {*self.conditioned}

    @cached_property
    def groups(self) -> Groups:
        """Groups of rows that rules may discard as a whole."""
        return Groups.of(self.rules.schema.columns, sorted(self._deciding - {*self.rules.compiled.derived}))

    def shares(self, *, rules_only: bool = False) -> dict[str, float]:
        """Return the share of tried rows that broke each rule, and the conditions unless only rules are wanted."""
        counted = {r: n for r, n in self.broken.items() if n and not (rules_only and r == CONDITIONS)}
        return {rule: count / max(self.tried, 1) for rule, count in counted.items()}

    def _numbered(self, columns: dict[str, RawColumn], start: int) -> dict[str, RawColumn]:
        """Number identifiers anew, as some rows were discarded."""
        anew = {
            name: self.codec.identifiers(name, columns[name].missing, start)
            for name, column in self.rules.schema.columns.items()
            if isinstance(column, Identifier)
        }
        return columns | anew

    def _warn(self) -> None:
        if self._warned or self.tried < 100:
            return
        rejected, lost = 1 - self.within_rules / self.tried, self.groups.lost()
        broken = rules_in_words(self.shares(rules_only=True))
        if lost:
            self._warned = True
            warn_caller(RuleWarning(_of_lost(lost, broken)))
        if rejected >= _WORTH_A_WARNING:
            self._warned = True
            warn_caller(
                RuleWarning(
                    f"{rejected:.0%} of the rows that this release draws were discarded, because they break "
                    f"{broken}. The others are drawn as the release's distribution says"
                )
            )

    def _refusal(self) -> str:
        if self.broken[CONDITIONS] > self.tried - self.within_rules:
            return (
                f"{self.kept or 'none'} of {self.tried:,} rows that were tried satisfy the conditions on "
                f"{columns_listed(sorted(self.computed))}, computed from other columns: rows are drawn until enough "
                "satisfy them, and the others discarded. Ask for a wider range; or in place of where=, pass the wanted "
                "values as given=, a table with one row for each row to draw"
            )
        if not self.kept:
            return (
                f"none of {self.tried:,} rows that were tried satisfies all rules and conditions, with the share that "
                f"breaks each: {rules_in_words(self.shares())}. If hardly any row of the table satisfies it, correct the "
                "rule; else loosen it, or if it states an equality, derive one of its columns from the others"
            )
        return (
            f"{1 - self.kept / self.tried:.2%} of {self.tried:,} rows that were tried break rules or conditions: "
            f"{rules_in_words(self.shares())}. Loosen the rule; or if it states an equality, derive one of its columns "
            "from the others; or choose a method with a graphical model, such as AIM or MST, which holds rules over two "
            "or three columns of few values exactly"
        )


def _of_lost(names: list[str], broken: str) -> str:
    return (
        f"{columns_listed(names)}: most of the rows with a certain category, or with a value or without one, were "
        f"discarded, so they are far too rare in these rows; they break {broken}. If such a rule states an equality, "
        "derive one of its columns from the others instead, for instance by CASE; else loosen it"
    )


def joined_rows(pieces: list[dict[str, RawColumn]]) -> dict[str, RawColumn]:
    """Return rows of the same columns one after another."""
    if len(pieces) == 1:
        return pieces[0]
    return {
        name: replace(
            first,
            cells=joined([piece[name].cells for piece in pieces]),
            missing=np.concatenate([piece[name].missing for piece in pieces]),
            beside=joined_beside([piece[name] for piece in pieces]),
        )
        for name, first in pieces[0].items()
    }


def place(
    found: dict[str, RawColumn],
    rows: Mapping[str, RawColumn],
    places: NDArray[np.intp],
    sources: NDArray[np.intp],
) -> None:
    """Write some rows into places of a table, whose columns must be its own."""
    for name, column in rows.items():
        own = found[name]
        own.missing[places] = column.missing[sources]
        if own.beside is not None and column.beside is not None:
            own.beside.places[places] = column.beside.places[sources]
        if isinstance(own.cells, RepeatedTexts):
            order = np.arange(own.missing.size)
            order[places] = own.missing.size + sources
            found[name] = replace(own, cells=joined([own.cells, column.cells])[order])
        else:
            own.cells[places] = column.values[sources]
