"""What noise costs in Gaussian differential privacy (GDP), in units of mu^2, with proofs; and what a cost buys.

**The guarantee.** P and Q are the distributions of a release on two neighbours, in either order, and L = dQ/dP. It is
mu-GDP if for all g >= 0, with E under P, E (L - g)+ is at most C_V(g), V = mu^2: its value for N(0, 1) and N(mu, 1),
where ln L ~ N(-V/2, V) (Dong, Roth and Su, 2022; this is equivalent to their trade-off curves).

**The filter.** A total V is fixed. Before each draw an event, chosen after seeing all earlier answers, is charged m,
and refused if less is left. Claim: a run that has V left is sqrt(V)-GDP, whatever follows. By induction over its
draws: let the first have outcomes o, l(o) their ratio, and V' = V - m be left after it. Then E (L - g)+ =
sum P(o) l(o) E_o (L_o - g / l(o))+ <= sum P(o) l(o) C_V'(g / l(o)), which is E (L - g)+ for the event next to an
independent Gaussian of mu^2 = V'. So an event only has to satisfy

    (*)  together with an independent Gaussian of mu^2 = V', it is GDP with mu^2 = V' + m.

An event that is sqrt(m)-GDP on its own does (Smith and Thakurta, 2022, and Koskela, Tobaben and Honkela, 2022,
prove the filter for these; for curves other than Gaussian ones it may fail). The failure probability of a threshold
adds to delta in the same induction.

**Discrete Gaussian noise**, one count moved by 1, t = 1/sigma^2. Let T(k) = P[X >= k] = Phi(-R(k)). The best tests
have error T(k + 1) and power T(k), and the Gaussian's curve is convex, so mu-GDP is equivalent to R(k + 1) - R(k) <=
mu for all k. Fix k, and cut the normal into cells [c + j mu, c + (j + 1) mu) with c such that Phi(-c - k mu) = T(k);
q_j is the mass of cell j, and p_j that of X = j. Suppose that ln(p_j / q_j) is convex in j. If R(k + 1) - R(k) > mu,
then p_k > q_k, and so p > q at all j >= k or at all j <= k; either sum contradicts the choice of c. It is convex: the
second difference of ln p is -t, and that of ln q is -mu^2 + D, with D the second difference, in steps of mu, of K(s)
= ln E exp(s v), v a standard normal held to +-mu/2. K'' is the variance of a log-concave density on an interval of
length mu, so at most mu^2/12 (a log-affine density of the same mean crosses it twice, so has the larger variance, and
(1/h^2 - 1/(4 sinh(h/2)^2)) mu^2 <= mu^2/12). So it is enough that

    mu^2 (1 - mu^2/12) >= t,   which a mu^2 of at most 6 solves while t <= 3.

For t >= 3, mu^2 = 4 t - 6 will do. K''' <= 0 for s > 0: with the mean at c > 0 the density reaches further to the
left, and as far as it reaches to the right it is exp(a y) times that on the left; as first moments agree, a > 0,
and third moments weigh the left more. So D is largest at 0, where the second difference of ln q is
-2 ln(q_0 / q_1) for cells around 0. With z = mu/2 and Phi(-z) < phi(z)/z, q_0 / q_1 >= 1/Phi(-z) - 2 >=
sqrt(2 pi) z exp(z^2/2) - 2, which is at least exp(z^2/2 + 3/4) = exp(t/2) for z^2 >= 3/2.

A count moved by d is d such steps, so costs d^2 times as much (group privacy), and cells add: a vector of integers
costs its squared L2 sensitivity times as much.

**Losses within a range r** (ln L in an interval of length r): the exponential mechanism of parameter epsilon
has r = epsilon (Durfee and Rogers, 2019), pure epsilon has r = 2 epsilon. Two bounds hold, and the lesser counts.

1. Next to others: e := r^2/4 <= m (1 - m / (V' + m)). Next to a Gaussian of V', ln L is a mixture of
   N(-V'/2 + x, V') over x in the range. The second derivative of the logarithm of its density is -1/V' + (variance
   of x given the sum)/V'^2 <= -1/V' + e/V'^2 (Popoviciu), that of the Gaussian of V' + m is -1/(V' + m); under the
   condition the ratio of the two densities is log-concave, so they cross twice, masses and means of L agree, and
   so E u(L) is less for all convex u, which is (*). With much left this is r^2/4, twice the rho of zCDP.
2. Alone: the worst pair has two outcomes, odds exp(x) and exp(x + r) (of all L in an interval with mean 1 the ends
   are largest in convex order). mu is the rise of s(x) = Phi^-1(1/(1 + exp(-x))) over x .. x + r. s' is even and
   falls away from 0 (by the hazard h = phi/Phi(-z): h(z) - h(-z) >= z, as at a zero of the difference its slope is
   2 h(z) h(-z) - 1, which falls in z, and it is above 0 near 0 and infinity), so mu = 2 s(r/2) <= r s'(0) and
   m = (pi/8) r^2 will do; by Phi(-z) <= exp(-z^2/2)/2 also m = 4 r.

Only square roots are computed, in integers and rounded up: no other numerics enter a cost.

**What a cost buys**, in this currency or another, is a float next to the ideal parameter, whose exact cost does not
exceed the given one. A cost that is not above 0, a currency that has no such noise, and noise or a parameter that no
float holds raise BudgetError; `left` is the rest of the total before the draw, which only matters in mu^2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from syntabula.errors import BudgetError
from syntabula.privacy.budget import Currency
from syntabula.privacy.conversion import (
    finite,
    float_above,
    float_below,
    nonzero,
    positive,
    root_above,
    root_below,
)

_BITS = 128
_HALF_PI = Fraction(15708, 10_000)  # above pi/2
_WIDEST_FINE = Fraction(6)  # mu^2 where the two bounds for discrete Gaussian noise meet
_PRICES_KEPT = 256  # a run asks for the same few again and again


@lru_cache(maxsize=_PRICES_KEPT, typed=True)
def gaussian_cost(sigma: float) -> Fraction:
    """Return mu^2, rounded up, of discrete Gaussian noise on one count that a record changes by 1.

    It is 1/sigma^2 + 1/(12 sigma^4) + ..., slightly above that of continuous noise unless sigma is small.
    """
    precision = 1 / Fraction(sigma) ** 2
    if precision >= 3:
        return _rounded_up(4 * precision - _WIDEST_FINE)
    return _least_root(precision, Fraction(12))


def gaussian_precision(cost: Fraction) -> Fraction:
    """Return the largest 1/sigma^2 whose `gaussian_cost` is at most `cost`, exactly."""
    return cost - cost**2 / 12 if cost <= _WIDEST_FINE else (cost + _WIDEST_FINE) / 4


def ranged_cost(width: Fraction, left: Fraction) -> Fraction:
    """Return mu^2, rounded up, of losses within a range `width`; less if more is left, above `left` if too little is."""
    quarter = width**2 / 4
    alone = _alone(width)
    return min(alone, _least_root(quarter, left)) if 4 * quarter <= left else alone


def ranged_cost_before(width: Fraction, after: Fraction) -> Fraction:
    """Return the same cost from the rest of the total after the event, at least 0."""
    quarter = width**2 / 4
    alone = _alone(width)
    if after <= quarter:
        return alone
    return min(alone, _rounded_up(quarter * after / (after - quarter)))


def range_bought(cost: Fraction, left: Fraction) -> Fraction:
    """Return the square of the widest range whose `ranged_cost` is `cost`, above 0."""
    quarter = cost / _HALF_PI
    if 2 * cost <= left:
        quarter = max(quarter, cost * (1 - cost / left))
    return max(4 * quarter, (cost / 4) ** 2)


@lru_cache(maxsize=_PRICES_KEPT, typed=True)
def gaussian_sigma(
    cost: Fraction | float, l2_sensitivity_squared: Fraction | int, currency: Currency
) -> float:
    """Find the smallest float sigma whose cost in mu^2 or in rho is at most `cost`."""
    exact, squared = positive("cost", cost), positive("l2_sensitivity_squared", l2_sensitivity_squared)
    if currency == "rho":
        return root_above(squared / (2 * exact))
    if currency != "mu_squared":
        raise BudgetError(f"the currency is {currency!r}; Gaussian noise needs a budget with a delta")
    sigma = root_above(1 / gaussian_precision(exact / squared))
    while squared * gaussian_cost(sigma) > exact:
        sigma = finite(math.nextafter(sigma, math.inf))
    return sigma


def laplace_epsilon(cost: Fraction | float, currency: Currency, left: Fraction = Fraction(0)) -> Fraction:
    """Find the pure epsilon of a Laplace draw for this cost.

    In zCDP that is sqrt(2 rho), rounded down; in pure privacy the cost itself; in Gaussian privacy almost
    sqrt(mu^2) if `left` is much larger.
    """
    exact = positive("cost", cost)
    return exact if currency == "epsilon" else Fraction(_range_of_cost(exact, currency, left)) / 2


def laplace_scale(epsilon: Fraction | float, l1_sensitivity: int) -> float:
    """Find the smallest float scale whose exact pure epsilon is at most `epsilon`."""
    return finite(float_above(positive("l1_sensitivity", l1_sensitivity) / positive("epsilon", epsilon)))


def exponential_epsilon(cost: Fraction | float, currency: Currency, left: Fraction = Fraction(0)) -> float:
    """Find the largest float parameter of the exponential mechanism whose cost is at most `cost`.

    In Gaussian privacy that is almost sqrt(4 mu^2) if much is left, in zCDP sqrt(8 rho), and in pure privacy the cost.
    """
    exact = positive("cost", cost)
    if currency != "epsilon":
        return _range_of_cost(exact, currency, left)
    try:
        return nonzero(float_below(exact))
    except OverflowError:
        raise BudgetError("the cost is too large for a float") from None


def _alone(width: Fraction) -> Fraction:
    return _rounded_up(min(_HALF_PI * width**2 / 4, 4 * width))


def _least_root(value: Fraction, limit: Fraction) -> Fraction:
    """Return the smallest m with m (1 - m / limit) >= value, rounded up; 4 value is at most limit."""
    # m = 2 value / (1 + sqrt(1 - 4 value / limit)), the form without cancellation; the root is rounded down.
    inside = 1 - 4 * value / limit
    root = Fraction(math.isqrt((inside.numerator << 2 * _BITS) // inside.denominator), 1 << _BITS)
    return _rounded_up(2 * value / (1 + root))


def _rounded_up(value: Fraction) -> Fraction:
    """Return a fraction of about 128 bits at or above `value`, so that sums of many stay short."""
    shift = _BITS - (value.numerator.bit_length() - value.denominator.bit_length())
    scaled = value * Fraction(2) ** shift
    return Fraction(-(-scaled.numerator // scaled.denominator)) / Fraction(2) ** shift


def _range_of_cost(cost: Fraction, currency: Currency, left: Fraction) -> float:
    """Return the widest range of a privacy loss, rounded down, that a cost in mu^2 or rho buys."""
    if currency == "rho":
        return root_below(8 * cost)
    if currency != "mu_squared":
        raise BudgetError(f"the currency is {currency!r}; noise is scaled only where a cost is counted")
    width = root_below(range_bought(cost, left))
    while ranged_cost(Fraction(width), left) > cost:
        width = nonzero(math.nextafter(width, 0.0))
    return width
