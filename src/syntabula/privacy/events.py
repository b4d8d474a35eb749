"""Events: which mechanism was drawn, with its own parameters.

An event says nothing about budgets; `privacy.rules` computes its cost in each currency.
The neighbouring relation is: add or remove one record, or where the ledger names a unit, all of its rows, of which the
table has at most `rows` (`privacy.units`). Sensitivities that are stated here hold for that.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from syntabula.errors import BudgetError
from syntabula.privacy.conversion import float_above, positive


class Event:
    """A draw of a mechanism; a frozen dataclass of its parameters, which raises BudgetError if one is out of range.

    Attributes:
        kind: Its name in files and statements.
    """

    kind: ClassVar[str]

    def _check(self, *, positive: Sequence[str] = (), counts: Sequence[str] = ()) -> None:
        """Hold parameters as floats above 0, and as counts of at least 1."""
        for name in positive:
            object.__setattr__(self, name, _positive_float(name, getattr(self, name)))
        for name in counts:
            object.__setattr__(self, name, _count(name, getattr(self, name)))

    def to_json(self) -> dict[str, Any]:
        """Return the kind and parameters as JSON values, without defaults; a Fraction becomes an int or text."""
        record: dict[str, Any] = {"kind": self.kind}
        for parameter in fields(self):  # type: ignore[arg-type]
            value = getattr(self, parameter.name)
            if value == parameter.default:
                continue
            if isinstance(value, Fraction):
                value = int(value) if value.denominator == 1 else str(value)
            record[parameter.name] = value
        return record

    @classmethod
    def of(cls, parameters: dict[str, Any]) -> Event:
        """Rebuild an event of this kind from its parameters, as `to_json` writes them."""
        return cls(**parameters)


@dataclass(frozen=True)
class GaussianEvent(Event):
    """Discrete Gaussian noise added to a vector of integers.

    Attributes:
        sigma: Scale of the noise, above 0, in the unit of the vector.
        l2_sensitivity_squared: Square of the L2 sensitivity of the vector, above 0, exact.
        cells: Length of the vector.
    """

    kind = "gaussian"
    sigma: float
    l2_sensitivity_squared: Fraction | int
    cells: int

    def __post_init__(self) -> None:
        self._check(positive=["sigma"], counts=["cells"])
        squared = self.l2_sensitivity_squared
        if isinstance(squared, bool) or not isinstance(squared, (int, Fraction)) or squared <= 0:
            raise BudgetError(f"l2_sensitivity_squared is {squared!r}; it must be an int or Fraction above 0")

    @classmethod
    def of(cls, parameters: dict[str, Any]) -> Event:
        """Rebuild an event; its sensitivity may be a fraction written as text."""
        squared = Fraction(parameters["l2_sensitivity_squared"])
        exact = int(squared) if squared.denominator == 1 else squared
        return cls(**(parameters | {"l2_sensitivity_squared": exact}))


@dataclass(frozen=True)
class LaplaceEvent(Event):
    """Discrete Laplace noise added to a vector of integers.

    Attributes:
        scale: Scale b of the noise, above 0; its probability falls as exp(-|x| / b).
        l1_sensitivity: L1 sensitivity of the vector, at least 1.
        cells: Length of the vector.
    """

    kind = "laplace"
    scale: float
    l1_sensitivity: int
    cells: int

    def __post_init__(self) -> None:
        self._check(positive=["scale"], counts=["l1_sensitivity", "cells"])


@dataclass(frozen=True)
class ExponentialEvent(Event):
    """One choice by the exponential mechanism, with probability proportional to exp(epsilon q / (2 Delta)).

    Delta is the sensitivity of the score q to one row, so the rows of a unit change log-odds `rows` times as much.

    Attributes:
        epsilon: The mechanism's own parameter, above 0.
        candidates: Number of candidates, at least 1.
        rows: Rows of one unit, at most.
    """

    kind = "exponential"
    epsilon: float
    candidates: int
    rows: int = 1

    def __post_init__(self) -> None:
        self._check(positive=["epsilon"], counts=["candidates", "rows"])


@dataclass(frozen=True)
class TreeEvent(Event):
    """All decisions of one PrivTree with binary splits (Zhang, Xiao and Xie, 2016).

    All of its decisions together cost a pure epsilon of `rows` times `sensitivity` / scale: for each row of a unit in
    turn, as much as for one; `privacy.mechanisms.split_tree` proves it.

    Attributes:
        scale: Scale lambda of the Laplace noise on each count, above 0, in records. Counts are lowered by `decay` per
            level.
        rows: Rows of one unit, at most.
        sensitivity: (2 beta - 1) / (beta - 1) for halves, beta = 2.
    """

    kind = "tree"
    sensitivity: ClassVar[int] = 3
    scale: float
    rows: int = 1

    def __post_init__(self) -> None:
        self._check(positive=["scale"], counts=["rows"])

    @property
    def decay(self) -> float:
        """Amount by which each level lowers a count, in records: scale * ln 2."""
        return self.scale * math.log(2)


@dataclass(frozen=True)
class ThresholdEvent(Event):
    """Release of the categories whose count, with discrete Gaussian noise, reaches a threshold, and of those counts.

    **Bounded noise** X is drawn again while |X| > K, the largest integer below the threshold, so a category that
    nobody has is never released: the truncated noise of Desfontaines, Voss, Gipson and Mandayam (2022), Gaussian here,
    pays for the choice and the counts at once. Let a unit move one count from c to c + d, 1 <= d <= K, and set aside
    what only one of the two tables can answer: noise above K - d with the one, below d - K with the other, each of
    probability delta = P[X > K - d]. Otherwise the cost is at most that of noise without bounds, in whatever currency.
    Proof: let w(j) = exp(-j^2 / (2 sigma^2)), T(k) the sum of w from k on over that of all integers, and a = K - d +
    1. Both answers have probabilities w(j) and w(j - d) over the same sum, j = d - K .. K, which is 1 - T(a) - T(a +
    d) of all. All divergences are mixtures of sums of (w(j - d) - g w(j))+ with g >= 1, or the same with the two
    exchanged, which is symmetric. The sum lacks its part B(g) beyond K, of C(g) without bounds, so the claim is T(a) +
    T(a + d) <= B / C. As w(j - d) / w(j) grows with j, B / C grows with g, so g = 1 is enough, where B = T(a) - T(a +
    d), and C is the part m of w in -d/2 < j <= d/2. With q = T(a + d) / T(a) it reads q <= (1 - m) / (1 + m). T is
    log-concave as w is, so q falls with a and is largest at the first a above -d/2: equal for odd d; for even d, q =
    T(d/2 + 1) / (1 - T(d/2)), which is less as the mean (1 - m) / 2 of both is below 1/2. The rows of a unit may be
    divided among categories. Costs add up to that of the L2 sensitivity, `rows`. Failures add up too; since P[X > K -
    d] / d grows with d, they are at most P[X > K - rows]. Public categories may be released below the threshold too, and
    if nobody has them: of all categories that there could be, c may be 0 above, and to leave out some of the noisy
    counts by these counts alone is post-processing.

    **Unbounded noise** is in files of earlier versions. If others have the category, the noise protects it. If none has,
    it is released with probability at most delta = f(1), where f(c) bounds the probability that c plus the noise reaches
    the threshold, see `noise_reaches`. The k rows of a unit may have as many categories that nobody else has, c_1 + c_2 +
    ... <= k rows in them, and the sum of f(c_i) is that of c_i f(c_i) / c_i, so at most delta = k max f(c) / c over
    c = 1 .. k.

    Attributes:
        sigma: Scale of the noise, above 0.
        threshold: Smallest noisy count of a released category, above `rows`.
        rows: Rows of one unit, at most.
        bounded: Whether noise of the size of the threshold is drawn again.
    """

    kind = "threshold"
    sigma: float
    threshold: float
    rows: int = 1
    bounded: bool = False

    def __post_init__(self) -> None:
        self._check(positive=["sigma", "threshold"], counts=["rows"])
        if self.threshold <= self.rows:
            raise BudgetError(
                "threshold must be above 1, the count of a single record"
                if self.rows == 1
                else f"threshold must be above {self.rows}, the count of all rows of a unit"
            )
        if not isinstance(self.bounded, bool):
            raise BudgetError("bounded must be True or False")

    @property
    def largest_noise(self) -> float:
        """Bound K of the size of the noise."""
        return math.ceil(self.threshold) - 1 if self.bounded else math.inf

    @property
    def delta(self) -> float:
        """Probability of releasing what only the rows of one unit tell, rounded up."""
        if self.bounded:
            # Noise of K - rows + 1 to K; K is at least the threshold less 1.
            largest = (
                math.exp(-(((self.threshold - c) / self.sigma) ** 2) / 2) for c in range(1, self.rows + 1)
            )
            # All integers weigh at least the integral (`noise_reaches`), and 0 alone weighs 1.
            within = 1 - 2 * noise_reaches(self.threshold, self.sigma)
            return math.fsum(largest) / max(self.sigma * math.sqrt(2 * math.pi) * within, 1.0) * (1 + 1e-9)
        of_rows = (noise_reaches(self.threshold - c, self.sigma) / c for c in range(1, self.rows + 1))
        return self.rows * max(of_rows) * (1 + 1e-9)


def noise_reaches(least: float, sigma: float) -> float:
    """Return an upper bound, but for rounding, on the probability that discrete Gaussian noise is at least so much.

    The lesser of two bounds, with g(x) = exp(-x^2 / (2 sigma^2)) and x = least > 0. The noise is sub-Gaussian, so g(x) is
    one (Canonne, Kamath and Steinke, 2020). From x = sigma + 1/2 on, the normal distribution's tail beyond x - 1/2 is
    another. Proof: let k be the least integer that is not below x. Beyond sigma g is convex, so g(j) is at most its mean
    over j - 1/2 .. j + 1/2 for j >= k, and the sum of g(j) at most its integral from k - 1/2. The probability is that sum
    divided by the sum over all integers, which is at least sigma sqrt(2 pi): by Poisson's formula it is that times the
    sum of exp(-2 pi^2 sigma^2 m^2) over all integers m, where m = 0 alone gives 1. With delta 1e-6 and much noise,
    thresholds are a tenth lower by the second.
    """
    bound = math.exp(-((least / sigma) ** 2) / 2)
    if least - 0.5 < sigma:
        return bound
    return min(bound, math.erfc((least - 0.5) / (sigma * math.sqrt(2))) / 2)


@dataclass(frozen=True)
class TrainingEvent(Event):
    """All steps of training on samples of the records: noisy sums of clipped gradients.

    Each step takes each record with probability `rate`, independently. A record that is taken adds its gradient, cut
    to an L2 length of at most `clip`, and Gaussian noise of `noise_multiplier` times `clip` or more is added to the sum
    (`privacy.training.grid` for the noise, `privacy.training.sampled` for the cost).

    Attributes:
        noise_multiplier: Standard deviation of the noise over the L2 sensitivity of the sum, above 0.
        rate: Above 0 and at most 1.
        steps: At least 1.
        clip: Longest gradient of a record, above 0.
        cells: Number of parameters, at least 1.
        delta: Chance to fail, between 0 and 1, both excluded: the rest of the promise is in Gaussian privacy.
    """

    kind = "training"
    noise_multiplier: float
    rate: float
    steps: int
    clip: float
    cells: int
    delta: float

    def __post_init__(self) -> None:
        self._check(positive=["noise_multiplier", "rate", "clip", "delta"], counts=["steps", "cells"])
        if self.rate > 1:
            raise BudgetError(f"rate is {self.rate!r}; it must be above 0 and at most 1")
        if self.delta >= 1:
            raise BudgetError(f"delta is {self.delta!r}; it must lie between 0 and 1, both excluded")

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on each sum, in the unit of the gradient, rounded down a little."""
        return self.noise_multiplier * self.clip


@dataclass(frozen=True)
class ExactEvent(Event):
    """An exact answer, without noise; only allowed if privacy is switched off.

    Attributes:
        what: A few words about the answer, not empty, without any value of the data.
    """

    kind = "exact"
    what: str

    def __post_init__(self) -> None:
        if not isinstance(self.what, str) or not self.what:
            raise BudgetError("what must be text that says what was answered exactly")


def event_class(kind: object) -> type[Event]:
    """Return the class of events of a kind; raises BudgetError if there is none."""
    found = (
        {known.kind: known for known in Event.__subclasses__()}.get(kind) if isinstance(kind, str) else None
    )
    if found is None:
        raise BudgetError("a recorded event has a kind that this version does not know")
    return found


def event_from_json(record: Mapping[str, Any]) -> Event:
    """Rebuild an event from what its `to_json` returned.

    Raises:
        BudgetError: If the kind is unknown, or a parameter is unknown, missing or outside its range.
    """
    kind = event_class(record.get("kind"))
    try:
        return kind.of({name: value for name, value in record.items() if name != "kind"})
    except (TypeError, KeyError, ValueError) as error:
        raise BudgetError(f"a recorded {record['kind']} event cannot be read: {error}") from None


def _positive_float(name: str, value: Any) -> float:
    if type(value) is float and 0 < value < math.inf:
        return value
    number = float_above(positive(name, value))
    # An int beyond 2^53 would change silently, and the event would differ from the draw.
    if number != value:
        raise BudgetError(f"{name} is {value!r}; it must be a finite number above 0")
    return number


def _count(name: str, value: object) -> int:
    try:
        count = 0 if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        count = 0
    if count < 1:
        raise BudgetError(f"{name} is {value!r}; it must be an int of at least 1")
    return count
