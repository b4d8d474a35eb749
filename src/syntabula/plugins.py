"""The names that plug-ins import; they stay here even if the files behind them move.

`docs/plugins.md` has an example of each kind. `syntabula.register` or an entry point gives a part its name, and
`syntabula.testing` tests it as the built-in parts are tested. A method of marginals inherits from `syntabula.Marginal`.

- A selector inherits from `Selector`. It plans its steps as `PlannedStep`s and asks the `Curator` for the marginal of
  a `Clique`, a set of columns of the `Domain`; each answer is a `Measurement`.
- A model inherits from `MarginalModel`. It is fitted to measurements and samples an `EncodedTable`.
- A model of records inherits from `TorchModel`. It has a network of torch, the loss of a record, given the
  `ColumnLookup` of each column, and draws rows; a method that trains it inherits from `NoisyTrained`, and states its
  `Training` and `NoisyTraining`.
- A discretizer inherits from `FittedDiscretizer`. It asks a `ColumnCurator` about a column and returns `Bins`.
- A metric is a `Metric`. It computes a `Score` from a `Comparison`.
- An attack is an `Attack`. It turns a synthetic `View` into numbers, with the attacker's `Knowledge`.
- An option that is `tunable` declares the `Range` or `Choice` that `syntabula.tune` tries. A method declares with
  `tunable_part` what it tries of a part instead.

Examples:
    >>> from syntabula import plugins
    >>> domain = plugins.Domain(("age", "sex"), (10, 2))
    >>> domain.cells(("age", "sex"))
    20
"""

from __future__ import annotations

from syntabula._planning import FitCost, PlannedFit, PlannedStep, Progress
from syntabula._spaces import Choice, Range, tunable, tunable_part
from syntabula.attacks.base import Attack, Knowledge
from syntabula.bins.uniform import Bins, UniformBins
from syntabula.marginals.domain import Clique, Domain, EncodedTable, all_cliques
from syntabula.marginals.measurement import FloatArray, Measurement, check_measurements
from syntabula.metrics.comparison import Comparison, View
from syntabula.metrics.metric import Group, Metric, MetricInfo, Need
from syntabula.metrics.score import Direction, Part, Score
from syntabula.models.base import MarginalModel, bound, check_sample, read_facts, stored_facts, whole_model
from syntabula.prepare.preprocessing import FittedDiscretizer, bins_through
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.doors.tables import Curator
from syntabula.record_models.loop import Training
from syntabula.record_models.noisy_loop import NoisyTraining
from syntabula.record_models.representation import ColumnLookup
from syntabula.record_models.torch_model import TorchModel
from syntabula.select.base import Selector
from syntabula.synthesizers.record_trained import NoisyTrained, RecordTrained

__all__ = [
    "Attack",
    "Bins",
    "Choice",
    "Clique",
    "ColumnCurator",
    "ColumnLookup",
    "Comparison",
    "Curator",
    "Direction",
    "Domain",
    "EncodedTable",
    "FitCost",
    "FittedDiscretizer",
    "FloatArray",
    "Group",
    "Knowledge",
    "MarginalModel",
    "Measurement",
    "Metric",
    "MetricInfo",
    "Need",
    "NoisyTrained",
    "NoisyTraining",
    "Part",
    "PlannedFit",
    "PlannedStep",
    "Progress",
    "Range",
    "RecordTrained",
    "Score",
    "Selector",
    "TorchModel",
    "Training",
    "UniformBins",
    "View",
    "all_cliques",
    "bins_through",
    "bound",
    "check_measurements",
    "check_sample",
    "read_facts",
    "stored_facts",
    "tunable",
    "tunable_part",
    "whole_model",
]
