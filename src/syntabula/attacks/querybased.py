"""Querybased: attacks by how often the target's values occur together in a synthetic table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count, normalise
from syntabula.attacks.base import Knowledge
from syntabula.errors import ArgumentError
from syntabula.metrics.comparison import Floats, View


@dataclass(frozen=True, kw_only=True)
class QueryBased:
    """Membership inference from counts of the target's values (Houssiau et al., "TAPAS", 2022).

    For each of some subsets of the columns, it counts the synthetic records that agree with the target on
    the whole subset. It uses all non-empty subsets if there are at most `most_queries`, as in Ganev et al.,
    "The Importance of Being Discrete", otherwise a sample of that many that includes all single columns.
    Numbers agree if they are in the same of `n_bins` bins of equal width over the range of all records.
    A target of several records is asked about one by one, about the same subsets.

    Attributes:
        n_bins: Number of bins of a numeric column.
        most_queries: Largest number of subsets, over all records of the target.
        seed: Seed of the sample of subsets.
    """

    n_bins: int = 20
    most_queries: int = 4096
    seed: int = 0

    key: ClassVar[str] = "querybased"
    learns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        normalise(self, n_bins=count(2), most_queries=count(), seed=count(0))

    def features(self, synthetic: View, knowledge: Knowledge) -> Floats:
        """Return the counts [queries]."""
        if knowledge.target is None:
            raise ArgumentError("this attack needs a target")
        rows = knowledge.target_rows[: self.most_queries]
        queries = self._subsets(len(synthetic.numbers) + len(synthetic.codes), self.most_queries // rows.size)
        return np.concatenate([self._counts(synthetic, knowledge, int(row), queries) for row in rows])

    def _counts(self, synthetic: View, knowledge: Knowledge, row: int, queries: NDArray[np.bool_]) -> Floats:
        """Return how many synthetic records agree with one record on each subset [queries]."""
        agreement = self._agreement(synthetic, knowledge, row)
        # Most records agree with the target in one of few ways: count each way once.
        ways, n_records = np.unique(agreement, axis=0, return_counts=True)
        hits = ways.astype(np.float32) @ queries.T.astype(np.float32) == queries.sum(axis=1)
        counts: Floats = n_records @ hits.astype(np.float64)
        return counts

    def _agreement(self, synthetic: View, knowledge: Knowledge, target: int) -> NDArray[np.bool_]:
        """Return in which columns each synthetic record agrees with one of the real ones [rows, columns]."""
        agree = []
        for name, (low, high) in knowledge.bounds.items():
            width = (high - low) / self.n_bins or 1.0

            def binned(values: Floats, low: float = low, width: float = width) -> Floats:
                # Missing values have their own bin, so they agree with each other.
                return np.where(np.isnan(values), -1, np.clip((values - low) // width, 0, self.n_bins - 1))

            mine = binned(knowledge.table.numbers[name][target : target + 1])
            agree.append(binned(synthetic.numbers[name]) == mine)
        for name, codes in synthetic.codes.items():
            agree.append(codes == knowledge.table.codes[name][target])
        return np.stack(agree, axis=1)

    def _subsets(self, n_columns: int, most: int) -> NDArray[np.bool_]:
        """Return at most so many subsets [queries, columns] of the columns."""
        if n_columns < 31 and 2**n_columns - 1 <= most:
            numbers = np.arange(1, 2**n_columns)[:, None]
            every: NDArray[np.bool_] = (numbers >> np.arange(n_columns)) % 2 == 1
            return every
        rng = np.random.default_rng(self.seed)
        # Sizes are uniform from 1 up: including each column by a fair coin would give about half of the
        # columns each time.
        sizes = rng.integers(1, n_columns + 1, size=most)
        ranks = rng.random((most, n_columns)).argsort(axis=1)
        return np.concatenate([np.eye(n_columns, dtype=np.bool_), ranks < sizes[:, None]])[:most]
