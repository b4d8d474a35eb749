"""Synthpop: classification and regression trees, column by column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from syntabula.record_models.column_trees import ColumnTrees
from syntabula.record_models.learner import RecordLearner
from syntabula.record_models.loop import Training
from syntabula.synthesizers.record_trained import FromRecords

if TYPE_CHECKING:
    from syntabula.synthesizers.learner import Learner


@dataclass(frozen=True, kw_only=True)
class Synthpop(FromRecords):
    """Grow a tree for each column given the columns before it, and draw rows from records in the same leaf.

    Nowok, Raab, Dibben (2016), "synthpop: Bespoke Creation of Synthetic Data in R" (its default method, CART): columns
    are visited in the order of the table, the first is drawn from its one-way marginal, and a tree is grown down to five
    records a leaf. Departures: a number is predicted by its rank among the records, so that a few large values
    decide no split, and drawn as a code whose values are spread within; missing cells are a code like
    others; a split must take impurity away, where rpart prunes those that change no majority; a predictor without an
    order is split by the order in which its codes predict the column.

    Guarantee: none; it is for tables that need no privacy, and takes an infinite budget alone. Leaves hold the codes of
    as few as five records, exactly, and rows may repeat records. Time: growing the trees, as `plan` measures it.
    Values given of the columns that are drawn first hold exactly (`first`). Choose it where rows near to real ones are
    wanted in seconds, without PyTorch.

    dp-synthpop (the library dpart) is not offered: its public code takes norms, categories and bounds from the data,
    and its residual scale has no bounded sensitivity.

    Examples:
        >>> import math, syntabula
        >>> frame = syntabula.datasets.census(n_rows=300)
        >>> release = syntabula.Synthpop(epsilon=math.inf).fit(frame, syntabula.datasets.schema_of("census"))
        >>> len(release.sample(10))
        10
    """

    key: ClassVar[str] = "synthpop"
    paper: ClassVar[str] = "Nowok, Raab, Dibben 2016, synthpop"
    why_not_private: ClassVar[str] = (
        "synthpop grows trees on exact records, and dp-synthpop, which perturbs the objective of one logistic regression "
        "per column, is not implemented; use an infinite epsilon where the table needs no privacy, or a method "
        "such as PrivBayes, which draws column by column too, where it does"
    )
    parts: ClassVar[tuple[str, ...]] = ("model",)

    model: ColumnTrees = field(default_factory=ColumnTrees)

    @property
    def learner(self) -> Learner:
        """The trees; they are grown, so how networks are trained does not matter."""
        return RecordLearner(model=self.model, training=Training(), seed=self.seed or 0)
