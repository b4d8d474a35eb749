"""GReaT: a language model that writes the records of a table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from syntabula._arguments import refusal
from syntabula.record_models.language import LanguageModel
from syntabula.record_models.learner import RecordLearner
from syntabula.record_models.loop import Training
from syntabula.record_models.pretrained import PretrainedLanguage
from syntabula.synthesizers.idle import Idle
from syntabula.synthesizers.record_trained import RecordTrained

if TYPE_CHECKING:
    from syntabula.synthesizers.settings import Learner

_SCRATCH = Training(batch=256, learning_rate=3e-3)
_FINE = Training(batch=16, learning_rate=5e-4)
_FROM_SCRATCH = ("units", "layers", "heads", "follow_marginals")


@dataclass(frozen=True, kw_only=True)
class GReaT(RecordTrained):
    """Write each record as a sentence of clauses in random order, and train a language model on these sentences.

    Borisov, Sessler, Leemann, Pawelczyk, Kasneci (2023), "Language Models are Realistic Tabular Data Generators",
    sections 3.1 to 3.3: "column is value" clauses, their order drawn anew each time a record is read, and sampling
    from any given clauses. The paper starts from GPT-2; here a small causal transformer is trained from scratch on the
    table alone, with tokens made for it: one for each label, and digits for numbers. With `model_path`, a folder that
    holds a pretrained causal language model, this one is fine-tuned by low-rank updates (the extra `language`); a batch
    has 16 records then and the learning rate is 5e-4, unless they are set. Nothing is ever downloaded or executed from
    such a folder, and a release holds the whole model.

    Where the public code differs, this does otherwise. Its samples are drawn at temperature 0.7 among 50 tokens,
    which cuts off the tails; ours at temperature 1 among all tokens that can follow. Rows that do not parse are
    thrown away there; here none can be written. It trains on padding, and never learns where a record ends; here a
    record ends with its last column. Without `model_path` rows are drawn again by weights with which columns have
    their one-way marginals (`follow_marginals=False` leaves them as they were written). Values with a comma or " is "
    break its parser; ours reads tokens. It stores values of the label column as they are, and starts with one of
    them; ours stores codes.

    Guarantee: none; it is for tables that need no privacy, and takes an infinite budget alone. Records held out from
    training say when to stop. Time: a step of training for each batch, as `plan` measures it.
    Choose it to compare with language models; `argn` is faster, and small tables of a few thousand rows are too little
    to learn a language from.

    Attributes:
        model: What is trained from scratch.
        training: How.
        pretrained: What is fine-tuned instead, where its `model_path` is set.

    Examples:
        >>> import math, syntabula
        >>> frame = syntabula.datasets.census(n_rows=300)
        >>> method = syntabula.GReaT(epsilon=math.inf).with_options(steps=5, units=16)
        >>> release = method.fit(frame, syntabula.datasets.schema_of("census"))
        >>> len(release.sample(10))
        10
    """

    key: ClassVar[str] = "great"
    paper: ClassVar[str] = "Borisov et al. 2023, GReaT"
    why_not_private: ClassVar[str] = (
        "great cannot keep a privacy budget: a language model has so many weights that the noise that protects the "
        "records would drown what it learns of a table; where the table needs privacy, use aim, or argn for a network "
        "that draws column by column, and an infinite epsilon where it needs none"
    )

    parts: ClassVar[tuple[str, ...]] = ("model", "training", "pretrained")

    model: LanguageModel = field(default_factory=LanguageModel)
    training: Training = _SCRATCH
    pretrained: PretrainedLanguage = field(default_factory=PretrainedLanguage)

    @property
    def idle(self) -> tuple[Idle, ...]:
        """What is trained from scratch where a model is fine-tuned, and the other way round."""
        if self.pretrained.model_path:
            instead = "rank and strength"
            return (Idle(part="model", names=_FROM_SCRATCH, when="with model_path", instead=instead),)
        names, instead = ("rank", "strength"), "units, layers and heads"
        return (Idle(part="pretrained", names=names, when="without model_path", instead=instead),)

    @property
    def learner(self) -> Learner:
        """The model that is trained from scratch, or the pretrained one where there is any."""
        if not isinstance(self.pretrained, PretrainedLanguage):
            raise refusal("pretrained", "a PretrainedLanguage", self.pretrained)
        from_scratch = super().learner  # refuses another model or training
        if not self.pretrained.model_path:
            return from_scratch
        training = self.training
        for name in ("batch", "learning_rate"):
            if getattr(training, name) == getattr(_SCRATCH, name):
                training = replace(training, **{name: getattr(_FINE, name)})
        return RecordLearner(
            model=self.pretrained, training=training, budget=self.allowed_budget, seed=self.seed or 0
        )
