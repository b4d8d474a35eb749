"""What parts of your own are made of: the names stay here wherever the files behind them move.

`docs/plugins.md` has an example of each kind; `syntabula.register` or an entry point gives a part its name, and
`syntabula.testing` holds it to the promises of ours. A method of your own inherits from `syntabula.Marginal`.

- A selector inherits from `Selector`. It says its steps beforehand by `PlannedStep`, and asks the `Curator` for
  marginals of a `Clique` of columns of the `Domain`; each answer is a `Measurement`.
- A model inherits from `MarginalModel`: it is fitted to measurements, and draws an `EncodedTable`.
- A discretizer inherits from `FittedDiscretizer`: it asks a `ColumnCurator` about a column, and returns `Bins`.
- A metric is a `Metric`: it makes a `Score` of a `Comparison`.

Examples:
    >>> from syntabula import plugins
    >>> domain = plugins.Domain(("age", "sex"), (10, 2))
    >>> domain.cells(("age", "sex"))
    20
"""

from __future__ import annotations

from syntabula._planning import FitCost, PlannedFit, PlannedStep, Progress
from syntabula.bins.uniform import Bins, UniformBins
from syntabula.marginals.domain import Clique, Domain, all_cliques
from syntabula.marginals.encoded import EncodedTable
from syntabula.marginals.measurement import FloatArray, Measurement, check_measurements
from syntabula.metrics.comparison import Comparison, View
from syntabula.metrics.metric import Group, Metric, MetricInfo, Need
from syntabula.metrics.score import Direction, Part, Score
from syntabula.models.base import MarginalModel, bound, check_sample
from syntabula.models.storage import read_facts, stored_facts, whole_model
from syntabula.prepare.discretizer import FittedDiscretizer, bins_through
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.doors.tables import Curator
from syntabula.select.base import Selector

__all__ = [
    "Bins",
    "Clique",
    "ColumnCurator",
    "Comparison",
    "Curator",
    "Direction",
    "Domain",
    "EncodedTable",
    "FitCost",
    "FittedDiscretizer",
    "FloatArray",
    "Group",
    "MarginalModel",
    "Measurement",
    "Metric",
    "MetricInfo",
    "Need",
    "Part",
    "PlannedFit",
    "PlannedStep",
    "Progress",
    "Score",
    "Selector",
    "UniformBins",
    "View",
    "all_cliques",
    "bins_through",
    "bound",
    "check_measurements",
    "check_sample",
    "read_facts",
    "stored_facts",
    "whole_model",
]
