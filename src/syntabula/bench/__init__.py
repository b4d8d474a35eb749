"""Studies: methods compared on tables at budgets, each cell in a process of its own, with the papers' figures beside.

Examples:
    >>> from syntabula import bench
    >>> study = bench.Study(name="mine", datasets=("census@500",), methods=("mst", "independent"), epsilons=(1, 10))
    >>> len(study.cells)
    4
"""

from __future__ import annotations

from syntabula.bench.candidate import Binning, Candidate
from syntabula.bench.collection import NotRun, find_study, list_studies
from syntabula.bench.comparison import Difference, compare
from syntabula.bench.runner import Progress, Work, run, work_of
from syntabula.bench.store import Record, Store, export_parquet
from syntabula.bench.study import Study, read_study
from syntabula.bench.study_fields import Figure, Reported
from syntabula.bench.summary import Row, Summary, summarize

__all__ = [
    "Binning",
    "Candidate",
    "Difference",
    "Figure",
    "NotRun",
    "Progress",
    "Record",
    "Reported",
    "Row",
    "Store",
    "Study",
    "Summary",
    "Work",
    "compare",
    "export_parquet",
    "find_study",
    "list_studies",
    "read_study",
    "run",
    "summarize",
    "work_of",
]
