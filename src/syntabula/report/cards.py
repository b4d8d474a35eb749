"""Cards of the page: a plot of a column or a pair, with its text."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from syntabula.metrics.comparison import Comparison
from syntabula.metrics.score import Part
from syntabula.report import plots, words
from syntabula.report.differences import Difference, as_matrix, strongest_ties
from syntabula.report.groups import Groups, equal_shares, equal_widths

MOST_COLUMNS = 40
"""Most columns shown; of a wider table, those that differ most."""

MOST_PAIRS = 6
"""Number of pairs shown, both of those that differ most and of those that are most strongly associated."""

MOST_IN_MAP = 24


@dataclass(frozen=True, kw_only=True)
class Cards:
    """The plots of columns and pairs, with their texts.

    Attributes:
        tables: Both tables.
        times: Numeric columns that are microseconds since 1970-01-01.
        found: Differences of single columns (1) and pairs (2), the largest first.
    """

    tables: Comparison
    times: set[str]
    found: Mapping[int, Sequence[Difference]]

    def columns(self) -> list[dict[str, Any]]:
        """Return the plot of each column, in the order of the table; only the worst ones if there are many."""
        chosen = {part.columns[0]: part for part in self.found[1][:MOST_COLUMNS]}
        cards = []
        for name in self.tables.columns:
            if name in chosen:
                svg = plots.plot_column(self._alone(name), is_time=name in self.times)
                cards.append({"part": chosen[name], "svg": svg, "anchor": self._anchor((name,))})
        return cards

    def pairs(self) -> dict[str, list[dict[str, Any]]]:
        """Return the plots of the pairs that differ most, and of those most strongly associated."""
        if not self.found[2]:
            return {"worst": [], "tied": []}
        parts = {part.columns: part for part in self.found[2]}
        worst = [part.columns for part in self.found[2][:MOST_PAIRS]]
        tied = [pair for pair in strongest_ties(self.tables, 2 * MOST_PAIRS) if pair not in worst][
            :MOST_PAIRS
        ]
        return {
            "worst": [self._pair(parts[pair]) for pair in worst],
            "tied": [self._pair(parts[pair]) for pair in tied],
        }

    def map(self) -> str:
        """Return the plot of all pairs, or of those of the columns that differ most; empty for one column."""
        if not self.found[2]:
            return ""
        columns = self.tables.columns
        if len(columns) > MOST_IN_MAP:
            ranked = list(dict.fromkeys(name for part in self.found[2] for name in part.columns))
            columns = tuple(name for name in columns if name in ranked[:MOST_IN_MAP])
        return plots.plot_all_pairs(columns, as_matrix([*self.found[2]], columns))

    def listed(self, parts: Sequence[Difference]) -> list[dict[str, Any]]:
        """Return columns or pairs with the group of values that differs most."""
        return [
            {"part": part, "gap": self._gap(part.columns), "anchor": self._anchor(part.columns)}
            for part in parts
        ]

    def _pair(self, part: Difference) -> dict[str, Any]:
        groups = [self._grouped(name) for name in part.columns]
        # Long names of groups are easier to read beside a plot than below it.
        down, across = sorted(groups, key=lambda g: max(map(len, g.labels), default=0), reverse=True)
        edges = {g.name: self._edges(g) for g in groups}
        svg = plots.plot_pair(down, across, edges)
        return {
            "part": part,
            "svg": svg,
            "gap": self._gap(part.columns),
            "anchor": self._anchor(part.columns),
        }

    def _gap(self, columns: Part) -> str:
        groups = [self._grouped(n) for n in columns] if len(columns) > 1 else [self._alone(columns[0])]
        texts = [words.group_words(g, self._edges(g)) for g in groups]
        if len(groups) == 1:
            real, synthetic = groups[0].shares()
            return words.largest_gap(real, synthetic, texts[0])
        both = [" and ".join(pair) for pair in itertools.product(*texts)]
        real, synthetic = groups[0].joint(groups[1])
        return words.largest_gap(real.ravel(), synthetic.ravel(), both)

    def _alone(self, name: str) -> Groups:
        return equal_widths(self.tables, name, 12 if name in self.tables.categories else 40)

    def _grouped(self, name: str) -> Groups:
        return equal_shares(self.tables, name, 8)

    def _edges(self, groups: Groups) -> list[str]:
        return words.edge_texts(groups, is_time=groups.name in self.times)

    def _anchor(self, columns: Part) -> str:
        return "-".join(["part", *(str(self.tables.columns.index(name)) for name in columns)])
