"""What events cost in Gaussian differential privacy (GDP), in units of mu^2, with proofs.

**The promise.** A release is mu-GDP if no test tells neighbours apart better than it tells N(0, 1) from
N(mu, 1) (Dong, Roth and Su, 2022). With L = dQ/dP under P it says that E (L - g)+ is for all g >= 0 at most
what it is for ln L ~ N(-mu^2/2, mu^2); write C_V(g) for that, with V = mu^2.

**The filter.** A total V is fixed. An event of cost m, chosen after seeing all earlier answers, is drawn only if
m <= V' + m := what is left, and then V' is left. Claim: whatever follows, a run that has V left is sqrt(V)-GDP.
By induction over the events that follow: for first answers o of densities p, q, the whole has E (L - g)+ =
sum p(o) l(o) ... <= sum p(o) l(o) C_V'(g / l(o)) with l = q/p, which is that of the event next to an independent
sqrt(V')-Gaussian. So all that an event has to prove is

    (*)  the event together with an independent Gaussian of mu^2 = V' is GDP with mu^2 = V' + m.

(Smith and Thakurta, 2022, and Koskela, Tobaben and Honkela, 2022, prove the filter for events that are
sqrt(m)-GDP on their own, from which (*) follows. In other kinds of accounting the like may fail.) Chances to
fail outright, of thresholds, add to delta as they do elsewhere.

**Discrete Gaussian noise**, one count moved by 1, t = 1/sigma^2. Needed: with T(k) = P[X >= k] = Phi(-R(k)), all
R(k + 1) - R(k) <= mu, as T(k + 1), T(k) are the error and power of the best tests, and G_mu is convex. Fix k and
cut the normal into cells [c + j mu, c + (j + 1) mu) with c such that Phi(-c - k mu) = T(k); q_j is the mass of
cell j, p_j that of j under X. Suppose ln(p_j / q_j) is convex in j. If R(k + 1) - R(k) > mu, then p_k > q_k, and
by convexity p > q either at all j >= k or at all j <= k; summed up, either contradicts the choice of c. The
second difference of ln p is -t. That of ln q is -mu^2 + D, with D the second difference, in steps of mu, of
K(s) = ln E exp(s v), v a standard normal held to +-mu/2. K'' is the variance of a log-concave density on an
interval of length mu, so at most mu^2/12 (match the mean by a log-affine density: the two cross twice, so its
variance is larger; and 1/h^2 - 1/(4 sinh(h/2)^2) <= 1/12). So it is enough that

    mu^2 (1 - mu^2/12) >= t,   which a mu^2 of at most 6 solves while t <= 3.

For t >= 3 take mu^2 = 4 t - 6. K''' <= 0 for s > 0 (around its mean the density is longer to the left, and on the
right, where there is any, exp(a y) times the left), so D is largest at 0, where the second difference of ln q is
-2 ln(q_0 / q_1) for cells around 0. With z = mu/2 and Phi(-z) < phi(z)/z, q_0 / q_1 >= 1/Phi(-z) - 2 >=
sqrt(2 pi) z exp(z^2/2) - 2, at least exp(z^2/2 + 3/4) = exp(t/2) for z^2 >= 3/2. A count moved by d is d such
steps, so costs d^2 times as much (group privacy), and cells add: a vector of integers costs its squared L2
sensitivity times as much.

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
"""

from __future__ import annotations

import math
from fractions import Fraction

_BITS = 128
_HALF_PI = Fraction(15708, 10_000)  # above pi/2
_WIDEST_FINE = Fraction(6)  # mu^2 where the two bounds for discrete Gaussian noise meet


def gaussian_cost(sigma: float) -> Fraction:
    """Return mu^2, rounded up, of discrete Gaussian noise on one count that a record moves by 1.

    It is 1/sigma^2 + 1/(12 sigma^4) + ..., so little above that of continuous noise unless sigma is small.

    Args:
        sigma: Scale of the noise, above 0.
    """
    precision = 1 / Fraction(sigma) ** 2
    if precision >= 3:
        return _rounded_up(4 * precision - _WIDEST_FINE)
    return _least_root(precision, Fraction(12))


def gaussian_precision(cost: Fraction) -> Fraction:
    """Return the largest 1/sigma^2 of which `gaussian_cost` is at most `cost`, exact."""
    return cost - cost**2 / 12 if cost <= _WIDEST_FINE else (cost + _WIDEST_FINE) / 4


def ranged_cost(width: Fraction, left: Fraction) -> Fraction:
    """Return mu^2, rounded up, of an event whose privacy loss lies in an interval.

    Args:
        width: Length r of the interval, above 0.
        left: What of the total is left before this event, at least 0.

    Returns:
        A cost that falls as more is left; above `left` where too little is.
    """
    quarter = width**2 / 4
    alone = _alone(width)
    return min(alone, _least_root(quarter, left)) if 4 * quarter <= left else alone


def ranged_cost_before(width: Fraction, after: Fraction) -> Fraction:
    """Return the same cost from what is left after the event, at least 0."""
    quarter = width**2 / 4
    alone = _alone(width)
    if after <= quarter:
        return alone
    return min(alone, _rounded_up(quarter * after / (after - quarter)))


def range_bought(cost: Fraction, left: Fraction) -> Fraction:
    """Return the square of the widest range r that `ranged_cost` sells for `cost`.

    Args:
        cost: What may be spent, above 0.
        left: What of the total is left before.
    """
    quarter = cost / _HALF_PI
    if 2 * cost <= left:
        quarter = max(quarter, cost * (1 - cost / left))
    return max(4 * quarter, (cost / 4) ** 2)


def _alone(width: Fraction) -> Fraction:
    return _rounded_up(min(_HALF_PI * width**2 / 4, 4 * width))


def _least_root(value: Fraction, limit: Fraction) -> Fraction:
    """Return the least m with m (1 - m / limit) >= value, rounded up; 4 value is at most limit."""
    # m = 2 value / (1 + sqrt(1 - 4 value / limit)), the form that does not cancel; the root is rounded down.
    inside = 1 - 4 * value / limit
    root = Fraction(math.isqrt((inside.numerator << 2 * _BITS) // inside.denominator), 1 << _BITS)
    return _rounded_up(2 * value / (1 + root))


def _rounded_up(value: Fraction) -> Fraction:
    """Return a fraction of about 128 bits at or above `value`, so that sums of many stay short."""
    shift = _BITS - (value.numerator.bit_length() - value.denominator.bit_length())
    scaled = value * Fraction(2) ** shift
    return Fraction(-(-scaled.numerator // scaled.denominator)) / Fraction(2) ** shift
