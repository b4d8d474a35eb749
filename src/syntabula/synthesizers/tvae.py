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

    Xu, Skoularidou, Cuesta-Infante, Veeramachaneni (2019), "Modeling Tabular data using Conditional GAN", section 4.4.

    Departures: categories and modes are drawn from the decoder's distributions, where public code takes the most
    likely one and loses rare categories.

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
    training: Training = field(default_factory=lambda: Training(batch=500, learning_rate=1e-3))
