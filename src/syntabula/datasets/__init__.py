"""Named example tables: those of the papers, and simulated ones.

Examples:
    >>> from syntabula import datasets
    >>> datasets.describe("adult").n_rows
    48842
    >>> frame = datasets.census(n_rows=100, seed=1)
"""

from __future__ import annotations

from syntabula.datasets.census import census, census_schema
from syntabula.datasets.info import Archive, DatasetInfo
from syntabula.datasets.registry import Dataset, describe, load, names
from syntabula.datasets.schemas import adult_schema, schema_of
from syntabula.datasets.simulated import controlled, gauss, points

__all__ = [
    "Archive",
    "Dataset",
    "DatasetInfo",
    "adult_schema",
    "census",
    "census_schema",
    "controlled",
    "describe",
    "gauss",
    "load",
    "names",
    "points",
    "schema_of",
]
