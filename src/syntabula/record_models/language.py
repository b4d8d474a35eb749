"""A language model of a table: a causal transformer that writes records as clauses, in any order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from syntabula._arguments import count, normalise
from syntabula._planning import FitCost, Progress
from syntabula._spaces import Choice, Range, tunable
from syntabula._threads import one_thread_for_products
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Domain, EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.models.base import check_sample, whole_model
from syntabula.models.restricted import Restricted, Weights
from syntabula.record_models.causal import CausalNetwork, first_weights, shapes_of
from syntabula.record_models.causal_writing import Allowed, Pages
from syntabula.record_models.conditions_first import Tried, conditions_first, orders_of, rarest_first
from syntabula.record_models.following import FollowingRows
from syntabula.record_models.lookup_model import (
    read_weights,
    weight_arrays,
    weight_bytes,
)
from syntabula.record_models.loop import Training, seconds_per_step, train
from syntabula.record_models.representation import Places, column_lookup, column_lookups, usual_sizes
from syntabula.record_models.spelling import (
    MOST_LETTERS,
    MOST_PLACES,
    Letters,
    Spelling,
    letters_of,
    spelling,
)

_ROWS_AT_ONCE = 2048
_KEPT_AT_ONCE = 2**25
_USUAL_LABELS = 10_000
_NUMBERS_PER_CODE = 60


@dataclass(frozen=True, kw_only=True, eq=False)
class LanguageModel(FollowingRows):
    """Writes a record token by token, as text of which each beginning tells how it may go on.

    A record is a list of clauses such as "age is 39, sex is female" whose order is drawn anew each time (Borisov et al.
    2023), so any columns can be given: their clauses are written first. The tokens are made for the table: a label of
    at most 256 is a word, and numbers, days and other labels are written in characters. Only what some record had can be
    written, so every text is a record.

    Saved are the weights, how codes are written, and the one-way marginals. A model that was loaded samples without
    torch.

    Attributes:
        units: Width of the layers; a multiple of `heads`.
        layers: Number of them.
        heads: Of attention, in each layer.
    """

    kind: ClassVar[str] = "language"
    draws_conditions_first: ClassVar[bool] = True

    units: int = tunable(64, Choice((32, 64, 128)))
    layers: int = tunable(2, Range(low=1, high=4))
    heads: int = 4
    _texts: Mapping[str, Sequence[str]] = field(default_factory=dict, repr=False)
    _letters: Mapping[str, Letters] = field(default_factory=dict, repr=False)
    _weights: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise(self, units=count(), layers=count(), heads=count())
        if self.units % self.heads:
            raise ArgumentError(
                f"units must be a multiple of heads; got {self.units} units and {self.heads} heads"
            )

    @property
    def _n_waves(self) -> int:
        return 1  # of no use here, but only ordered columns have them, and take the nearest code

    def training_cost(self, domain: Domain, n_rows: int, training: Training) -> FitCost:
        """Say what training takes, from a timed step on a made-up batch."""
        batch = training.batch_of(n_rows)
        ordered = tuple(c in domain.ordered for c in domain)
        usual = usual_sizes(domain, labels=_USUAL_LABELS)
        seconds = _timed_step(replace(self, _domain=None), usual, ordered, training, batch)
        seconds = training.seconds_for(n_rows, seconds)
        spellings = _made_up(usual, ordered)
        weights = sum(math.prod(shape) for shape in self._shapes(spellings).values())
        tokens = sum(s.nodes.shape[1] for s in spellings)
        # Weights, gradient, two moments, mean and best; what a batch leaves for its gradient; trees and table.
        left = batch * tokens * (20 * self.layers * self.units + 3 * max(s.tokens for s in spellings))
        trees = _NUMBERS_PER_CODE * sum(domain.sizes)
        return FitCost((7 * weights + left + trees + n_rows * len(domain)) * 4 / 2**20, seconds)

    def with_texts(self, texts: Callable[[], Mapping[str, Sequence[str]]]) -> Self:
        """Return the same model, which knows the text of each code of the table it will be trained on."""
        return replace(self, _texts=texts())

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
        """Return a model trained on records; without texts, the position of a code is its text."""
        lookups = column_lookups(domain, one_way, waves=self._n_waves)
        letters = {}
        for column, lookup in zip(domain, lookups, strict=True):
            texts = self._texts.get(column) or _positions(domain.size(column))
            letters[column] = letters_of([texts[c] for c in lookup.codes], ordered=column in domain.ordered)
        places = [lookup.places[codes] for lookup, codes in zip(lookups, records.codes, strict=True)]
        total = float(max(records.n_rows, 1))
        known = replace(
            self, _domain=domain, _total=total, _texts={}, _one_way=dict(one_way), _letters=letters
        )
        weights = train(
            lambda device, random: known._network(known._spellings, device, random),
            np.stack(places, 1).astype(np.int32),
            training,
            progress,
            seed=seed,
            checkpoints=self._checkpoints,
        )
        return replace(known, _weights=weights)

    @one_thread_for_products()
    def sample(self, n: int, rng: np.random.Generator, given: EncodedTable | None = None) -> EncodedTable:
        """Write n rows; with `given`, its clauses are written first, and the other columns drawn after them.

        A given code that no record had is not written, or in an ordered column the nearest code is.
        """
        check_sample(self.domain, n, given)
        return self._decoded(self._completed(self._given_places(given), n, rng), given)

    def restricted(self, weights: Weights) -> Restricted:
        """Return the records that satisfy conditions: columns with conditions are written first, the others after.

        A token that can lead to no code that satisfies its column's condition is not written. A row is kept with the
        product of the chances that the other tokens had. The probability is exact for one column whose labels are words,
        and else the mean of estimates in several orders of the columns, as no two agree quite (`conditions_first`).

        Raises:
            ResourceError: If hardly any row could be kept.
        """
        masks = {c: weights[c][self._lookup(c).codes] for c in self.domain if c in weights}
        if not masks:
            return Restricted(1.0, self.sample)
        columns = rarest_first({c: self._lookup(c) for c in masks}, masks)
        allowed = {c: Allowed.of(self._spellings[self.domain.index(c)], masks[c]) for c in columns}

        def tried(order: Sequence[str], n: int, rng: np.random.Generator) -> Tried:
            rows, kept, shared = np.zeros((n, len(order)), dtype=np.intp), np.ones(n), 1.0
            for part in self._parts(n):
                pages = self._pages(part, [self.domain.index(c) for c in order])
                for j, c in enumerate(order):
                    found = pages.write_allowed(self.domain.index(c), allowed[c], rng)
                    rows[part, j], first, others = found
                    shared = float(first[0]) if j == 0 else shared
                    kept[part] *= others if j == 0 else first * others
            return rows, shared, kept if shared > 0 else np.zeros(n)

        def finished(rows: Places, rng: np.random.Generator) -> EncodedTable:
            known = {c: rows[:, j] for j, c in enumerate(columns)}
            return self._decoded(self._completed(known, len(rows), rng))

        one_token = len(columns) == 1 and self._spellings[self.domain.index(columns[0])].nodes.shape[1] <= 1
        return conditions_first(tried, finished, orders_of(columns), is_exact=one_token)

    def _completed(self, known: Mapping[str, Places], n: int, rng: np.random.Generator) -> Places:
        """Write n rows [n, columns]: known places of some columns, then the others, each in random order."""
        rows = np.zeros((n, len(self.domain)), dtype=np.intp)
        before = [self.domain.index(c) for c in known]
        after = [j for j, name in enumerate(self.domain) if name not in known]
        for part in self._parts(n):
            pages = self._pages(part, [*before, *after])
            for column in rng.permutation(before).astype(int).tolist():
                places = known[self.domain.columns[column]][part]
                pages.copy(column, places)
                rows[part, column] = places
            for column in rng.permutation(after).astype(int).tolist():
                rows[part, column] = pages.write(column, rng)
        return rows

    def _parts(self, n: int) -> list[slice]:
        """Return parts of n rows for which what the network keeps of them is small."""
        kept = 2 * self.layers * self.units * sum(s.nodes.shape[1] for s in self._spellings)
        at_once = max(min(_KEPT_AT_ONCE // max(kept, 1), _ROWS_AT_ONCE), 1)
        return [slice(start, min(start + at_once, n)) for start in range(0, n, at_once)]

    def _pages(self, part: slice, columns: Sequence[int]) -> Pages:
        n = part.stop - part.start
        return Pages(self._spellings, self._weights, heads=self.heads, n=n, columns=columns)

    @cached_property
    def _spellings(self) -> list[Spelling]:
        return [spelling(self._letters[c], self._lookup(c).log_shares) for c in self.domain]

    def _shapes(self, spellings: Sequence[Spelling]) -> dict[str, tuple[int, ...]]:
        places, tokens = [s.places for s in spellings], [s.tokens for s in spellings]
        return shapes_of(places, tokens, units=self.units, layers=self.layers)

    def _network(self, spellings: Sequence[Spelling], device: Any, random: Any) -> CausalNetwork:
        weights = first_weights(self._shapes(spellings), device=device, random=random)
        return CausalNetwork(spellings, weights, heads=self.heads)

    def state(self) -> tuple[Mapping[str, Any], Mapping[str, np.ndarray]]:
        """Return all that a file needs: domain and options as facts; marginals, letters and weights as arrays."""
        facts = {
            **self._column_facts(),
            "used": [lookup.size for lookup in self._lookups],
            "places": [s.places for s in self._spellings],
            "letters": [s.letters for s in self._spellings],
        }
        letters = np.concatenate([self._letters[c].ravel() for c in self.domain])
        return facts, weight_arrays(self._weights) | {"one_way": self._one_way_array(), "letters": letters}

    @classmethod
    def array_bytes(cls, facts: Mapping[str, Any]) -> dict[str, int]:
        """Return the bytes of each array that belongs to stored facts; raises ReleaseFileError if malformed."""
        with whole_model():
            model, shapes, cells = cls._read(facts)
            return {
                "one_way": 8 * sum(model.domain.sizes),
                "letters": 2 * sum(map(math.prod, cells)),
                **weight_bytes(shapes),
            }

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild a model from `state`; raises ReleaseFileError if the parts do not fit together."""
        with whole_model():
            model, shapes, cells = cls._read(facts)
            letters = np.asarray(arrays["letters"])
            if letters.shape != (sum(map(math.prod, cells)),) or letters.dtype != np.uint16:
                raise ValueError("texts of another domain")
            if (letters >= MOST_LETTERS).any():
                raise ValueError("more letters than there can be")
            parts = np.split(letters, np.cumsum([math.prod(shape) for shape in cells])[:-1])
            found = replace(
                model._with_one_way(arrays["one_way"], [used for used, _ in cells]),
                _letters={c: p.reshape(s) for c, p, s in zip(model.domain, parts, cells, strict=True)},
                _weights=read_weights(arrays, shapes),
            )
            if [s.letters for s in found._spellings] != list(facts["letters"]):
                raise ValueError("another number of letters")
            return found

    @classmethod
    def _read(
        cls, facts: Mapping[str, Any]
    ) -> tuple[Self, dict[str, tuple[int, ...]], list[tuple[int, int]]]:
        """Return a model without its arrays, the shapes of its weights, and codes and places of each column."""
        model = cls._of_facts(facts)
        used, places, letters = (
            model._used(facts),
            *([int(x) for x in facts[name]] for name in ("places", "letters")),
        )
        for _, n_places, n_letters in zip(used, places, letters, strict=True):
            if not (0 <= n_places <= MOST_PLACES and 0 < n_letters <= MOST_LETTERS):
                raise ValueError("more places or letters than there can be")
        tokens = [a * b for a, b in zip(places, letters, strict=True)]
        shapes = shapes_of(places, tokens, units=model.units, layers=model.layers)
        return model, shapes, list(zip(used, places, strict=True))


def _positions(size: int) -> list[str]:
    width = len(str(size - 1))
    return [f"{code:0{width}d}" for code in range(size)]


def _made_up(sizes: Sequence[int], ordered: Sequence[bool]) -> list[Spelling]:
    """Return spellings of columns of which the sizes alone are known: positions are the texts."""
    found = []
    for size, is_ordered in zip(sizes, ordered, strict=True):
        log_shares = column_lookup(np.ones(size), waves=None).log_shares
        found.append(spelling(letters_of(_positions(size), ordered=is_ordered), log_shares))
    return found


@lru_cache(maxsize=16)
def _timed_step(
    model: LanguageModel,
    sizes: tuple[int, ...],
    ordered: tuple[bool, ...],
    training: Training,
    batch: int,
) -> float:
    spellings = _made_up(sizes, ordered)
    return seconds_per_step(
        lambda device, random: model._network(spellings, device, random),
        sizes,
        training,
        batch,
        n_weights=sum(math.prod(shape) for shape in model._shapes(spellings).values()),
    )
