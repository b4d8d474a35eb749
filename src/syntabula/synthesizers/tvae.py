"""TVAE: a variational autoencoder of tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from syntabula.record_models.loop import Training
from syntabula.record_models.variational import Variational
from syntabula.synthesizers.record_trained import RecordTrained


@dataclass(frozen=True, kw_only=True)
class TVAE(RecordTrained):
    """Find hidden normal numbers behind each record, and draw rows from new ones.

    Xu, Skoularidou, Cuesta-Infante, Veeramachaneni (2019), "Modeling Tabular data using Conditional GAN".

    Departures: categories and modes are drawn from the decoder's distributions, where public code takes the most likely
    one, and so loses what is rare. The loss is the bound on the likelihood, where public code doubles the part of
    the reconstruction (`emphasis`). Modes are fitted to the one-way marginals, and drawn anew for each batch. The rate
    of the training falls to zero, rows are drawn by the running mean of the weights, and records held out from training
    say when to stop; the paper takes 300 passes.

    Guarantee: none; it is for tables that need no privacy, and takes an infinite budget alone. Time: a step of training
    for each batch, as `plan` measures it, and seconds for a million rows. Any columns can be given to `sample`. Choose
    `ARGN` where rows should be hard to tell from real ones, and TVAE where time is short or to compare with it.

    Examples:
        >>> import math, syntabula
        >>> frame = syntabula.datasets.census(n_rows=300)
        >>> method = syntabula.TVAE(epsilon=math.inf).with_options(steps=20)
        >>> release = method.fit(frame, syntabula.datasets.schema_of("census"))
        >>> len(release.sample(10))
        10
    """

    key: ClassVar[str] = "tvae"
    paper: ClassVar[str] = "Xu et al. 2019"
    why_not_private: ClassVar[str] = (
        "tvae trains on records without noise and has no private form; use an infinite epsilon where the table needs no "
        "privacy, or a method such as AIM where it does"
    )

    model: Variational = field(default_factory=Variational)
    training: Training = field(default_factory=lambda: Training(steps=2500, batch=500, learning_rate=2e-3))
