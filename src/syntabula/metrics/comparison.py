"""Tables with a common coding, which every metric takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Codes, code_dtype
from syntabula.table.rules.row_rules import RowRules
from syntabula.table.unit_rows import Rows, parted

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class View:
    """One table, column by column.

    Attributes:
        numbers: Values [rows] of each numeric column, NaN where a cell is missing. Dates and times are
            microseconds since 1970-01-01.
        codes: Codes [rows] of each categorical column, in the smallest unsigned type; a missing cell has the
            last code.
        n_rows: Number of rows.
        units: Number of each row's unit [rows], if several rows may be about one person; None if each is its own.
    """

    numbers: Mapping[str, Floats]
    codes: Mapping[str, Codes]
    n_rows: int
    units: Rows | None = None

    def take(self, rows: Rows) -> View:
        """Return the table with the given rows, which may repeat."""
        return View(
            {name: values[rows] for name, values in self.numbers.items()},
            {name: codes[rows] for name, codes in self.codes.items()},
            int(rows.size),
            None if self.units is None else self.units[rows],
        )

    def shuffled_apart(self, n: int, rng: np.random.Generator) -> View:
        """Return n rows with every cell drawn independently from its column."""

        def drawn(column: NDArray[Any]) -> NDArray[Any]:
            return column[rng.integers(self.n_rows, size=n)]

        return View(
            {name: drawn(values) for name, values in self.numbers.items()},
            {name: drawn(codes) for name, codes in self.codes.items()},
            n,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """A real and a synthetic table with a common coding, and a holdout table if there is one.

    Every value that occurs in any of the tables has the same code in all of them, and a missing cell is a
    value of its own. `reading.compare` makes a comparison.

    Attributes:
        real: The table that the synthetic one was made from.
        synthetic: The table to score.
        columns: Names of the columns that are compared, in the order of the real table.
        categories: Values of each categorical column in the order of their codes; the last one, None, stands
            for missing cells, even if there are none.
        holdout: Real records that the synthesizer has not seen, or None.
        target: Column to predict, or None.
        left_out: Columns that are not compared, such as identifiers.
        rules: The rules of the schema, or None.
        learned: The records that the synthetic table was made from, if `real` are others; None if they are `real`.
        dated: Names of the numeric columns that hold days, or times of some day.

    Examples:
        >>> import pandas
        >>> from syntabula.metrics.reading import compare
        >>> real = pandas.DataFrame({"x": [0.5, 1.5], "c": ["a", None]})
        >>> tables = compare(real, real)
        >>> tables.numeric, tables.categorical, tables.categories["c"]
        (('x',), ('c',), ('a', None))
    """

    real: View
    synthetic: View
    columns: tuple[str, ...]
    categories: Mapping[str, tuple[Any, ...]]
    holdout: View | None = None
    target: str | None = None
    left_out: tuple[str, ...] = ()
    rules: RowRules | None = None
    learned: View | None = None
    dated: tuple[str, ...] = ()
    _levels: dict[tuple[str, int], tuple[Codes, Codes]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", MappingProxyType(dict(self.categories)))

    @cached_property
    def numeric(self) -> tuple[str, ...]:
        """Names of the numeric columns, dates and times among them."""
        return tuple(name for name in self.columns if name not in self.categories)

    @cached_property
    def categorical(self) -> tuple[str, ...]:
        """Names of the categorical columns."""
        return tuple(name for name in self.columns if name in self.categories)

    def size(self, name: str) -> int:
        """Return the number of codes of a categorical column, including that of missing cells."""
        return len(self.categories[name])

    @cached_property
    def bounds(self) -> Mapping[str, tuple[float, float]]:
        """Least and largest present value of each numeric column over real and synthetic; (0, 0) if none."""
        return {name: _bounds(self.real.numbers[name], self.synthetic.numbers[name]) for name in self.numeric}

    def scaled(self, view: View, name: str) -> Floats:
        """Return a numeric column [rows] of one of the tables with `bounds` mapped to 0 and 1; NaN stays.

        A column with one value becomes 0. Cells of a holdout table may lie outside 0 .. 1.
        """
        low, high = self.bounds[name]
        scaled: Floats = (view.numbers[name] - low) / ((high - low) or 1.0)
        return scaled

    def levels(self, name: str, n_levels: int) -> tuple[Codes, Codes]:
        """Return a column of the real and the synthetic table as a few codes [rows each].

        Args:
            name: A column. Categories keep their codes. A number becomes
                round((n_levels - 1) (x - min) / (max - min)), the coding of tab_bench's fidelity error, and a
                missing one the code n_levels.
            n_levels: Number of levels of a numeric column, at least 2.

        Raises:
            ArgumentError: If there are fewer than 2 levels.
        """
        if n_levels < 2:
            raise ArgumentError(f"the number of levels is {n_levels}; it must be at least 2")
        if name in self.categories:
            return self.real.codes[name], self.synthetic.codes[name]
        if (name, n_levels) not in self._levels:
            real, synthetic = (self._leveled(v, name, n_levels) for v in (self.real, self.synthetic))
            self._levels[name, n_levels] = (real, synthetic)
        return self._levels[name, n_levels]

    def n_levels(self, name: str, n_levels: int) -> int:
        """Return how many codes `levels` may give, including that of missing cells."""
        return self.size(name) if name in self.categories else n_levels + 1

    def _leveled(self, view: View, name: str, n_levels: int) -> Codes:
        scaled = np.rint((n_levels - 1) * self.scaled(view, name))
        codes: Codes = np.where(np.isnan(scaled), n_levels, scaled).astype(code_dtype(n_levels + 1))
        return codes

    def against_holdout(self) -> Comparison:
        """Return the comparison of the synthetic table with the holdout table in place of the real one.

        Raises:
            ArgumentError: If there is no holdout table.
        """
        if self.holdout is None:
            raise ArgumentError("there is no holdout table; give one to compare against it")
        return replace(self, real=self.holdout, holdout=None, learned=self.real)

    def sampled(self, n: int, rng: np.random.Generator) -> Comparison:
        """Return a comparison of at most n random rows of each table, for metrics that are expensive.

        Tables of equal length give the same rows, so that a copy is recognised as one.
        """
        rows = {size: _chosen(size, n, rng) for size in (self.real.n_rows, self.synthetic.n_rows)}
        real, synthetic = (
            v if v.n_rows <= n else v.take(rows[v.n_rows]) for v in (self.real, self.synthetic)
        )
        return replace(self, real=real, synthetic=synthetic)

    def halves(self, rng: np.random.Generator) -> Comparison:
        """Return the baseline HALF: one random half of the real table against the other half as the synthetic table.

        All rows of a unit are in the same half.

        Raises:
            ArgumentError: If the real table has fewer than two rows.
            DataError: If all rows are of one unit.
        """
        if self.real.n_rows < 2:
            raise ArgumentError("a table of one row has no halves; leave out the baseline HALF")
        first, rest = parted(self.real.n_rows // 2, self.real.n_rows, self.real.units, rng)
        return replace(self, real=self.real.take(first), synthetic=self.real.take(rest))

    def histogram(self, rng: np.random.Generator) -> Comparison:
        """Return the baseline HISTOGRAM: a synthetic table of independent columns, with its length unchanged."""
        return replace(self, synthetic=self.real.shuffled_apart(self.synthetic.n_rows, rng))

    def with_own_holdout(self, rng: np.random.Generator) -> Comparison:
        """Return a comparison whose holdout table is a random quarter of the real table, and whose real table the rest.

        All rows of a unit are in the same table.

        Raises:
            ArgumentError: If the real table has fewer than two rows.
            DataError: If all rows are of one unit.
        """
        if self.real.n_rows < 2:
            raise ArgumentError("a table of one row cannot be split; give a holdout table")
        n_held = max(1, self.real.n_rows // 4)
        held, rest = parted(n_held, self.real.n_rows, self.real.units, rng)
        return replace(self, real=self.real.take(rest), holdout=self.real.take(held))

    def itself(self) -> Comparison:
        """Return the baseline SELF: the real table as the synthetic table."""
        return replace(self, synthetic=self.real)

    def __repr__(self) -> str:
        return f"Comparison({len(self.numeric)} numeric and {len(self.categorical)} categorical columns)"


def _bounds(*columns: Floats) -> tuple[float, float]:
    present = [column for column in columns if not np.isnan(column).all()]
    if not present:
        return 0.0, 0.0
    return float(min(map(np.nanmin, present))), float(max(map(np.nanmax, present)))


def _chosen(n_rows: int, n: int, rng: np.random.Generator) -> Rows:
    return rng.choice(n_rows, size=min(n, n_rows), replace=False)
