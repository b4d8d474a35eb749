"""ARGN: an any-order autoregressive network on the codes of a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from syntabula.record_models.autoregressive import Autoregressive
from syntabula.synthesizers.record_trained import NoisyTrained


@dataclass(frozen=True, kw_only=True)
class ARGN(NoisyTrained):
    """Train one network on all conditional distributions of a table, and draw rows column by column.

    After Tiwald et al. (2025), "TabularARGN: A Flexible and Efficient Auto-Regressive Framework for Generating
    High-Fidelity Synthetic Data", whose idea is a network of embeddings and one head per column, trained in random
    orders of the columns. Here one trunk serves all columns, a set of known columns is drawn for each record, numbers
    have hundreds of codes, and what neighbouring codes share is told by cosines of their ranks. Without a budget rows
    are drawn again by weights with which columns have their one-way marginals (`follow_marginals=False` leaves them as
    they were drawn).

    Guarantee: that of the budget, which must be Gaussian (epsilon and a delta, of which a tenth is set aside for the
    cost of training). Two fifths of the budget measure one-way marginals, at which the network starts and to which its
    columns return in the end; the rest pays for noisy gradients of records that are sampled and clipped (DP-SGD, Abadi
    et al., 2016). With an infinite epsilon there is none; then records held out from training say when to stop, which
    also keeps the network from learning records by heart.
    Time: that of all steps of training, as `plan` measures it. Any columns can be given to `sample`, exactly.
    Choose it without privacy where rows should be hard to tell from real ones; with a budget, marginal methods such as
    AIM are faster and nearer on most tables.

    Examples:
        >>> import math, syntabula
        >>> frame = syntabula.datasets.census(n_rows=300)
        >>> method = syntabula.ARGN(epsilon=math.inf).with_options(steps=20)
        >>> release = method.fit(frame, syntabula.datasets.schema_of("census"))
        >>> len(release.sample(10))
        10
    """

    key: ClassVar[str] = "argn"
    paper: ClassVar[str] = "after Tiwald et al. 2025, TabularARGN"
    model_unused_with_budget: ClassVar[tuple[str, ...]] = ("follow_marginals",)
    model: Autoregressive = field(default_factory=Autoregressive)
