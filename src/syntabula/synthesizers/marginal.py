"""Methods that learn from noisy marginals: a selector decides which to measure, and a model is fitted to them."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self

from syntabula._arguments import refusal
from syntabula._entries import Kind
from syntabula._memory import ran_out
from syntabula._planning import PlannedStep, Progress, without_trends
from syntabula._register import entries, load
from syntabula.errors import ArgumentError, SyntabulaError
from syntabula.marginals.domain import Clique, Domain
from syntabula.models.base import BoolArray, MarginalModel, Model, check_storable
from syntabula.models.recoded import Supported, settled
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors import Doors
from syntabula.privacy.statement_facts import MethodChoice
from syntabula.select.base import Selector
from syntabula.synthesizers.synthesizer import Synthesizer

if TYPE_CHECKING:
    from syntabula.synthesizers.settings import Learner

_ROUNDED = 1e-9
"""By how much shares that are floats may exceed 1."""


@dataclass(frozen=True, kw_only=True)
class MarginalLearner:
    """A selector that measures marginals, and the model that is fitted to them.

    Attributes:
        selector: Decides which marginals are measured.
        model: The model to fit to them.

    Raises:
        ArgumentError: If either has the wrong type, a plug-in's selector lacks methods or arguments of the interface,
            they cannot be combined, or no file could hold the model.
    """

    selector: Selector
    model: MarginalModel

    def __post_init__(self) -> None:
        if not hasattr(self.selector, "learn"):
            raise refusal("selector", f"a selector or the key of one ({_keys('selector')})", self.selector)
        _check_interface(self.selector)
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
        """The keys of both parts, or the names of their classes if they have none."""
        selector, model = type(self.selector), type(self.model)
        return f"{getattr(selector, 'key', selector.__name__)}+{getattr(model, 'kind', model.__name__)}"

    def with_possible(self, cells: Mapping[Clique, BoolArray]) -> Self:
        """Return the same learner, whose model knows which combinations of codes are possible."""
        return replace(self, model=self.model.with_possible(cells))

    def try_parts(self, domain: Callable[[], Domain], budget: Budget, *, memory_mb: float) -> None:
        """Try the parts of plug-ins on what is made up; raises ArgumentError if one breaks.

        Args:
            domain: Returns the columns that will be learned, with as many codes as are planned for them.
            budget: As that of the fit; the trial spends it in a ledger of its own.
            memory_mb: Most that a trial may take.
        """
        if not self._is_of_plug_ins:
            return
        from syntabula.models.trial import on_few_columns, try_model
        from syntabula.select.trial import try_selector

        planned = domain()
        if _is_of_a_plug_in(self.model):
            on_few_columns(planned, partial(try_model, self.model, limit_mb=memory_mb))
        if _is_of_a_plug_in(self.selector):
            tried = partial(try_selector, self.selector, self.model, budget, limit_mb=memory_mb)
            on_few_columns(planned, tried)

    def plan(self, domain: Domain, n_rows: int) -> Sequence[PlannedStep]:
        """Say what each step will cost; raises ArgumentError if a plug-in's selector plans something else."""
        model = self.model.over(domain)
        steps = self.selector.plan(domain)
        if not isinstance(steps, Sequence) or not all(isinstance(step, PlannedStep) for step in steps):
            raise ArgumentError(
                f"`plan` of selector {self._selector!r} must return a list of PlannedStep; see docs/plugins.md"
            )
        shares = [step.share for step in steps]
        if not all(share >= 0 for share in shares) or not sum(shares) <= 1 + _ROUNDED:
            raise ArgumentError(
                f"`plan` of selector {self._selector!r} must return shares of its own budget, none below 0, that add up "
                f"to at most 1; they add up to {float(sum(shares)):g}. Try it with syntabula.testing.check_selector"
            )
        if not self.model.takes_trends:
            steps = without_trends(steps)
        return [s.costing(model.fit_cost(s.fit, n_rows)) if s.fit else s for s in steps]

    def learn(
        self, doors: Doors, *, share: Fraction, progress: Progress
    ) -> tuple[Model, MethodChoice | None]:
        """Measure marginals and return the fitted model.

        Raises:
            ArgumentError: If a plug-in's selector breaks or returns no fitted model, which only shows after it has
                measured.
        """
        try:
            learned = self.selector.learn(doors.tables, Supported(self.model), share=share, progress=progress)
        except SyntabulaError:
            raise
        except Exception as error:
            if ran_out(error) or not self._is_of_plug_ins:
                raise
            # Its words may be those of another library, and are left out.
            at = traceback.extract_tb(error.__traceback__)[-1]
            raise ArgumentError(
                f"{self.name}, of which a part is a plug-in, broke with {type(error).__name__} at line {at.lineno} of "
                f"{at.name}; repair the plug-in. What it measured is paid for: a run with a journal goes on from there "
                "with resume, and pays nothing twice"
            ) from None
        model, choice = learned if isinstance(learned, tuple) and len(learned) == 2 else (None, None)
        if not hasattr(model, "finished") or getattr(model, "domain", None) != doors.tables.domain:
            raise ArgumentError(
                f"selector {self._selector!r} must return a model that is fitted to the columns of its curator, as by "
                "`return model.over(curator.domain).fit(measurements)`, and returned none. What it measured is paid for; "
                "mend its `select`, and try it with syntabula.testing.check_selector before it meets a table again"
            )
        return settled(model.finished()), choice

    @property
    def _selector(self) -> str:
        return self.name.partition("+")[0]

    @property
    def _is_of_plug_ins(self) -> bool:
        return _is_of_a_plug_in(self.selector) or _is_of_a_plug_in(self.model)


def _is_of_a_plug_in(part: object) -> bool:
    return type(part).__module__.partition(".")[0] != "syntabula"


@dataclass(frozen=True, kw_only=True)
class Marginal(Synthesizer):
    """Learn a table from noisy marginals: a selector decides which to measure, and a model is fitted to them.

    Any selector can be combined with any model that can represent its marginals, for instance
    `Marginal(selector="adaptive", model="neural")`. `with_options` changes single options of either part.

    Attributes:
        selector: Decides which marginals are measured; a selector, or the key of one.
        model: The model that is fitted to them and sampled; a model, or the key of one.

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
        """The two parts together, with the limit on memory."""
        assert not isinstance(self.selector, str)
        assert not isinstance(self.model, str)
        checked = MarginalLearner(selector=self.selector, model=self.model)
        # The field stays as it was given, so that `dataclasses.replace` with another limit has it.
        return replace(checked, selector=checked.selector.within(self.memory_mb))

    @property
    def weighs_codes(self) -> bool:
        """Whether the selector measures single columns."""
        return getattr(self.selector, "weighs_codes", True)

    @property
    def columns_apart(self) -> bool:
        """Whether the selector learns columns one by one on purpose."""
        return getattr(self.selector, "columns_apart", False)

    @property
    def name(self) -> str:
        """Key of the method; for a pair without a name, the keys of its parts."""
        return self.key if self.key != Marginal.key else self.learner.name


def _check_interface(selector: Selector) -> None:
    """Refuse a plug-in's selector that could not be run, before anything is read and paid for."""
    kind = type(selector).__name__
    if isinstance(selector, type):
        raise ArgumentError(f"selector must be an object, not its class; write {selector.__name__}()")
    if missing := [
        name for name in ("plan", "select", "within") if not callable(getattr(selector, name, None))
    ]:
        raise ArgumentError(
            f"selector {kind} lacks the methods {', '.join(missing)}; let it inherit from syntabula.plugins.Selector"
        )
    for name in ("select", "learn"):
        try:
            inspect.signature(getattr(selector, name)).bind(None, None, share=None, progress=None)
        except TypeError:
            raise ArgumentError(
                f"`{name}` of selector {kind} must take a curator, a model, share=... and progress=...; write "
                f"`def {name}(self, curator, model, *, share=Fraction(1), progress=None)`"
            ) from None


def _keys(kind: Kind) -> str:
    return ", ".join(entry.key for entry in entries(kind))
