"""Independent: samples every column on its own (the HISTOGRAM baseline)."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from syntabula.models.pgm import PGM
from syntabula.prepare.preprocessing import Preprocessing
from syntabula.select.fixed_marginals import OneWay
from syntabula.synthesizers.marginal import Marginal


@dataclass(frozen=True, kw_only=True)
class Independent(Marginal):
    """Measure every one-way marginal and sample the columns independently.

    Guarantee: GDP or zCDP through the Gaussian mechanism on all d one-way counts at once, squared sensitivity d;
    neighbours differ by one record. Time and memory grow with the number of codes only. Choose it as the
    baseline that any other method must beat, or if only single columns may be learned.

    Examples:
        >>> import syntabula
        >>> frame = syntabula.datasets.census(n_rows=500)
        >>> release = syntabula.Independent(epsilon=1.0).fit(frame, syntabula.datasets.schema_of("census"))
        >>> len(release.sample(10))
        10
    """

    key: ClassVar[str] = "independent"
    paper: ClassVar[str] = "baseline; HISTOGRAM in Du and Li, SynMeter"

    preprocessing: Preprocessing = field(default_factory=lambda: Preprocessing(most_share=Fraction(4, 5)))
    selector: OneWay = field(default_factory=OneWay)
    model: PGM = field(default_factory=PGM)
