"""How long trees take to grow, by two that are grown on a made-up table."""

from __future__ import annotations

from functools import lru_cache
from time import process_time

import numpy as np

from syntabula._extras import require
from syntabula._planning import times_are_asked
from syntabula.marginals.domain import Codes, Domain, code_dtype
from syntabula.record_models.determined import MOST_RECORDS
from syntabula.record_models.trees import MOST_CLASSES, grow

_ROWS = 4_000
_SIZES = (2, 2, 3, 5, 7, 9, 12, 15, 40, 75, 100, 250)
"""Codes of the predictors: about those of census tables."""
_WITH_ORDER = 50
"""Predictors of more codes have an order."""
_SPREAD, _SKEW = 0.2, 3
_PART = 0.74
"""Trees of four tables take so much of the time of made-up ones, whose rows are never the same, within 45 %."""


def seconds_of_trees(
    domain: Domain, n: int, *, least_leaf: int, least_split: int, complexity: float, least_code: int
) -> float:
    """Return how long a tree for each column takes, given the columns before it, and to see which others determine.

    Time grows with records and predictors. It does not grow faster than that with more records: tables have few
    different codes in most columns, so that their trees soon have nothing left to split.

    Args:
        domain: All columns.
        n: Number of records.
        least_leaf: See `grow`, as of the others.
        least_split: Fewest records of a node that is split.
        complexity: Part of the impurity that a split must take away.
        least_code: Fewest records that have a code.

    Returns:
        Seconds on one core; 0 if nobody asks for times.

    Raises:
        MissingExtraError: If scikit-learn is not installed.
    """
    d = len(domain)
    if d < 2:
        return 0.0
    # Said before any data is read, and loading it takes longer than a tree.
    require("sklearn.tree", "evaluate")
    if not times_are_asked():
        return 0.0
    each = {
        kind: _timed_tree(kind, least_leaf, least_split, complexity, least_code) for kind in (True, False)
    }
    mean = sum(each[c in domain.ordered] for c in domain) / d
    classes = sum(c not in domain.ordered and domain.size(c) <= MOST_CLASSES for c in domain)
    # One half of some records says of each category whether the others determine it.
    checked = min(n, MOST_RECORDS) / 2 * classes * (d - 1) * each[False]
    return _PART * (n * mean * d * (d - 1) / 2 + checked)


@lru_cache(maxsize=16)
def _timed_tree(
    ordered: bool, least_leaf: int, least_split: int, complexity: float, least_code: int
) -> float:
    """Return the seconds for each record and predictor on a free machine."""
    rng = np.random.default_rng(0)
    kinds = rng.random(_ROWS)

    def codes(size: int) -> Codes:
        """Return codes that depend on the records' kinds, of which the first are frequent."""
        places = np.clip(kinds + _SPREAD * rng.normal(size=_ROWS), 0.0, 1 - 1e-9)
        return (size * places**_SKEW).astype(code_dtype(size))

    predictors = [codes(size) for size in _SIZES]
    n_codes = 100 if ordered else 8
    target = codes(n_codes)
    times = []
    for _ in range(2):
        began = process_time()
        grow(
            target,
            n_codes,
            predictors,
            _SIZES,
            ordered=ordered,
            ordered_predictors=[size > _WITH_ORDER for size in _SIZES],
            least_leaf=least_leaf,
            least_split=least_split,
            complexity=complexity,
            least_code=least_code,
            seed=0,
        )
        times.append(process_time() - began)
    return min(times) / _ROWS / len(_SIZES)
