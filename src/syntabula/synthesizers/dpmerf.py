"""DP-MERF: a generator trained towards a noisy mean embedding."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from syntabula.record_models.embedding_learner import EmbeddingLearner
from syntabula.record_models.mean_embedding import MeanEmbedding
from syntabula.synthesizers.record_trained import FromRecords

if TYPE_CHECKING:
    from syntabula.synthesizers.settings import Learner


@dataclass(frozen=True, kw_only=True)
class DPMERF(FromRecords):
    """Release a noisy mean of random features of the records, and train a generator whose rows have the same mean.

    Harder, Adamczewski, Park (2021), "DP-MERF: Differentially Private Mean Embeddings with Random Features for Practical
    Privacy-preserving Data Generation". Two fifths of the budget measure one-way marginals, the rest pays for one
    sum of features (`privacy.training.features` proves its sensitivity); training looks at these alone.

    Departures. The paper's features see numbers together, and each category only with the label, so what categories say
    of each other is lost; here each feature is a wave over two columns (`marginals.fourier`), and no column need be
    a label: naming one (`label`) makes what depends on it weigh more in training. Numbers are told by their ranks,
    where the paper scales them by their extremes and median distances, which its public code takes from the records. That
    code divides by the exact number of records and by noisy class counts near 0, and noises for a sensitivity of 2 / n
    where it is 2 sqrt(2) / n; here sums are noised, for one record added or removed, and divided by the noisy number
    of records. Generated rows are distributions, of which the mean feature is known exactly, so their own variance is not
    taken for error; the generator has no batch statistics that change between training and sampling, as its
    input is fixed.

    Guarantee: all budgets, an infinite one included; under a pure budget the noise of the features is larger by their
    number, so choose fewer. Time: `steps` of training, as `plan` measures it, or `seconds`, however many the records.
    Choose it for comparison with the literature; AIM is more accurate on most tables.

    Examples:
        >>> import syntabula
        >>> frame = syntabula.datasets.census(n_rows=300)
        >>> method = syntabula.DPMERF(epsilon=1.0).with_options(steps=20, features=100, rows=64)
        >>> release = method.fit(frame, syntabula.datasets.schema_of("census"))
        >>> len(release.sample(10))
        10
    """

    key: ClassVar[str] = "dp-merf"
    paper: ClassVar[str] = "Harder, Adamczewski, Park 2021, DP-MERF"
    parts: ClassVar[tuple[str, ...]] = ("model",)

    model: MeanEmbedding = field(default_factory=MeanEmbedding)

    @property
    def learner(self) -> Learner:
        """The release of the embedding, and the generator."""
        return EmbeddingLearner(model=self.model, seed=self.seed or 0)
