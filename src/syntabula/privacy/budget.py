"""The privacy budget: the largest total cost of a release."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np

from syntabula._arguments import refusal, shown
from syntabula.errors import ArgumentError, BudgetError, PrivacyWarning, warn_caller
from syntabula.privacy.conversion import (
    Number,
    epsilon_from_mu,
    epsilon_from_rho,
    epsilon_from_trials,
    float_above,
    float_below,
    mu_from_epsilon,
    number_below,
    rho_from_epsilon,
    rho_from_trials,
    root_above,
    shown_above,
)

Kind = Literal["approximate", "zcdp", "pure", "best_of_trials", "none"]
Accounting = Literal["gdp", "zcdp"]
Currency = Literal["mu_squared", "rho", "epsilon", "none"]
"""Units of cost: mu^2 of Gaussian privacy, rho of zCDP, epsilon of pure privacy."""

_CURRENCIES: dict[str, Currency] = {"gdp": "mu_squared", "zcdp": "rho"}
_HIGH_EPSILON = 10.0
_HIGH_DELTA = 1e-3
_STORED_FAILURE_DELTA = "selection_delta"
"""The name in files and statements, from when thresholds were the only draws that may fail."""
_DELTA_ALLOWED = "a number between 0 and 1, both excluded, best below one over the number of records"
_EPSILON_ALLOWED = "a finite number above 0; to switch privacy off, use Budget.none() (--epsilon inf)"


@dataclass(frozen=True, init=False)
class Budget:
    """A total that a ledger enforces, for adding or removing one record, or what the ledger names as a unit.

    `Budget(epsilon=1.0, delta=1e-5)` is approximate differential privacy. It is accounted in Gaussian differential
    privacy, whose conversion is exact, or with `accounting="zcdp"` in zCDP, as in most papers; the same guarantee
    then buys 10 to 20 % less. `Budget.zcdp`, `Budget.pure`, `Budget.best_of` and `Budget.none` make the other kinds.

    Epsilon and rho are finite and above 0, delta lies between 0 and 1, both excluded; each is an int, float, Fraction,
    Decimal or numpy number, rounded down to a float, so the budget never exceeds the request. Each kind raises
    BudgetError if a number is missing or outside its range, and warns with PrivacyWarning if epsilon is above 10 or
    delta above 0.001.

    Attributes:
        epsilon: Epsilon to report; infinite without privacy.
        delta: Delta to report; 0 for pure privacy and without privacy.
        kind: "approximate", "zcdp", "pure", "best_of_trials" or "none".
        currency: Unit of spends: "mu_squared" (Gaussian privacy), "rho" (zCDP), "epsilon" (pure), or "none".
        total: Largest sum of spends in that unit, exact; None without privacy.
        failure_delta: Part of delta, exact, that is reserved for draws that may fail, such as the release of categories
            above a threshold; failure probabilities add up. The rest is used for the conversion.
        trials: Average number of trials whose best is released; None where there is only one.

    Examples:
        >>> Budget(epsilon=1.0, delta=1e-5).currency
        'mu_squared'
    """

    epsilon: float
    delta: float
    kind: Kind
    currency: Currency
    # Exact, and therefore too long to read.
    total: Fraction | None = field(repr=False)
    failure_delta: Fraction = field(repr=False)
    trials: int | None = field(repr=False)

    def __init__(
        self, epsilon: Number, delta: Number | None = None, *, accounting: Accounting = "gdp"
    ) -> None:
        """Make an approximate budget, composed in "gdp" or "zcdp"; an infinite epsilon makes it `Budget.none()`."""
        if not isinstance(accounting, str) or accounting not in _CURRENCIES:
            raise BudgetError(f"accounting must be 'gdp' or 'zcdp'; got {shown(accounting)}")
        bound = number_below("epsilon", epsilon, _EPSILON_ALLOWED)
        if bound == math.inf:
            if delta is not None and number_below("delta", delta, _DELTA_ALLOWED) != 0:
                _delta(delta)
            self._hold(math.inf, 0.0, "none", "none", None)
            return
        _positive("epsilon", bound, _EPSILON_ALLOWED)
        slack = _delta(delta)
        currency = _CURRENCIES[accounting]
        self._hold(bound, slack, "approximate", currency, _total(bound, slack, currency))
        self._warn_if_weak()

    @classmethod
    def zcdp(cls, rho: Number, delta: Number) -> Budget:
        """Make a budget stated in zCDP; delta is only used to report an epsilon."""
        total = _positive("rho", rho, "a finite number above 0")
        slack = _delta(delta)
        budget = object.__new__(cls)._hold(
            epsilon_from_rho(total, slack), slack, "zcdp", "rho", Fraction(total)
        )
        budget._warn_if_weak()
        return budget

    @classmethod
    def pure(cls, epsilon: Number) -> Budget:
        """Make a budget of pure differential privacy, where delta is 0 and Gaussian noise cannot be used."""
        bound = _positive("epsilon", epsilon, _EPSILON_ALLOWED)
        budget = object.__new__(cls)._hold(bound, 0.0, "pure", "epsilon", Fraction(bound))
        budget._warn_if_weak()
        return budget

    @classmethod
    def best_of(cls, epsilon: Number, delta: Number, trials: int) -> Budget:
        """Make the budget of each trial of a search whose best trial is released (`privacy.conversion`).

        A ledger of this budget holds one trial, which costs its total at most; epsilon and delta are those of the release
        of the best trial. No draw of a trial may fail beyond its cost, as finding categories may.

        Args:
            epsilon: That of the whole search.
            delta: Likewise.
            trials: Average number of trials, at least 2.
        """
        bound = _positive("epsilon", epsilon, _EPSILON_ALLOWED)
        slack = _delta(delta)
        if isinstance(trials, bool) or not isinstance(trials, int) or trials < 2:
            raise BudgetError(f"trials must be an integer of at least 2; got {shown(trials)}")
        total = Fraction(rho_from_trials(bound, slack, trials))
        budget = object.__new__(cls)._hold(bound, slack, "best_of_trials", "rho", total, trials=trials)
        budget._warn_if_weak()
        return budget

    @classmethod
    def none(cls) -> Budget:
        """Switch privacy off: exact answers are allowed, and there is no guarantee."""
        return object.__new__(cls)._hold(math.inf, 0.0, "none", "none", None)

    @property
    def conversion_delta(self) -> float:
        """The part of delta that is left for the conversion from zCDP or Gaussian privacy, rounded down."""
        return float_below(Fraction(self.delta) - self.failure_delta)

    def with_failure_delta(self, failure_delta: Fraction | float) -> Budget:
        """Return the same guarantee with part of its delta reserved for draws that may fail.

        Failure probabilities add up, and both parts of delta add (for approximate zCDP: Bun and Steinke, 2016,
        section 8). Less delta is left for the conversion, so the total shrinks slightly, or epsilon grows for a
        budget stated in zCDP.

        Args:
            failure_delta: Above 0 and below delta.

        Raises:
            BudgetError: If the budget has no delta, or too little, to reserve.
        """
        if self.kind == "none":
            return self
        if self.kind == "best_of_trials":
            raise BudgetError(
                "a search for the best of several trials cannot find categories, as that may fail with a small "
                "probability in each trial; declare all columns in a schema"
            )
        # A float, so that files store it exactly.
        part = Fraction(number_below("failure_delta", failure_delta, "a number above 0, below delta"))
        if not 0 < part < Fraction(self.delta):
            raise BudgetError(
                "releasing the categories of a column needs part of delta, but this budget has none to spare; "
                "declare the categories in a schema, or use a budget with a delta"
            )
        left = float_below(Fraction(self.delta) - part)
        epsilon, total = self.epsilon, self.total
        if self.kind == "approximate":
            total = _total(epsilon, left, self.currency)
        else:
            epsilon = epsilon_from_rho(total or Fraction(0), left)
        return object.__new__(type(self))._hold(
            epsilon, self.delta, self.kind, self.currency, total, failure_delta=part
        )

    def for_rows(self, rows: int) -> tuple[float, float]:
        """Return epsilon and delta, rounded up, of so many records at once where each is a unit: group privacy.

        A group of k records moves what one moves k times as far. So it costs k^2 as much in Gaussian privacy and in zCDP
        and k times as much in pure privacy, as each bound on an event's cost does (`privacy.gdp`: discrete Gaussian
        noise exactly, and a loss that lies in a range r lies in a range k r; m' = k^2 m keeps r^2 / 4 <=
        m (1 - m / (V' + m)) where V' grows by k^2 as well). Filters hold for the totals that grow so. Chances to fail do
        not, nor does what the best of several trials reveals: there one record after the other gives k epsilon and delta
        (1 + e^epsilon + ... + e^((k - 1) epsilon)).

        Without privacy epsilon is infinite.
        """
        if self.kind == "none" or rows == 1:
            return self.epsilon, self.delta
        if self.kind == "pure":
            return float_above(rows * Fraction(self.epsilon)), 0.0
        if self.failure_delta or self.kind == "best_of_trials":
            # At most a number that no delta survives.
            growth = [self.delta * math.exp(min(step * self.epsilon, 700.0)) for step in range(rows)]
            return float_above(rows * Fraction(self.epsilon)), min(1.0, sum(growth) * (1 + 1e-9))
        total = rows**2 * (self.total or Fraction(0))
        if self.currency == "rho":
            return self.epsilon_of(total), self.delta
        return epsilon_from_mu(root_above(total), self.delta), self.delta

    def describe(self, whom: str = "one record") -> str:
        """Return the guarantee in one plain sentence, for adding or removing somebody."""
        relation = f"for adding or removing {whom}"
        bounds = f"epsilon {shown_above(self.epsilon)} and delta {shown_above(self.delta)}"
        match self.kind:
            case "approximate":
                return f"Differential privacy with {bounds}, {relation}."
            case "zcdp":
                kind = "Approximate zero" if self.failure_delta else "Zero"
                return (
                    f"{kind}-concentrated differential privacy with rho {shown_above(float(self.total or 0))}, which is "
                    f"epsilon {shown_above(self.epsilon)} at delta {shown_above(self.delta)}, {relation}."
                )
            case "best_of_trials":
                return (
                    f"Differential privacy with {bounds}, for the best of a random number of trials, {self.trials} on "
                    f"average, each with rho {shown_above(float(self.total or 0))}, {relation}."
                )
            case "pure":
                return f"Pure differential privacy with epsilon {shown_above(self.epsilon)}, {relation}."
        return "No differential privacy: exact answers were used and nothing is promised about any record."

    def epsilon_of(self, rho: Fraction) -> float:
        """Return the epsilon that a spent rho stands for at this budget's delta, rounded up."""
        if self.trials is not None:
            return epsilon_from_trials(rho, self.conversion_delta, self.trials)
        return epsilon_from_rho(rho, self.conversion_delta)

    def composition(self) -> str:
        """Return how the costs of steps add up, in words that follow "Steps add up"."""
        match self.currency:
            case "mu_squared":
                return (
                    "in Gaussian differential privacy, by the squares of their mu (Dong, Roth and Su, 2022)"
                )
            case "rho":
                words = "in zero-concentrated differential privacy, by their rho (Bun and Steinke, 2016)"
                if self.trials is None:
                    return words
                return f"{words}; for the choice of the best trial see Papernot and Steinke (2022), Theorem 2"
            case "epsilon":
                return "in pure differential privacy, by their epsilon"
        return "to nothing, because nothing is promised"

    def to_json(self) -> dict[str, Any]:
        """Return the budget as values that JSON can hold."""
        if self.kind == "none":
            return {"kind": self.kind}
        facts: dict[str, Any] = {"kind": self.kind, "epsilon": self.epsilon, "delta": self.delta}
        if self.kind == "pure":
            return facts
        facts[self.currency] = float_above(self.total or Fraction(0))
        if self.trials is not None:
            facts["trials"] = self.trials
        if self.failure_delta:
            facts[_STORED_FAILURE_DELTA] = float(self.failure_delta)
        return facts

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Budget:
        """Rebuild a budget from the result of `to_json`; derived numbers are recomputed, not trusted."""
        if not isinstance(record, Mapping):
            raise BudgetError(f"a stored budget must be a dictionary; got {shown(record)}")
        kind = record.get("kind")
        with warnings.catch_warnings():
            # The warning was given when the budget was chosen.
            warnings.simplefilter("ignore", PrivacyWarning)
            match kind:
                case "approximate":
                    # Older files, from before this choice existed, have rho.
                    accounting: Accounting = "gdp" if "mu_squared" in record else "zcdp"
                    whole = cls(record.get("epsilon"), record.get("delta"), accounting=accounting)  # type: ignore[arg-type]
                    # JSON reads a number that exceeds floats as infinity; a budget without privacy has the kind none.
                    _positive("epsilon", whole.epsilon, "a finite number above 0, or the kind none")
                    return whole._read_failure(record)
                case "zcdp":
                    whole = cls.zcdp(record.get("rho"), record.get("delta"))  # type: ignore[arg-type]
                    return whole._read_failure(record)
                case "best_of_trials":
                    return cls.best_of(record.get("epsilon"), record.get("delta"), record.get("trials"))  # type: ignore[arg-type]
                case "pure":
                    return cls.pure(record.get("epsilon"))  # type: ignore[arg-type]
                case "none":
                    return cls.none()
        raise BudgetError(
            f"budget kind must be approximate, zcdp, pure, best_of_trials or none; got {shown(kind)}"
        )

    def _read_failure(self, record: Mapping[str, Any]) -> Budget:
        part = record.get(_STORED_FAILURE_DELTA)
        return self if part is None else self.with_failure_delta(part)

    def _hold(
        self,
        epsilon: float,
        delta: float,
        kind: Kind,
        currency: Currency,
        total: Fraction | None,
        **further: Any,
    ) -> Self:
        """Hold the facts of a new budget, and return it."""
        facts = {"epsilon": epsilon, "delta": delta, "kind": kind, "currency": currency, "total": total}
        for name, fact in (facts | {"failure_delta": Fraction(0), "trials": None} | further).items():
            object.__setattr__(self, name, fact)
        return self

    def _warn_if_weak(self) -> None:
        if self.epsilon > _HIGH_EPSILON:
            text = f"epsilon {shown_above(self.epsilon)} is above {_HIGH_EPSILON:g}: the guarantee is weak"
            warn_caller(PrivacyWarning(text))
        if self.delta > _HIGH_DELTA:
            text = (
                f"delta {shown_above(self.delta)} is above {_HIGH_DELTA:g}: choose one below one over the number of "
                "records"
            )
            warn_caller(PrivacyWarning(text))


NO_PRIVACY = Budget.none()


def stated_budget(method: Any) -> Budget:
    """Return what a method may spend, which is stated once: its budget, or that of its epsilon and delta.

    Args:
        method: An instance of a dataclass with `epsilon`, `delta` and `budget`, the last None by default.

    Raises:
        ArgumentError: If there is a budget and another epsilon or delta than the usual ones of the class.
        BudgetError: If epsilon or delta is outside its range.
    """
    if method.budget is None:
        return Budget(epsilon=method.epsilon, delta=method.delta)
    if not isinstance(method.budget, Budget):
        raise refusal("budget", "a syntabula.Budget, or None to use epsilon and delta", method.budget)
    for name in ("epsilon", "delta"):
        given, usual = getattr(method, name), getattr(type(method), name)
        if not (np.all(given == usual) or np.all(given == getattr(method.budget, name))):
            raise ArgumentError(
                "give epsilon and delta, or budget, not both: it is not clear which may be spent. With "
                f"dataclasses.replace give budget=None beside another {name}, and {name}={usual:g} beside another budget"
            )
    return method.budget


def _total(epsilon: float, delta: float, currency: Currency) -> Fraction:
    """Return the largest total that keeps a guarantee, rounded down."""
    if currency == "rho":
        return Fraction(rho_from_epsilon(epsilon, delta))
    return Fraction(mu_from_epsilon(epsilon, delta)) ** 2


def _positive(name: str, value: Number, allowed: str) -> float:
    """Read a finite number above 0, rounded down; raises BudgetError."""
    number = number_below(name, value, allowed)
    if not (math.isfinite(number) and number > 0):
        raise BudgetError(f"{name} is {number!r}; it must be {allowed}")
    return number


def _delta(value: Number | None) -> float:
    """Read a delta, rounded down; raises BudgetError if it is missing or outside 0 to 1."""
    if value is None:
        raise BudgetError(
            f"delta is missing; it must be {_DELTA_ALLOWED}; without one, use Budget.pure(epsilon)"
        )
    number = number_below("delta", value, _DELTA_ALLOWED)
    if number == 0:
        raise BudgetError(f"delta is 0; it must be {_DELTA_ALLOWED}; for delta 0, use Budget.pure(epsilon)")
    if not 0 < number < 1:
        raise BudgetError(f"delta is {number!r}; it must be {_DELTA_ALLOWED}")
    return number
