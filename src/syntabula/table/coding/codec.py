"""Encodes raw values as small integer codes and decodes them, by the declared domain alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from syntabula.bins.roundness import Roundness, with_atoms
from syntabula.bins.scale import Scale, even_bins
from syntabula.bins.uniform import Bins, Spread, UniformBins
from syntabula.errors import DataError, SchemaError
from syntabula.marginals.domain import Domain, EncodedTable, code_dtype
from syntabula.table.coding.column_codes import (
    COERCIONS,
    Coercions,
    decode_labels,
    encode_column,
    outcome,
    surrogates,
)
from syntabula.table.coding.values_within import InBins, ordered_values
from syntabula.table.raw import RawColumn, RawTable
from syntabula.table.schema.columns import Column, Identifier, Ordered
from syntabula.table.schema.schema import Schema

if TYPE_CHECKING:
    from syntabula.bins.ends import EndTimes
    from syntabula.bins.lift import Lifts
    from syntabula.bins.rhythm import Rhythm, RhythmOfDays
    from syntabula.table.coding.unit_sizes import UnitSizes
    from syntabula.table.coding.values_within import Deal, Within


@dataclass(frozen=True)
class Codec:
    """Codes for each learned column of a schema; a nullable identifier has codes only for present and missing.

    Codes of a column: its bins or categories in order, then "other" if it is open, or the texts beside its numbers, then
    missing if it is nullable; for an identifier, present and missing. A codec does not depend on data, except for bins
    that were fitted privately and paid for elsewhere.

    Attributes:
        schema: Declared columns.
        bins: Bins of every numeric, date and datetime column, in grid points if the column has a grid.
        spreads: How the values of some of these columns lie within their bins; evenly by default.
        roundness: Which round numbers the values of some other of these columns are multiples of.
        rhythms: Which weekdays and times of day are frequent in some columns of days and times.
        unit_sizes: How many rows synthetic units have, if the schema names a unit; one each by default.
        lifts: How much more frequent these are beside some codes of another column.
        ends: At which days and times the ends of some distances between times lie.
        own_keys: Number that decides, with a row's position, which key of a pattern it gets, so that no other release
            has the same; 0 in releases of earlier versions, which share them.

    Raises:
        SchemaError: If nothing is left to learn, or bins are missing, superfluous or do not span the domain.
    """

    schema: Schema
    bins: Mapping[str, Bins] = field(repr=False)
    spreads: Mapping[str, Spread] = field(default_factory=dict, repr=False)
    roundness: Mapping[str, Roundness] = field(default_factory=dict, repr=False)
    rhythms: Mapping[str, Rhythm] = field(default_factory=dict, repr=False)
    unit_sizes: UnitSizes | None = None
    lifts: Mapping[str, Lifts] = field(default_factory=dict, repr=False)
    ends: Mapping[str, EndTimes] = field(default_factory=dict, repr=False)
    own_keys: int = field(default=0, repr=False)
    domain: Domain = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", MappingProxyType(dict(self.bins)))
        needed = {n for n, c in self.schema.columns.items() if isinstance(c, Ordered)}
        if needed != set(self.bins):
            raise SchemaError(
                f"bins are missing or superfluous for columns {sorted(needed ^ set(self.bins))}"
            )
        for name, bins in self.bins.items():
            lower, upper, integer = self.schema[name].span()
            if bins.integer != integer or bins.edges[0] != lower or bins.edges[-1] != upper + integer:
                raise SchemaError(f"bins of column {name!r} do not span its declared domain")
        object.__setattr__(self, "spreads", MappingProxyType(dict(self.spreads)))
        for name, spread in self.spreads.items():
            if name not in self.bins or len(spread.means) != self.bins[name].size:
                raise SchemaError(f"the spread of column {name!r} does not fit its bins")
        object.__setattr__(self, "roundness", MappingProxyType(dict(self.roundness)))
        for name, roundness in self.roundness.items():
            if name not in self.bins or name in self.spreads:
                raise SchemaError(f"the roundness of column {name!r} has no bins, or stands beside a spread")
            roundness.check(self.bins[name])
        object.__setattr__(self, "rhythms", MappingProxyType(dict(self.rhythms)))
        for name in self.rhythms:
            if name not in self.bins or name in self.spreads:
                raise SchemaError(f"the rhythm of column {name!r} has no bins, or stands beside a spread")
            self.in_rhythm(name)
        sizes = {n: c.n_codes(self.bins.get(n)) for n, c in self._learned().items()}
        if not sizes:
            raise SchemaError("the schema has no column to learn from; declare one that is not an identifier")
        apart = {n: c.n_apart for n, c in self._learned().items() if c.n_apart}
        edges = {n: bins.edges for n, bins in self.bins.items() if n in sizes}
        object.__setattr__(self, "domain", Domain.from_sizes(sizes, needed & set(sizes), apart, edges))
        object.__setattr__(self, "lifts", MappingProxyType(dict(self.lifts)))
        object.__setattr__(self, "ends", MappingProxyType(dict(self.ends)))
        for name, ends in self.ends.items():
            ends.check(self.bins.get(name))
        for name, lifts in self.lifts.items():
            fitting = all(len(x.groups) == sizes.get(x.column) and x.column != name for x in lifts.lifts)
            if name not in self.rhythms or not fitting:
                raise SchemaError(f"the lifts of column {name!r} do not fit its bins or the other columns")
            lifts.check(self.bins[name])

    @classmethod
    def plan(
        cls,
        schema: Schema,
        *,
        bins: int = 100,
        fitted: Mapping[str, Bins] | None = None,
        spreads: Mapping[str, Spread] | None = None,
        roundness: Mapping[str, Roundness] | None = None,
        rhythms: Mapping[str, Rhythm] | None = None,
        unit_sizes: UnitSizes | None = None,
    ) -> Self:
        """Make a codec with even bins, before any data is read.

        Args:
            schema: Declared columns.
            bins: Number of bins of columns that do not set their own; an integer, date or datetime column with at most
                that many values keeps one code per value.
            fitted: Bins of some columns from another discretizer, used instead.
            spreads: How the values of some columns lie within their bins.
            roundness: Which round numbers the values of some columns are multiples of.
            rhythms: Which weekdays and times of day are frequent in some columns.
            unit_sizes: How many rows synthetic units have.

        Returns:
            The codec. Declared atoms have codes of their own.

        Raises:
            ArgumentError: If `bins` is not an integer from 1 to a million.
            SchemaError: If the schema has nothing to learn, or fitted bins do not fit it.
        """
        UniformBins(bins)
        chosen = dict(fitted or {})
        # Many columns have the same: flags in numbers, percentages, and all whose domain is only guessed.
        even: dict[tuple[int, Any, Any, bool, Scale | None], Bins] = {}
        for name, column in schema.columns.items():
            if isinstance(column, Ordered) and name not in chosen:
                lower, upper, integer = column.span()
                count = bins if column.bins is None else column.bins
                facts = (count, lower, upper, integer, column.scale())
                if facts not in even:
                    even[facts] = even_bins(*facts[:3], integer=integer, scale=facts[4])
                chosen[name] = with_atoms(even[facts], column.declared_atoms)
        return cls(schema, chosen, spreads or {}, roundness or {}, rhythms or {}, unit_sizes)

    def encode(
        self, table: RawTable, *, strict: bool = False, found: Collection[str] = (), let_go: bool = False
    ) -> tuple[EncodedTable, Coercions]:
        """Encode a table; never fails on a table whose columns are stored as the schema says.

        Values outside the bounds are clipped to the nearest bound. Unlisted categories become "other" if the column is
        open, else missing if it is nullable; so do cells of text files that cannot be read as the declared kind. A
        record that still has a cell without a code is left out. That depends only on the record itself, so adding or
        removing one record of the raw table changes at most one record of the encoded table, and the guarantee
        carries over (a 1-stable transformation).

        Args:
            table: Table to encode.
            strict: Whether to raise an error instead of coercing. The failure depends on the data and is not covered by
                the guarantee.
            found: Columns whose domains were found and leave out some values by design; these values are coerced even
                if strict, and not reported.
            let_go: Whether to take each column out of the table once it is coded, so that memory need not hold both.

        Returns:
            Codes of the learned columns, and the coercions (not for release).

        Raises:
            SchemaError: If the column names do not fit the schema, or the kinds of columns read without it do not.
            DataError: In strict mode, if anything had to be coerced; the message names columns, never values.
        """
        self.schema.check_table(table)
        kept = np.ones(table.n_rows, dtype=np.bool_)
        codes: dict[str, NDArray[Any]] = {}
        counts: dict[str, dict[str, int]] = {kind: {} for kind in COERCIONS}
        none_fit: list[str] = []
        for name, column in self._learned().items():
            read = encode_column(column, table.columns[name], self.bins.get(name))
            if let_go:
                del table.columns[name]
            kept &= read.valid
            codes[name] = read.codes.astype(code_dtype(self.domain.size(name)))
            if name in found:
                continue
            for kind, count in read.counts.items():
                if count:
                    counts[kind][name] = count
            if read.none_fits:
                none_fit.append(name)
        coercions = Coercions(
            **counts,
            records_left_out=int(kept.size - kept.sum()),
            outcomes=self.outcomes(),
            none_fit=tuple(none_fit),
            kept=kept,
        )
        if strict:
            coercions.require_none()
        if coercions.records_left_out:
            codes = {name: array[kept] for name, array in codes.items()}
        return EncodedTable.from_mapping(self.domain, codes), coercions

    def decode(
        self,
        table: EncodedTable,
        rng: np.random.Generator,
        *,
        first_row: int = 0,
        drawn_apart: Mapping[str, NDArray[np.intp]] | None = None,
        deal: Deal | None = None,
    ) -> dict[str, RawColumn]:
        """Turn codes into values of the declared kinds, which follow other columns within their bins too.

        Args:
            table: Codes over this codec's domain.
            rng: Source of ordinary randomness for values within bins.
            first_row: Position of the first of these rows in the whole table, so that pieces do not repeat identifiers.
            drawn_apart: See `Model.drawn_apart`; None if each code was drawn as it is.
            deal: See `ordered_values`.

        Returns:
            One column per column of the schema, in its order; identifiers are running numbers, from 1 for the first row
            of the whole table, and rows of one unit share its number. Encoding the values again gives the same codes,
            but for those of one group that were drawn apart: these may change places.

        Raises:
            DataError: If the table has another domain.
        """
        if table.domain != self.domain:
            raise DataError(
                "the encoded table's domain differs from the codec's; encode the table with the same codec"
            )
        decoded = ordered_values(self.in_bins(table, drawn_apart), rng, deal)
        for name, column in self.schema.columns.items():
            if isinstance(column, Identifier):
                missing = np.zeros(table.n_rows, np.bool_)
                if column.is_learned:
                    missing = table.column(name) == column.n_codes() - 1
                decoded[name] = self.identifiers(name, missing, first_row)
            elif name not in decoded:
                decoded[name] = decode_labels(column, table.column(name))
        return {name: decoded[name] for name in self.schema.columns}

    def in_bins(
        self, table: EncodedTable, drawn_apart: Mapping[str, NDArray[np.intp]] | None
    ) -> dict[str, InBins]:
        """Return the bins of each ordered column's rows; arguments are those of `decode`."""
        groups = drawn_apart or {}
        found = {}
        for name, bins in self.bins.items():
            lifts = self.lifts.get(name)
            beside = () if lifts is None else tuple(table.column(lift.column) for lift in lifts.lifts)
            column, codes, within = self.schema[name], table.column(name), self.within(name)
            found[name] = InBins.of(column, codes, bins, within, groups.get(name), lifts, beside)
        return found

    def within(self, name: str) -> Within | None:
        """Return how the values of a column lie within its bins; None if evenly."""
        if name in self.rhythms:
            return self.in_rhythm(name)
        return self.spreads.get(name) or self.roundness.get(name)

    def in_rhythm(self, name: str) -> RhythmOfDays:
        """Return how the values of a column that has a rhythm lie within its bins."""
        from syntabula.bins.rhythm import RhythmOfDays
        from syntabula.table.schema.calendar import days_of

        column = self.schema[name]
        assert isinstance(column, Ordered)
        return RhythmOfDays(self.rhythms[name], days_of(column), self.roundness.get(name))

    def identifiers(self, name: str, missing: NDArray[np.bool_], first_row: int) -> RawColumn:
        """Return the made-up values of an identifier column.

        Args:
            name: The column.
            missing: Which cells are missing [n].
            first_row: Position of the first of these rows in the whole table.
        """
        column = self.schema[name]
        assert isinstance(column, Identifier)
        if name == self.schema.unit:
            # All keys of units differ, or two of them would be one.
            column = replace(column, distinct=None)
        if name != self.schema.unit or self.unit_sizes is None:
            return surrogates(name, column, missing, first_row, self.own_keys)
        numbers = self.unit_sizes.numbers(first_row, missing.size)
        first, last = (int(numbers[0]), int(numbers[-1])) if numbers.size else (0, -1)
        keys = surrogates(name, column, np.zeros(last - first + 1, np.bool_), first, self.own_keys)
        return keys.take((numbers - first).astype(np.intp))

    def to_json(self) -> dict[str, Any]:
        """Return the codec as a dictionary of JSON values, from which `from_json` rebuilds it."""
        # The outer edges follow from the schema, and one of them may exceed 64 bits.
        cuts = {n: list(b.cuts) for n, b in self.bins.items()}
        spreads = {n: [list(s.means), list(s.deviations)] for n, s in self.spreads.items()}
        rounds = {n: [list(map(str, r.steps)), list(r.shares)] for n, r in self.roundness.items()}
        sizes = None if self.unit_sizes is None else list(self.unit_sizes.shares)
        of_times: tuple[Mapping[str, Any], ...] = (self.rhythms, self.lifts, self.ends)
        rhythms, lifts, ends = ({n: asdict(facts) for n, facts in one.items()} for one in of_times)
        found = (spreads, rounds, rhythms, sizes, lifts, ends, self.own_keys)
        optional = dict(zip(_OPTIONAL, found, strict=True))
        stated = {key: value for key, value in optional.items() if value}
        return {"schema": self.schema.to_json(), "cuts": cuts, **stated}

    @classmethod
    def from_json(cls, document: Mapping[str, Any], *, learned: Collection[str] | None = None) -> Self:
        """Rebuild a codec from what `to_json` returned.

        Args:
            document: What `to_json` returned.
            learned: Columns that the model knows; identifiers that it does not know have no missing cells. None if it
                knows all columns that this codec would learn.

        Raises:
            SchemaError: On anything else.
        """
        if not isinstance(document, Mapping) or set(document) - {*_OPTIONAL} != {"schema", "cuts"}:
            raise SchemaError(
                f"a codec must be a mapping with the keys 'schema', 'cuts' and optionally {', '.join(_OPTIONAL)}"
            )
        schema = Schema.from_json(document["schema"])
        if learned is not None:
            # Older releases learned nothing about identifiers.
            for name in [n for n, c in schema.columns.items() if c.is_learned and n not in learned]:
                schema = schema.with_column(name, replace(schema[name], nullable=False))
        try:
            cuts = msgspec.convert(document["cuts"], dict[str, list[int | float]])
            read = msgspec.convert(document.get("spreads", {}), dict[str, tuple[list[float], list[float]]])
            rounds = msgspec.convert(document.get("roundness", {}), dict[str, tuple[list[str], list[float]]])
            roundness = {n: Roundness(tuple(map(_fraction, s)), tuple(w)) for n, (s, w) in rounds.items()}
            rhythms, lifts, ends = _rhythms(*(document.get(k, {}) for k in ("rhythms", "lifts", "ends")))
            shares = msgspec.convert(document.get("unit_sizes"), tuple[float, ...] | None)
            own_keys = msgspec.convert(document.get("own_keys", 0), Annotated[int, msgspec.Meta(ge=0)])
        except (msgspec.ValidationError, ValueError, ZeroDivisionError) as error:
            raise SchemaError(f"the numbers of a codec cannot be read: {error}") from None
        bins = {}
        for name, inner in cuts.items():
            lower, upper, integer = schema[name].span()
            bins[name] = Bins((lower, *inner, upper + integer), integer=integer)
        sizes = None
        if shares is not None:
            from syntabula.table.coding.unit_sizes import UnitSizes

            sizes = UnitSizes(shares)
        spreads = {n: Spread(tuple(m), tuple(d)) for n, (m, d) in read.items()}
        return cls(schema, bins, spreads, roundness, rhythms, sizes, lifts, ends, own_keys)

    def outcomes(self) -> dict[str, str]:
        """Return what happens to a cell of each column that holds no value of its domain, by the declaration alone."""
        return {name: outcome(column) for name, column in self._learned().items()}

    def _learned(self) -> dict[str, Column]:
        return {n: c for n, c in self.schema.columns.items() if c.is_learned}


def _rhythms(
    rhythms: Any, lifts: Any, ends: Any
) -> tuple[dict[str, Rhythm], dict[str, Lifts], dict[str, EndTimes]]:
    """Read stored rhythms, lifts and ends; raises ValidationError or SchemaError for anything else."""
    if not rhythms and not lifts and not ends:
        return {}, {}, {}
    from syntabula.bins.ends import EndTimes
    from syntabula.bins.lift import Lifts
    from syntabula.bins.rhythm import Rhythm

    told = msgspec.convert(lifts, dict[str, Lifts]), msgspec.convert(ends, dict[str, EndTimes])
    return msgspec.convert(rhythms, dict[str, Rhythm]), *told


def _fraction(text: str) -> Fraction:
    """Read a stored fraction; raises ValueError for other notations, as 1e999999999 would fill the memory."""
    if not _FRACTION.fullmatch(text):
        raise ValueError("a step is no fraction")
    return Fraction(text)


_OPTIONAL = ("spreads", "roundness", "rhythms", "unit_sizes", "lifts", "ends", "own_keys")
_FRACTION = re.compile(r"[0-9]{1,400}(/[0-9]{1,400})?", re.ASCII)
