"""Draws rows of a release that satisfy conditions on some of its columns."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Self

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import refusal
from syntabula.bins.uniform import Parts, lone_values
from syntabula.errors import ArgumentError, ConditionWarning, warn_caller
from syntabula.marginals.domain import EncodedTable
from syntabula.marginals.measurement import FloatArray
from syntabula.marginals.recoding import Recoding
from syntabula.models.base import Model, check_sample
from syntabula.models.restricted import Restricted
from syntabula.synthesizers.joining import finer_codes
from syntabula.synthesizers.known_parts import TRIED, KnownParts, cut_at, followers_of
from syntabula.table.coding.codec import Codec
from syntabula.table.coding.column_codes import satisfies
from syntabula.table.coding.conditions import Allowed, allowed
from syntabula.table.files.pieces import together
from syntabula.table.raw import RawColumn
from syntabula.table.schema.columns import Column, Identifier

_FEW_RECORDS = 100
_ENOUGH = 0.02
"""Least probability at which rows are drawn without conditions, fifty for each that is kept."""
_TRIED, _COUNTED, _AT_ONCE, _MOST_TIMES = 5_000, 100_000, 250_000, 10
_USUAL, _LEAST_KEPT, _MOST_ROUNDS = 0.995, 0.02, 100
_MANY, _OFTEN = 100_000, 0.1
"""Rows to draw without conditions from which on it is faster to learn more of how columns follow each other, unless more
than one in ten is kept; and the rows to learn it of then, with which rows are as near to what they should be."""
_FEWEST = 50
"""Rows that say how likely others are."""


@dataclass(frozen=True, eq=False)
class Conditions:
    """Conditions on columns, in terms of codes.

    A range may begin or end within a bin. Such bins are split there, so that every finer code satisfies a
    condition entirely or not at all. Rows are drawn in the release's codes. Each code is then replaced by one
    of its finer codes that satisfy the condition, with the probability that the decoder would draw a value
    there, and decoded.

    Attributes:
        codec: The release's codec with bins split where ranges begin and end.
        recoding: From its codes to the release's; its shares are zero for codes that do not satisfy the conditions.
        weights: Probability [codes] that a record with a code of the release satisfies the column's condition.
        wanted: What satisfies it.
        cuts: Parts of the bins of ordered columns with conditions.
    """

    codec: Codec
    recoding: Recoding
    weights: Mapping[str, FloatArray]
    wanted: Mapping[str, Allowed]
    cuts: Mapping[str, Parts]

    @classmethod
    def read(cls, codec: Codec, where: object) -> Self:
        """Parse a user's conditions; raises ArgumentError or SchemaError if no row of a release could satisfy
        them."""
        if not isinstance(where, Mapping):
            raise refusal(
                "where",
                "a dictionary from columns to allowed values, such as {'sex': 'Female', 'age': (30, 40), 'education': "
                "['Bachelors', 'Masters']}",
                where,
            )
        cuts: dict[str, Parts] = {}
        satisfying: dict[str, NDArray[np.bool_]] = {}
        of_all: dict[str, Allowed] = {}
        for name, condition in where.items():
            column = codec.schema[name]
            wanted = allowed(name, column, condition, frequent=lone_values(codec.bins.get(name)))
            if name not in codec.domain:
                continue  # the condition "not missing" on an identifier that is never missing
            of_all[name] = wanted
            if name in codec.bins:
                cuts[name] = cut_at(codec, name, [end for span in wanted.spans for end in span])
            satisfying[name] = _satisfying(column, wanted, cuts.get(name))
        finer, maps, shares = finer_codes(codec, cuts, told=True)
        weights = {n: mask.astype(np.float64) for n, mask in satisfying.items()}
        for name, share in shares.items():
            shares[name] = weights[name] * share
            weights[name] = np.minimum(np.bincount(maps[name], shares[name]), 1.0)
        return cls(finer, Recoding(finer.domain, maps, shares), weights, of_all, cuts)


@dataclass(frozen=True, eq=False)
class SatisfyingRows:
    """Rows of a release that satisfy conditions.

    Attributes:
        conditions: The conditions.
        restricted: The model restricted to the records that satisfy them.
        expected: Noisy estimate of how many original records satisfy them.
        whole: Draws rows of the whole release, of which those that satisfy the conditions are kept; None if rows of the
            restricted model have the same distribution, or too few would be kept.
        likely: Chooses among the rows of the restricted model; None if parts of bins tell nothing of other columns, or as
            long as rows are drawn of the whole release.
        parts: Returns what parts of bins tell, learned of so many rows; None if nothing.
    """

    conditions: Conditions
    restricted: Restricted
    expected: float
    whole: WholeRows | None = None
    likely: LikelyRows | None = None
    parts: Callable[[int], KnownParts | None] | None = None

    @classmethod
    def of(cls, codec: Codec, model: Model, where: object) -> Self:
        """Prepare to draw rows; raises ArgumentError or SchemaError if the conditions are invalid."""
        conditions = Conditions.read(codec, where)
        found = model.restricted(conditions.weights)
        ranges = codec.bins.keys() & conditions.wanted.keys()
        followers = followers_of(codec, model) if ranges and found.probability else None
        whole = None
        if followers is not None and found.probability >= _ENOUGH:
            whole = WholeRows(codec, model, conditions.wanted)
        if whole is not None and len(ranges) > 1:
            # Whether two ranges that divide bins hold together depends on what lies within.
            share = whole.probability()
            error = math.sqrt(share * (1 - share) / _COUNTED) if share else found.error
            found = replace(found, probability=share or found.probability, error=error)

        def parts(n_tried: int) -> KnownParts | None:
            learned = followers_of(codec, model, n_tried) if ranges else None
            return KnownParts.of(codec, model, conditions.codec, conditions.cuts, learned)

        known = None
        may_tell = found.probability > 0 and not model.draws_slowly
        if may_tell and whole is None and (told := parts(TRIED)) is not None:
            known = LikelyRows.of(conditions, found, told)
        if known is not None and len(conditions.weights) > 1:
            error = math.hypot(found.error * known.mean, found.probability * known.error)
            found = replace(found, probability=min(found.probability * known.mean, 1.0), error=error)
        expected = model.total * found.probability
        return cls(conditions, found, expected, whole, known, parts if may_tell else None)

    def check(self, n: int) -> None:
        """Raise ArgumentError if no record satisfies the conditions, and warn if few do."""
        records, probability = self.restricted.records, self.restricted.probability
        if n and not probability:
            none = f"; none of the model's {records[1]:,} synthetic records does" if records else ""
            raise ArgumentError(
                f"no row of this release can satisfy the conditions on {_listed(self.conditions.weights)}{none}. Loosen "
                "them, or pass the values as given=, which draws from the nearest rows available"
            )
        warning = None
        if records and records[0] < min(n, _FEW_RECORDS):
            warning = (
                f"only {records[0]:,} of the model's {records[1]:,} synthetic records satisfy the conditions, and "
                f"{n:,} rows repeat them"
            )
        elif self.expected < 1:
            warning = (
                f"this release expects {self.expected:.1g} records to satisfy the conditions: the other columns of these "
                "rows are little more than a guess"
            )
        elif self.restricted.tried and probability < _ENOUGH:
            warning = (
                f"this model cannot be restricted to the conditions, so rows are drawn until enough satisfy them: "
                f"{probability:.2%} of the rows do, and the others are discarded"
            )
        if warning:
            warn_caller(ConditionWarning(warning))

    def draw(self, start: int, stop: int, rng: np.random.Generator) -> dict[str, RawColumn]:
        """Draw the rows from one position up to another."""
        check_sample(self.conditions.codec.domain, stop - start, None)
        probability, chosen = self.restricted.probability, self.likely
        if self.whole is not None:
            few = probability >= _OFTEN or stop - start < _MANY * probability
            # Where a restricted model tries rows itself, it would draw no fewer.
            if few or self.restricted.tried or self.restricted.cheap is not None:
                found = self.whole.draw(start, stop, rng, probability=probability)
                if found is not None:
                    return found
            chosen = self._chosen
        if chosen is not None and stop > start:
            return chosen.draw(start, stop, rng)
        rows = self.restricted.draw(stop - start, rng) if stop > start else None
        recoding, codec = self.conditions.recoding, self.conditions.codec
        finer = _no_rows(codec) if rows is None else recoding.decode(rows, rng)
        return codec.decode(finer, rng, first_row=start)

    @cached_property
    def _chosen(self) -> LikelyRows | None:
        told = None if self.parts is None else self.parts(_MANY)
        return None if told is None else LikelyRows.of(self.conditions, self.restricted, told)


@dataclass(frozen=True, eq=False)
class LikelyRows:
    """Rows of a restricted model, chosen by how likely they make the parts of bins that satisfy the conditions.

    Attributes:
        conditions: The conditions.
        restricted: The model restricted to the records that satisfy them, as far as codes tell.
        parts: What parts of bins tell.
        mean: Mean weight of a row.
        error: Standard error of that.
        most: Weight from which on all rows are taken.
        kept: Part of the rows that are taken.
    """

    conditions: Conditions
    restricted: Restricted
    parts: KnownParts
    mean: float
    error: float
    most: float
    kept: float

    @classmethod
    def of(cls, conditions: Conditions, restricted: Restricted, parts: KnownParts) -> Self | None:
        """Try some rows; None if none is likely, or if they are so rare that to find a few would take far longer than it
        took to find how rare they are."""
        rng, n = np.random.default_rng(0), _TRIED
        if restricted.cheap is not None:
            n = min(n, restricted.cheap)
            if n < _FEWEST:
                return None
        tried = conditions.recoding.decode(restricted.draw(n, rng), rng)
        weights = parts.weights(tried, rng)
        mean = float(weights.mean())
        if not mean > 0:
            return None
        most = min(float(np.quantile(weights, _USUAL)), mean / _LEAST_KEPT)
        error = float(weights.std()) / math.sqrt(n)
        return cls(
            conditions, restricted, parts, mean, error, most, float(np.minimum(weights / most, 1).mean())
        )

    def draw(self, start: int, stop: int, rng: np.random.Generator) -> dict[str, RawColumn]:
        """Draw the rows from one position up to another, of which there is at least one."""
        taken: list[EncodedTable] = []
        left = stop - start
        for number in range(_MOST_ROUNDS):
            n = min(int(1.1 * left / self.kept) + (100 if self.restricted.cheap is None else 10), _AT_ONCE)
            drawn = self.conditions.recoding.decode(self.restricted.draw(n, rng), rng)
            chances = self.parts.weights(drawn, rng) / self.most
            # Weights that tried rows did not show must not keep rows from being drawn for ever.
            among = (rng.random(n) < chances) | (number == _MOST_ROUNDS - 1)
            places = np.flatnonzero(among)[:left]
            taken.append(EncodedTable(drawn.domain, tuple(codes[places] for codes in drawn.codes)))
            left -= places.size
            if not left:
                break
        pieces = zip(*(table.codes for table in taken), strict=True)
        rows = EncodedTable(taken[0].domain, tuple(np.concatenate(p) for p in pieces))
        return self.parts.decode(rows, rng, first_row=start)


@dataclass(frozen=True, eq=False)
class WholeRows:
    """Rows of a release in which columns follow each other within bins, of which some are kept.

    A condition that divides a bin, or codes that were merged, says something of the other columns there, which no model
    knows. So rows are drawn without conditions, and those that satisfy them kept.

    Attributes:
        codec: Of the release.
        model: Of the release.
        wanted: What satisfies the condition on each column.
    """

    codec: Codec
    model: Model
    wanted: Mapping[str, Allowed]

    def draw(
        self, start: int, stop: int, rng: np.random.Generator, *, probability: float
    ) -> dict[str, RawColumn] | None:
        """Draw the rows from one position up to another; None if far fewer are kept than was expected.

        Args:
            start: First position.
            stop: Position behind the last one.
            rng: Source of ordinary randomness.
            probability: About how many of all rows satisfy the conditions, above 0.
        """
        kept: list[dict[str, RawColumn]] = []
        left = stop - start
        most = _MOST_TIMES * max(left / probability, _TRIED)
        while left > 0 or not kept:
            if most <= 0:
                return None
            # As many as for a table, as values are dealt out among the rows that are drawn together.
            n = min(max(int(1.1 * left / probability), _TRIED), _AT_ONCE)
            most -= n
            drawn, among = self._drawn(n, rng)
            places = np.flatnonzero(among)[:left]
            kept.append({name: column.take(places) for name, column in drawn.items()})
            left -= places.size
        found = together(iter(kept), stop - start)
        for name, column in self.codec.schema.columns.items():
            if isinstance(column, Identifier):
                found[name] = self.codec.identifiers(name, found[name].missing, start)
        return found

    def probability(self) -> float:
        """Return how many of some rows satisfy the conditions."""
        return float(self._drawn(_COUNTED, np.random.default_rng(0))[1].mean())

    def _drawn(self, n: int, rng: np.random.Generator) -> tuple[dict[str, RawColumn], NDArray[np.bool_]]:
        """Draw rows without conditions, and say which satisfy them [n]."""
        drawn = self.codec.decode(self.model.sample(n, rng), rng, drawn_apart=self.model.drawn_apart)
        among = np.ones(n, np.bool_)
        for name, condition in self.wanted.items():
            among &= satisfies(self.codec.schema[name], drawn[name], condition)
        return drawn, among


def _no_rows(codec: Codec) -> EncodedTable:
    return EncodedTable(codec.domain, tuple(np.zeros(0, np.uint8) for _ in codec.domain))


def _satisfying(column: Column, wanted: Allowed, parts: Parts | None) -> NDArray[np.bool_]:
    """Return which codes of a column satisfy its condition; no bin may satisfy it only in part."""
    mask = np.zeros(column.n_codes(parts.bins if parts else None), dtype=np.bool_)
    mask[[code + (parts.bins.size if parts else 0) for code in wanted.codes]] = True
    if parts:
        spans = sorted(wanted.spans)
        firsts, reached = [a for a, _ in spans], [*accumulate((b for _, b in spans), max)]
        for code, start in enumerate(parts.bins.edges[:-1]):
            before = bisect_right(firsts, start)
            mask[code] = before > 0 and start < reached[before - 1]
    if wanted.missing:
        mask[-1] = True
    return mask


def _listed(names: Iterable[str]) -> str:
    named = [repr(name) for name in names]
    return f"column {named[0]}" if len(named) == 1 else f"columns {', '.join(named)} together"
