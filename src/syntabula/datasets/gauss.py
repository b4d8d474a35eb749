"""Gauss10, Gauss30 and Gauss50: tables whose columns all depend on each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from syntabula._arguments import count, refusal
from syntabula.datasets.arguments import check_n_rows, check_seed
from syntabula.datasets.frames import Cells, make_frame

ROWS = {10: 16_000, 30: 80_000, 50: 160_000}
CORRELATION = 0.8


def gauss(n_columns: int, n_rows: int | None = None, seed: int = 0) -> Any:
    """Draw normal columns of which every pair has correlation 0.8.

    Numbers of columns and rows and the correlation are those of MargNet (Chen, Gong, Wang; its Table 4 and
    section 6.2). The paper states neither means nor variances; here they are 0 and 1.

    Args:
        n_columns: 10, 30 or 50.
        n_rows: Number of rows; by default that of the paper (16,000, 80,000 or 160,000).
        seed: Seed of the draw.

    Returns:
        A frame with columns x1, x2, ... of floats.

    Raises:
        ArgumentError: If an argument is out of range.
        MissingExtraError: If no dataframe library is installed.
    """
    n_columns = count()("n_columns", n_columns)
    if n_columns not in ROWS:
        raise refusal("n_columns", f"one of {', '.join(map(str, ROWS))}", n_columns)
    rows = ROWS[n_columns] if n_rows is None else check_n_rows(n_rows)
    rng = np.random.default_rng(check_seed(seed))
    # One factor that all columns share gives every pair the same correlation.
    shared = np.sqrt(CORRELATION) * rng.standard_normal(rows)
    own = np.sqrt(1 - CORRELATION) * rng.standard_normal((n_columns, rows))
    return make_frame({f"x{i}": Cells(shared + column) for i, column in enumerate(own, start=1)})
