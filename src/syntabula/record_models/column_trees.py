"""A tree for each column, given the columns before it: rows are drawn column by column from records in the same leaf."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from syntabula._arguments import count, names, near, normalise, real
from syntabula._planning import FitCost, Progress
from syntabula._spaces import Range, tunable
from syntabula.errors import ArgumentError, ConditionWarning, warn_caller
from syntabula.marginals.domain import Codes, Domain, EncodedTable, code_dtype
from syntabula.marginals.measurement import FloatArray
from syntabula.models.base import check_sample, whole_model
from syntabula.record_models.any_order_sampling import drawn_from
from syntabula.record_models.column_order import usual_order
from syntabula.record_models.determined import determined
from syntabula.record_models.lookup_model import LookupModel
from syntabula.record_models.loop import TRAIN, Training
from syntabula.record_models.many_codes import MOST_DIRECTIONS, bytes_of_means
from syntabula.record_models.tree_seconds import seconds_of_trees
from syntabula.record_models.trees import MOST_CLASSES, Tree, grow

_ROWS_AT_ONCE = 100_000
_TRIED_ROWS = 50
_NEAR = 0.02
_ATTEMPTS = 5
_BYTES_PER_NODE, _BYTES_PER_DONOR, _BYTES_PER_SHARE, _BYTES_PER_PLACE = 16, 12, 24, 16


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnTrees(LookupModel):
    """Draws columns one by one in a fixed order, each from the records that are in the same leaf of its tree.

    Reiter (2005), "Using CART to generate partially synthetic public use microdata"; the options are those of rpart that
    Nowok, Raab, Dibben (2016) use. Saved are the trees as arrays of numbers, the codes in each leaf and how many records
    have each: these are exact, and a leaf may hold as few records as `least_leaf`. Trees that grow with a budget
    (`tree_learner`) are made of noisy counts alone, and use `first` of these options. A loaded model needs no
    scikit-learn.

    Where the others determine a category (`determined`), a second tree draws it given all of them, and rows in which it
    says another code are drawn anew: of a rule over many columns, each of these alone says little of the category that
    was drawn first.

    Attributes:
        least_leaf: Fewest records in a leaf.
        least_split: Fewest records of a node that is split; None for twice `least_leaf`.
        complexity: Part of a column's impurity that a split must take away.
        least_code: Fewest records that have a code, of a leaf in a column without an order and of all in one with: rarer
            ones share their part as in the node above, or are drawn among neighbours. 1 draws all as they are.
        first: Columns that are drawn before the others, in this order. Without a budget the others follow, those of the
            fewest codes first, those of 100 and more in the order of the table, and those of more than 50 codes without
            an order last; a trained model then names all columns here. Values given of the columns that come first hold
            exactly; of others they are met by choosing among rows that are tried.
    """

    kind: ClassVar[str] = "column_trees"

    least_leaf: int = tunable(2, Range(low=2, high=50, log=True))
    least_split: int | None = None
    complexity: float = tunable(1e-8, Range(low=1e-9, high=1e-3, log=True))
    least_code: int = 3
    first: tuple[str, ...] = ()
    _trees: tuple[Tree, ...] = field(default=(), repr=False)
    _again: Mapping[str, Tree] = field(default_factory=dict, repr=False)
    _weekdays: Mapping[str, FloatArray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        normalise(
            self,
            least_leaf=count(),
            least_split=count().or_none,
            complexity=real("a number of at least 0 and below 1", lambda part: 0 <= part < 1),
            least_code=count(),
            first=names,
        )

    @property
    def _n_waves(self) -> int:
        return 1

    @property
    def _least_split(self) -> int:
        return 2 * self.least_leaf if self.least_split is None else self.least_split

    def with_weekdays(self, weekdays: Callable[[], Mapping[str, FloatArray]]) -> Self:
        """Return the same model, whose trees will tell weekdays apart."""
        return replace(self, _weekdays=weekdays())

    @property
    def learns_more_by(self) -> str:
        """Trees are grown in one go, and split more by these."""
        return "lower least_leaf, least_split or complexity"

    def training_cost(self, domain: Domain, n_rows: int, training: Training) -> FitCost:
        """Say what growing the trees takes, from two that are grown on a made-up table.

        Raises:
            ArgumentError: If a column of `first` is unknown.
        """
        del training  # trees take no steps
        self.order(domain)
        n, d = max(n_rows, 2), len(domain)
        numbers = n * (4 * d + _BYTES_PER_NODE + _BYTES_PER_DONOR * d) + 4 * d * sum(domain.sizes)
        unordered = {c: domain.size(c) for c in domain if c not in domain.ordered}
        classes = [size for size in unordered.values() if size <= MOST_CLASSES]
        if self.least_code > 1:
            numbers += min(n, 2 * n // self.least_leaf) * max(classes, default=0) * _BYTES_PER_SHARE
        if len(unordered) > len(classes):
            most = max(unordered, key=domain.size)
            others = [c for c in domain if c != most]
            sizes, ordered = [domain.size(c) for c in others], [c in domain.ordered for c in others]
            numbers += n * MOST_DIRECTIONS * _BYTES_PER_PLACE
            numbers += bytes_of_means(n, domain.size(most), sizes, ordered)
        seconds = seconds_of_trees(
            domain,
            n,
            least_leaf=self.least_leaf,
            least_split=self._least_split,
            complexity=self.complexity,
            least_code=self.least_code,
        )
        return FitCost(numbers / 2**20, seconds)

    def trained(
        self,
        domain: Domain,
        one_way: Mapping[str, FloatArray],
        records: EncodedTable,
        training: Training,
        progress: Progress,
        *,
        seed: int,
    ) -> Self:
        """Return a model with a tree for each column; without records all of its codes are equally likely.

        Raises:
            ArgumentError: If a column of `first` is unknown.
            MissingExtraError: If scikit-learn is not installed.
        """
        del training
        trees: list[Tree] = []
        order = [*dict.fromkeys((*self.first, *usual_order(domain)))]
        for position, column in enumerate(order):
            progress(f"{TRAIN}: column {position + 1} of {len(order)}", position / len(order))
            trees.append(self._grown(records, column, order[:position], seed))
        # As the records have it: how often rare codes are drawn says nothing of what the others determine.
        exact = replace(self, least_code=1)
        again = determined(
            records,
            lambda part, column, others: exact._grown(part, column, others, seed),
            np.random.default_rng(seed),
        )
        last = {column: self._grown(records, column, _but(order, column), seed) for column in again}
        progress(TRAIN, 1.0)
        total = float(max(records.n_rows, 1))
        return replace(self, first=tuple(order), _again=last, _weekdays={}).of_trees(
            domain, total, one_way, trees
        )

    def of_trees(
        self, domain: Domain, total: float, one_way: Mapping[str, FloatArray], trees: Sequence[Tree]
    ) -> Self:
        """Return the model that draws from some trees, one for each column in the order of `order`."""
        return replace(self, _domain=domain, _total=total, _one_way=dict(one_way), _trees=tuple(trees))

    def _grown(self, records: EncodedTable, column: str, before: Sequence[str], seed: int) -> Tree:
        domain = records.domain
        if not records.n_rows:  # one record of each code tells nothing of the columns before
            every = np.arange(domain.size(column), dtype=code_dtype(domain.size(column)))
            records = EncodedTable(domain, tuple(every if c == column else 0 * every for c in domain))
        return grow(
            records.column(column),
            domain.size(column),
            [records.column(c) for c in before],
            [domain.size(c) for c in before],
            ordered=column in domain.ordered,
            ordered_predictors=[c in domain.ordered for c in before],
            least_leaf=self.least_leaf,
            least_split=self._least_split,
            complexity=self.complexity,
            least_code=self.least_code,
            weekdays=self._weekdays.get(column),
            seed=seed,
        )

    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Draw n rows; with `given`, draw the other columns conditionally.

        Values of columns that come first are simply taken. For others 50 rows are drawn for each given row, in which
        these values are taken too, and one is chosen in proportion to the chance that the trees give them; in an ordered
        column that of values within 2 % of the records, or of the nearest one that a record had.
        """
        check_sample(self.domain, n, given)
        codes = {} if given is None else {c: given.column(c) for c in given.domain}
        order = self.order(self.domain)
        late = {c for c in codes if any(x not in codes for x in order[: order.index(c)])}
        tried = _TRIED_ROWS if late else 1
        pieces, impossible = [], 0
        for start in range(0, n, _ROWS_AT_ONCE // tried):
            stop = min(start + _ROWS_AT_ONCE // tried, n)
            known = {c: np.repeat(column[start:stop], tried) for c, column in codes.items()}
            rows, chances = self._drawn(known, late, (stop - start) * tried, rng)
            if late:
                of_tried = chances.reshape(-1, tried)
                lost = ~of_tried.any(1)
                of_tried[lost] = 1.0
                chosen = drawn_from(of_tried, rng) + tried * np.arange(stop - start)
                rows = {c: column[chosen] for c, column in rows.items()}
                impossible += int(lost.sum())
            pieces.append(rows)
        if impossible:
            warn_caller(
                ConditionWarning(
                    f"no row that was tried has the values of {impossible:,} of {n:,} given rows: some of these have no "
                    "effect there on the other columns; fit Synthpop with the given columns as its option `first`"
                )
            )
        return EncodedTable(
            self.domain,
            tuple(
                np.concatenate([rows[c] for rows in pieces] or [np.zeros(0, dtype=np.uint8)])
                for c in self.domain
            ),
        )

    def _drawn(
        self, known: Mapping[str, Codes], late: set[str], n: int, rng: np.random.Generator
    ) -> tuple[dict[str, Codes], FloatArray]:
        """Return n rows with known codes, and the chance that the trees give those of late columns [n].

        Where the others determine a category, rows that contradict it are drawn anew from the columns after it, so that
        it is as frequent as before; what is left contradicting takes the code that the others say.
        """
        rows, chances = self._drawn_once(known, late, n, rng)
        told = {c: tree for c, tree in self._again.items() if c not in known}
        if not told:
            return rows, chances
        kept = self.first[: max(self.first.index(c) for c in told) + 1]
        left = np.arange(n)
        for attempt in range(_ATTEMPTS + 1):
            said = {c: self._said(c, tree, rows, left, rng) for c, tree in told.items()}
            wrong = np.any([codes != rows[c][left] for c, codes in said.items()], axis=0)
            left = left[wrong]
            if not left.size:
                break
            if attempt == _ATTEMPTS:
                drawn = {c: codes[wrong] for c, codes in said.items()}
            else:
                fixed = {c: rows[c][left] for c in rows if c in known or c in kept}
                drawn, chances[left] = self._drawn_once(fixed, late, left.size, rng)
            for column, codes in drawn.items():
                rows[column][left] = codes
        return rows, chances

    def _said(
        self, column: str, tree: Tree, rows: Mapping[str, Codes], which: np.ndarray, rng: np.random.Generator
    ) -> Codes:
        """Return a code of a column for some rows, drawn given all their other columns."""
        others = _but([*rows], column)
        sizes = [self.domain.size(c) for c in others]
        return tree.draw([rows[c][which] for c in others], sizes, which.size, rng)

    def _drawn_once(
        self, known: Mapping[str, Codes], late: set[str], n: int, rng: np.random.Generator
    ) -> tuple[dict[str, Codes], FloatArray]:
        """Return the same, each column from its tree alone."""
        rows: dict[str, Codes] = {}
        chances = np.ones(n)
        for column, tree in zip(self.order(self.domain), self._trees, strict=True):
            sizes = [self.domain.size(c) for c in rows]
            if column not in known:
                drawn = tree.draw([*rows.values()], sizes, n, rng)
            else:
                drawn = known[column]
                if column in late:
                    lowest, highest = self._near(column, drawn)
                    chances *= tree.shares([*rows.values()], sizes, lowest, highest)
            rows[column] = drawn
        return rows, chances

    def _near(self, column: str, codes: Codes) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and highest code that count as each one."""
        if column not in self.domain.ordered:
            return codes.astype(np.intp), codes.astype(np.intp)
        lookup = self._lookup(column)
        shares = np.exp(lookup.log_shares)
        middles = np.cumsum(shares) - shares / 2
        places = lookup.places[codes]
        lowest = np.searchsorted(middles, middles[places] - _NEAR, side="left")
        highest = np.searchsorted(middles, middles[places] + _NEAR, side="right") - 1
        return lookup.codes[np.minimum(lowest, places)], lookup.codes[np.maximum(highest, places)]

    def order(self, domain: Domain) -> list[str]:
        """Return all columns in the order in which they are drawn.

        Raises:
            ArgumentError: If a column of `first` is unknown.
        """
        for column in self.first:
            if column not in domain:
                raise ArgumentError(
                    f"first names column {column!r}, which is not learned{near(column, domain)}"
                )
        return [*dict.fromkeys((*self.first, *domain))]

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return all that a file needs: domain and options as facts, one-way marginals and trees as arrays."""
        facts = {
            **self._column_facts(),
            "first": list(self.first),
            "again": [*self._again],
            "nodes": [len(tree.nodes) for tree in self._every_tree],
            "donors": [len(tree.donors) for tree in self._every_tree],
        }
        arrays = {"one_way": self._one_way_array()}
        for position, tree in enumerate(self._every_tree):
            arrays |= {
                f"{position}/{name}": getattr(tree, name) for name in ("nodes", "ranks", "donors", "counts")
            }
        return facts, arrays

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int]:
        """Return the bytes of each array that belongs to stored facts; raises ReleaseFileError if malformed."""
        with whole_model():
            model, again, nodes, donors = cls._read(facts)
            found = {"one_way": 8 * sum(model.domain.sizes)}
            for position, (size, before) in enumerate(model._sizes_of_trees(again)):
                found |= {
                    f"{position}/nodes": _BYTES_PER_NODE * nodes[position],
                    f"{position}/ranks": 4 * sum(before),
                    f"{position}/donors": code_dtype(size).itemsize * donors[position],
                    f"{position}/counts": 4 * donors[position],
                }
            return found

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a model from `state`; raises ReleaseFileError if the parts do not fit together."""
        with whole_model():
            model, again, _, _ = cls._read(facts)
            trees: list[Tree] = []
            for position, (size, before) in enumerate(model._sizes_of_trees(again)):
                kinds = {
                    "nodes": np.int32,
                    "ranks": np.int32,
                    "donors": code_dtype(size),
                    "counts": np.uint32,
                }
                parts = {name: np.asarray(arrays[f"{position}/{name}"]) for name in kinds}
                if any(part.dtype != kinds[name] for name, part in parts.items()):
                    raise ValueError("arrays of another type")
                tree = Tree(**parts)
                tree.check(before, size)
                trees.append(tree)
            model = model._with_one_way(arrays["one_way"])
            last = dict(zip(again, trees[len(model.domain) :], strict=True))
            return replace(model, _trees=tuple(trees[: len(model.domain)]), _again=last)

    @property
    def _every_tree(self) -> tuple[Tree, ...]:
        """The trees as a file numbers them: in the order of columns, and those that draw a column again."""
        return (*self._trees, *self._again.values())

    def _sizes_of_trees(self, again: Sequence[str]) -> list[tuple[int, list[int]]]:
        """Return how many codes the column of each tree has, and each of its predictors."""
        order, size = self.order(self.domain), self.domain.size
        drawn = [(column, order[:position]) for position, column in enumerate(order)]
        drawn += [(column, _but(order, column)) for column in again]
        return [(size(column), [size(c) for c in predictors]) for column, predictors in drawn]

    @classmethod
    def _read(cls, facts: Mapping[str, Any]) -> tuple[Self, list[str], list[int], list[int]]:
        """Return a model without its arrays, what it draws again, and the numbers of nodes and donors of its trees."""
        model = cls._of_facts(facts)
        again = [str(column) for column in facts["again"]]
        if set(again) - set(model.domain) or len(set(again)) < len(again):
            raise ValueError("other columns that are drawn again")
        nodes, donors = ([int(number) for number in facts[name]] for name in ("nodes", "donors"))
        if not len(nodes) == len(donors) == len(model.domain) + len(again) or min([1, *nodes, *donors]) < 1:
            raise ValueError("another number of columns")
        if set(model.first) - set(model.domain):
            raise ValueError("an order of other columns")
        return model, again, nodes, donors


def _but(columns: Sequence[str], left_out: str) -> list[str]:
    return [column for column in columns if column != left_out]
