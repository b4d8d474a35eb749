"""Methods that learn a table through noisy marginals: a selector decides which, a model is fitted to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from syntabula._arguments import refusal
from syntabula._entries import Kind
from syntabula._planning import PlannedStep, Progress
from syntabula._register import entries, load
from syntabula.errors import ArgumentError
from syntabula.marginals.domain import Clique, Domain
from syntabula.models.base import MarginalModel, Model, StatesFitCost
from syntabula.models.storage import check_storable
from syntabula.privacy.doors import Doors
from syntabula.privacy.statement_facts import MethodChoice
from syntabula.select.base import Selector
from syntabula.synthesizers.synthesizer import Synthesizer

if TYPE_CHECKING:
    from syntabula.synthesizers.learner import Learner

_BEYOND_ANY_MB = 1e12


@dataclass(frozen=True, kw_only=True)
class MarginalLearner:
    """A selector that measures marginals, and the model that is fitted to them.

    Attributes:
        selector: Decides which marginals are measured.
        model: Is fitted to them.

    Raises:
        ArgumentError: If they are no selector and no model, cannot be combined, or no file could hold the model.
    """

    selector: Selector
    model: MarginalModel

    def __post_init__(self) -> None:
        if not hasattr(self.selector, "select"):
            raise refusal("selector", f"a selector or the key of one ({_keys('selector')})", self.selector)
        if not hasattr(self.model, "fit"):
            raise refusal("model", f"a model or the key of one ({_keys('model')})", self.model)
        check_storable(self.model)
        why_not = getattr(self.model, "why_not_adaptive", "")
        if why_not and getattr(self.selector, "adaptive", False):
            names = self.name.partition("+")
            raise ArgumentError(
                f"selector {names[0]!r} cannot be combined with model {names[2]!r}: {why_not}"
            )

    @property
    def name(self) -> str:
        """The keys of both parts, or their classes where they have none."""
        selector, model = type(self.selector), type(self.model)
        return f"{getattr(selector, 'key', selector.__name__)}+{getattr(model, 'kind', model.__name__)}"

    def plan(self, domain: Domain, n_rows: int) -> Sequence[PlannedStep]:
        """Say what each step will cost."""
        model = self.model.over(domain)
        return [_with_model(step, model, n_rows) for step in self.selector.plan(domain)]

    def learn(
        self, doors: Doors, *, share: Fraction, progress: Progress
    ) -> tuple[Model, MethodChoice | None]:
        """Measure marginals and return the fitted model."""
        return self.selector.select(doors.tables, self.model, share=share, progress=progress), None


@dataclass(frozen=True, kw_only=True)
class Marginal(Synthesizer):
    """Learn a table through noisy marginals: a selector decides which, a model makes them a distribution.

    Any selector runs with any model that can hold its marginals, for instance
    `Marginal(selector="adaptive", model="neural")`. `with_options` changes single options of either part.

    Attributes:
        selector: Decides which marginals are measured; a selector, or the key of one.
        model: Is fitted to them, and sampled; a model, or the key of one.

    Raises:
        BudgetError: If epsilon or delta is outside its range.
        ArgumentError: If another argument is not allowed, the selector cannot be combined with the model, or the class of
            the model is not registered, so that its release could not be saved.
    """

    key: ClassVar[str] = "marginal"
    paper: ClassVar[str] = ""
    parts: ClassVar[tuple[str, ...]] = ("selector", "model")

    selector: Selector | str
    model: MarginalModel | str

    def __post_init__(self) -> None:
        for part in ("selector", "model"):
            value = getattr(self, part)
            if isinstance(value, str):
                object.__setattr__(self, part, load(part, value)())
        super().__post_init__()

    @property
    def learner(self) -> Learner:
        """The two parts together."""
        assert not isinstance(self.selector, str)
        assert not isinstance(self.model, str)
        return MarginalLearner(selector=self.selector, model=self.model)

    @property
    def name(self) -> str:
        """Key of the method; of a free pair, the keys of its parts."""
        return self.key if self.key != Marginal.key else self.learner.name


def _with_model(step: PlannedStep, model: MarginalModel, n_rows: int) -> PlannedStep:
    """Return a step with what fitting a bound model takes in it.

    A model that states what a fit takes is asked for it, times the number of fits: for the memory that it may take,
    and for the time that it usually takes. Of others the size is known
    where all marginals are; a selector that keeps the model within a size has said which.
    """
    measured = step.cliques or step.candidates
    if measured and isinstance(model, StatesFitCost):
        memory_mb = model.fit_cost(measured, n_rows).memory_mb
        seconds = step.work_seconds + step.fits * model.fit_cost(step.usual or measured, n_rows).seconds
        return replace(step, model_cells=0, fit_mb=memory_mb, usual_seconds=None, work_seconds=seconds)
    return replace(step, model_cells=_model_cells(model, step.cliques)) if step.cliques else step


def _model_cells(model: MarginalModel, cliques: Sequence[Clique]) -> int:
    """Return how many cells a bound model has after a fit to some cliques, cut off beyond any machine."""
    try:
        return int(min(model.memory_mb(cliques), _BEYOND_ANY_MB) * 2**20 / 8)
    except OverflowError:
        return int(_BEYOND_ANY_MB * 2**20 / 8)


def _keys(kind: Kind) -> str:
    return ", ".join(entry.key for entry in entries(kind))
