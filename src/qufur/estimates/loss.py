"""Estimate of the mean loss over all examples from queried labels, with an anytime-valid interval.

Example i has a loss 0 ≤ ℓ_i ≤ b_i, fixed before its random draw. With a probability p_i, known before the
draw, q_i = 1: the label is queried and the loss observed. The target is the total L_t = Σ ℓ_i over the
examples with p_i > 0, or its mean. Losses may drift, and p_i and b_i may depend on the whole past; nothing
is assumed about the stream or about the fit of the model.

*The estimate* is Σ q_i ℓ_i / p_i (inverse probability weighting); its expectation is that of L_t at every t.

*The interval* uses the full distribution of the draw, not only its mean. For any rates λ ≥ 0 and
0 ≤ λ_i ≤ λ with λ_i known before the draw and e^{−λ_i b_i} > 1 − p_i, averaging over the draw alone gives

    E[e^{−λℓ_i} (1 + q_i (e^{λℓ_i} − 1)/p_i)] = 1   and   E[e^{λ_iℓ_i} (1 − q_i (1 − e^{−λ_iℓ_i})/p_i)] = 1.

All factors are non-negative, so their products over i are non-negative martingales that start at 1. In the
second, e^{λ_iℓ_i} ≥ e^{λℓ_i − (λ − λ_i)b_i}: if p_i is too small for the rate λ, the example is charged with
the fraction 1 − λ_i/λ of its largest loss. So for every λ, and for averages over λ with weights w(λ),

    Σ_λ w(λ) exp(G_t(λ) − λL_t)   and   Σ_λ w(λ) exp(λL_t − C_t(λ))

are supermartingales, with the observable sums G_t(λ) = Σ q_i log(1 + (e^{λℓ_i} − 1)/p_i) and
C_t(λ) = Σ (λ − λ_i)b_i − q_i log(1 − (1 − e^{−λ_iℓ_i})/p_i). By Ville's inequality each of them ever reaches
2/δ with probability at most δ/2; until then L_t lies between the two roots. Two deterministic bounds are used
as well: the observed losses are a lower bound, and adding b_i for each unobserved loss gives an upper bound.

G and C are sums, so examples may arrive in any order, and the state is one number per rate. The losses of
pending labels count as 0 in the lower end and as b_i in the upper end, which is valid since G and C increase
with ℓ_i. Sums of logarithms need only absolute accuracy, so exp and log suffice; they are faster than expm1
and log1p.

*Width.* The lower end adapts to the losses. The upper end cannot be tighter than about b log(2/δ)/labels: all
unlabelled examples might have had the largest loss. So b matters: for squared loss, pass
max(ŷ − low, high − ŷ)² for each example rather than (high − low)² for all. A probability near 0 widens the
interval as much as no coverage does; an exploration floor prevents this.

*Alternatives tried*, with the same b. Additive empirical Bernstein bounds (Howard, Ramdas, McAuliffe & Sekhon
2021) with the running mean as control variate need the smallest p in advance, without which they have no
upper end; here they were given it. At 5 and 20 % labels of 400 and 4000 examples their upper end was 0.7 to
1.4 times as high, and their lower end always lower and often 0. Betting (Waudby-Smith & Ramdas 2023) assumes
a constant mean, while the loss of a learner falls. The reflected estimate of Waudby-Smith, Wu, Ramdas,
Karampatziakis & Mineiro (2024) replaces the loss by b minus the loss: for the upper end, its variance is that
of b/p.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Bools, Floats, as_number
from qufur.errors import invalid

BOLDNESS = 0.98
"""Limit of a bet: no factor falls below 0.02, its value at the largest loss.

At a limit of 1 the factor would be 0: one such loss would make the product of its rate 0 permanently.
"""

NEWTON_STEPS = 8
"""Steps towards a root of the interval; stopping early only widens it."""


def gains(p: Floats, loss: Floats, rates: Floats) -> Floats:
    """Return the terms of queries, 0 < p < 1, in G at each rate; other examples have no term.

    1 + (e^a − 1)/p is e^a (1 + (1 − e^−a)(1 − p)/p), which cannot overflow.
    """
    a = rates * loss[:, None]
    return np.asarray(a + np.log(1 + (1 - np.exp(-a)) * (1 / p[:, None] - 1)))


def costs(p: Floats, loss: Floats, largest: Floats, rates: Floats) -> Floats:
    """Return the terms of queries, 0 < p < 1, in C at each rate.

    1 − (1 − e^−a)/p is e^−a (1 − (e^a − 1)(1 − p)/p), at least e^−a (1 − `BOLDNESS`) at the largest loss.
    """
    share = np.divide(loss, largest, out=np.zeros_like(loss), where=largest > 0)[:, None]
    a = share * np.minimum(rates * largest[:, None], largest_bet(p)[:, None])
    # 1/p − 1 loses all digits near p = 1, and the argument of the logarithm could become negative.
    odds = ((1 - p) / p)[:, None]
    return np.asarray(excess(p, largest, rates) + a - np.log(1 - (np.exp(a) - 1) * odds))


def excess(p: Floats, largest: Floats, rates: Floats) -> Floats:
    """Return max(0, λb − largest bet): the part of C that every example, 0 < p < 1, contributes."""
    return np.maximum(0.0, rates * largest[:, None] - largest_bet(p)[:, None])


def cost_of_passing(p: Floats, largest: Floats, rates: Floats) -> Floats:
    """Return the sum of `excess` over unqueried examples, without a matrix of examples and rates.

    A term is positive for the rates above the critical rate bet/b of its example. For each rate, cumulative
    sums of b and of the bets over the examples with a lower critical rate give the total.
    """
    bet = largest_bet(p)
    critical = np.divide(bet, largest, out=np.full_like(bet, np.inf), where=largest > 0)
    first = rates.searchsorted(critical)
    slope, offset = (np.bincount(first, w, len(rates) + 1)[:-1].cumsum() for w in (largest, bet))
    return np.asarray(np.maximum(0.0, rates * slope - offset))


def largest_bet(p: Floats) -> Floats:
    """Return the largest λ_i b_i that a probability allows."""
    return np.asarray(np.log1p(BOLDNESS * p / (1 - p)))


def root(offsets: Floats, rates: Floats, threshold: float) -> Floats:
    """Return, for each row, x with log Σ exp(offset + rate x) = threshold, or slightly above it.

    The left side is convex and increasing. The iteration starts where its largest term alone reaches the
    threshold, at or above the root. From there Newton's method decreases towards the root without crossing
    it, so stopping at any step is valid.
    """
    x = ((threshold - offsets) / rates).min(axis=1)
    for _ in range(NEWTON_STEPS):
        exponents = offsets + rates * x[:, None]
        top = exponents.max(axis=1)
        terms = np.exp(exponents - top[:, None])
        total = terms.sum(axis=1)
        x = x - (top + np.log(total) - threshold) * total / (terms @ rates)
    return np.asarray(x)


# The rates are half octaves around a centre, with slowly decreasing weights: a prior, which affects the width
# of the interval but never its validity. A coarser grid would widen it, since a rate slightly above the limit
# of the probabilities charges every example.
_OCTAVES = np.arange(-18.0, 18.5, 0.5)
_LOW_PRIOR, _HIGH_PRIOR = (np.log(w / w.sum()) for w in (1 / (1 + (_OCTAVES / s) ** 2) for s in (3, 1)))
_ROUNDING = 1e-9
_CHUNK = 4096
_SUMS = ("examples", "covered", "weighted", "seen", "unseen", "certain")


class LossEstimate:
    """Estimate of the mean loss over all examples with a positive query probability.

    Parameters
    ----------
    largest_loss
        b > 0, an upper bound of every loss: 1 for 0-1 loss, the squared width of the label range for
        squared loss with clipped predictions.
    confidence
        1 − δ in (0, 1): probability that the interval contains the true mean at all times simultaneously.
    typical_probability
        Expected query probability of most examples, in (0, 1), such as the exploration floor or the budget's
        share of the stream. It centres the rates; a poor guess only widens the interval.

    Notes
    -----
    An update takes a few operations per example and rate, for 73 rates; so does an interval. Memory is
    constant.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> loss, probability = rng.random(2000) ** 4, np.full(2000, 0.3)
    >>> query = rng.random(2000) < probability
    >>> estimate = LossEstimate(1.0)
    >>> estimate.update(probability, query, np.where(query, loss, np.nan))
    >>> low, high = estimate.interval()
    >>> f"{loss.mean():.3f}: {estimate.value:.3f}, in [{low:.3f}, {high:.3f}]"
    '0.201: 0.200, in [0.163, 0.241]'
    """

    def __init__(
        self, largest_loss: float, *, confidence: float = 0.95, typical_probability: float = 0.05
    ) -> None:
        self.largest_loss = as_number(largest_loss, "largest_loss", "LossEstimate", low=0)
        self.confidence = _as_share(confidence, "confidence")
        self.typical_probability = _as_share(typical_probability, "typical_probability")
        self._low_rates = 2 * 2.0**_OCTAVES / self.largest_loss
        self._high_rates = largest_bet(np.array(self.typical_probability)) * 2.0**_OCTAVES / self.largest_loss
        self._sums = np.zeros(len(_SUMS) + 2 * len(_OCTAVES))

    @property
    def examples(self) -> int:
        """Number of examples."""
        return int(self._sums[0])

    @property
    def covered(self) -> float:
        """Share of the examples with p > 0, which the estimate covers; NaN before the first example."""
        return float(self._sums[1] / self._sums[0]) if self.examples else math.nan

    @property
    def value(self) -> float:
        """Estimated mean loss over the covered examples: the unbiased total over their number, or NaN.

        If some probabilities are small, it can lie above the interval, and even above the largest loss. If a
        budget ends the coverage, the number of covered examples depends on the draws too, and the mean has a
        bias that vanishes over time; the interval accounts for it.
        """
        return float(self._sums[2] / self._sums[1]) if self._sums[1] else math.nan

    def update(
        self, probability: ArrayLike, query: ArrayLike, loss: ArrayLike, largest_loss: ArrayLike | None = None
    ) -> None:
        """Add examples, in any order.

        Parameters
        ----------
        probability, query
            Query probability of each label, and whether it was queried.
        loss
            The losses; values of unqueried examples are ignored.
        largest_loss
            b_i, a bound for each loss, known before its draw; by default the common bound.

        Raises
        ------
        InvalidError
            If an array has another shape, a probability lies outside [0, 1] or contradicts its query, or a
            loss exceeds its bound. The estimate is unchanged.
        """
        p, queried, losses, largest = self._checked(probability, query, loss, largest_loss)
        for start in range(0, len(p), _CHUNK):
            rows = start + queried[start : start + _CHUNK].nonzero()[0]
            self.saw(p[rows], losses[rows], largest[rows])
        self.passed(p[~queried], largest[~queried])

    def saw(self, p: Floats, loss: Floats, largest: Floats) -> None:
        """Add answered queries with their losses and bounds, without validation."""
        self._sums = self._with_answers(p, loss, largest)

    def _with_answers(self, p: Floats, loss: Floats, largest: Floats) -> Floats:
        """Return the sums with answered queries added."""
        uncertain = p < 1
        plain = [len(p), len(p), (loss / p).sum(), loss.sum(), 0.0, loss[~uncertain].sum()]
        low = gains(p[uncertain], loss[uncertain], self._low_rates).sum(axis=0)
        high = costs(p[uncertain], loss[uncertain], largest[uncertain], self._high_rates).sum(axis=0)
        return np.asarray(self._sums + np.concatenate([plain, low, high]))

    def replace(self, p: Floats, old: Floats, new: Floats, largest: Floats) -> None:
        """Replace the losses of added queries."""
        change = self._with_answers(p, new, largest) - self._with_answers(p, old, largest)
        self._sums = self._sums + change

    def forget(self, p: Floats, loss: Floats, largest: Floats) -> None:
        """Mark the losses of added queries as unknown, for example because their labels were wrong."""
        self._sums = self._sums - (self._with_answers(p, loss, largest) - self._sums)
        self.forgo(p, largest)

    def recall(self, p: Floats, loss: Floats, largest: Floats) -> None:
        """Replace unknown losses of queries: the inverse of `forget`."""
        self._sums = self._sums - self._unknown(p, largest)
        self.saw(p, loss, largest)

    def passed(self, p: Floats, largest: Floats) -> None:
        """Add unqueried examples with the bounds of their losses, without validation."""
        covered = p > 0
        bounds = largest[covered]
        plain = [len(p), len(bounds), 0.0, 0.0, bounds.sum(), 0.0]
        high = cost_of_passing(p[covered], bounds, self._high_rates)
        self._sums = self._sums + np.concatenate([plain, np.zeros(len(_OCTAVES)), high])

    def forgo(self, probability: ArrayLike, largest_loss: ArrayLike | None = None) -> None:
        """Add queries whose labels will never arrive; their losses are unknown."""
        self._sums = self._sums + self._unknown(probability, largest_loss)

    def interval(
        self, outstanding: ArrayLike = (), largest_loss: ArrayLike | None = None
    ) -> tuple[float, float]:
        """Return the interval for the mean loss over the covered examples.

        Parameters
        ----------
        outstanding
            Probabilities of queries whose labels are pending, for which `update` is called later or never.
            Without them the interval would be invalid, since the missing examples were selected at random.
        largest_loss
            A bound for each of their losses; by default the common bound.
        """
        low, high = self._ends((self._sums + self._unknown(outstanding, largest_loss))[None])
        return low.item(), high.item()

    def intervals(
        self, probability: ArrayLike, query: ArrayLike, loss: ArrayLike, largest_loss: ArrayLike | None = None
    ) -> tuple[Floats, Floats]:
        """Return the lower and upper ends after each of these additional examples, without adding them."""
        columns = self._checked(probability, query, loss, largest_loss)
        return self._ends(self._running(*columns))

    def state(self) -> dict[str, Any]:
        """Return the state as JSON values; `from_state` restores it bit for bit."""
        return {
            "largest_loss": self.largest_loss,
            "confidence": self.confidence,
            "typical_probability": self.typical_probability,
            "sums": self._sums.tolist(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LossEstimate:
        """Return the estimate with this `state`."""
        state = dict(state)
        sums = np.array(state.pop("sums"), dtype=np.float64)
        estimate = cls(**state)
        if sums.shape != estimate._sums.shape:
            raise invalid("sums", "LossEstimate", f"{len(estimate._sums)} numbers", f"shape {sums.shape}")
        estimate._sums = sums
        return estimate

    def _unknown(self, probability: ArrayLike, largest_loss: ArrayLike | None) -> Floats:
        """Return the sums of queries with unknown losses: 0 in the lower end and b in the upper end."""
        p = np.atleast_1d(np.asarray(probability, dtype=np.float64))
        columns = p, np.ones(len(p), dtype=bool), np.zeros(len(p)), largest_loss
        p, _, _, largest = self._checked(*columns)
        uncertain = p < 1
        plain = [len(p), len(p), 0.0, 0.0, largest.sum(), 0.0]
        high = costs(p[uncertain], largest[uncertain], largest[uncertain], self._high_rates).sum(axis=0)
        certain = self._high_rates * largest[~uncertain].sum()  # shifts the upper end by this amount
        return np.concatenate([plain, np.zeros(len(_OCTAVES)), high + certain])

    def _running(self, p: Floats, query: Bools, loss: Floats, largest: Floats) -> Floats:
        """Return the sums after each example."""
        covered, certain = p > 0, p == 1
        unseen = np.where(covered & ~query, largest, 0.0)
        plain = [np.ones(len(p)), covered, loss / np.where(covered, p, 1.0), loss, unseen, certain * loss]
        terms = np.zeros((len(p), len(self._sums)))
        terms[:, : len(_SUMS)] = np.column_stack(plain)
        low, high = np.split(terms[:, len(_SUMS) :], 2, axis=1)
        uncertain, passed = covered & ~certain & query, covered & ~query
        low[uncertain] = gains(p[uncertain], loss[uncertain], self._low_rates)
        high[uncertain] = costs(p[uncertain], loss[uncertain], largest[uncertain], self._high_rates)
        high[passed] = excess(p[passed], largest[passed], self._high_rates)
        return np.asarray(self._sums + terms.cumsum(axis=0))

    def _ends(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the lower and upper ends of the interval for the mean, for each row of sums."""
        _, covered, _, seen, unseen, certain = sums[:, : len(_SUMS)].T
        seen = np.maximum(seen, 0.0)  # forgetting losses subtracts sums, which may leave a rounding error
        gained, paid = np.split(sums[:, len(_SUMS) :], 2, axis=1)
        threshold = math.log(2 / (1 - self.confidence))
        low = certain - root(_LOW_PRIOR + gained, self._low_rates, threshold)
        high = certain + root(_HIGH_PRIOR - paid, self._high_rates, threshold)
        low, high = (np.clip(end, seen, seen + unseen) for end in (low, high))
        high = np.maximum(low, high)  # crossed ends are both wrong: the event of probability δ
        none = covered == 0
        count = np.where(none, 1.0, covered)
        return np.where(none, 0.0, low / count), np.where(none, self.largest_loss, high / count)

    def _checked(
        self, probability: ArrayLike, query: ArrayLike, loss: ArrayLike, largest_loss: ArrayLike | None
    ) -> tuple[Floats, Bools, Floats, Floats]:
        """Return the columns as vectors, with a loss of 0 for unqueried examples."""
        p = np.atleast_1d(np.asarray(probability, dtype=np.float64))
        bounds = np.full(p.shape, self.largest_loss) if largest_loss is None else largest_loss
        queried, losses, largest = (np.atleast_1d(np.asarray(values)) for values in (query, loss, bounds))
        for name, column in (("query", queried), ("loss", losses), ("largest_loss", largest)):
            if p.ndim != 1 or column.shape != p.shape:
                raise invalid(name, "LossEstimate", f"one per probability, of shape {p.shape}", column.shape)
        if queried.dtype != bool:
            raise invalid("query", "LossEstimate", "an array of bool", f"{queried.dtype} values")
        _reject(~((p >= 0) & (p <= 1)), p, "probability", "in [0, 1]")
        _reject(queried & (p == 0), p, "probability", "above 0 where the label was queried")
        _reject(~queried & (p == 1), p, "probability", "below 1 where the label was not queried")
        _reject(~((largest >= 0) & (largest < math.inf)), largest, "largest_loss", "finite and at least 0")
        slack = _ROUNDING * largest
        outside = ~((losses >= -slack) & (losses <= largest + slack))
        remedy = "Cap losses above the bound: pass minimum(loss, bound), to estimate their mean when capped."
        _reject(queried & outside, losses, "loss", "in [0, largest_loss] where the label was queried", remedy)
        return p, queried, np.clip(np.where(queried, losses, 0.0), 0.0, largest), largest.astype(np.float64)


def _as_share(value: Any, parameter: str) -> float:
    share = as_number(value, parameter, "LossEstimate", low=0, high=1)
    if share == 1:
        raise invalid(parameter, "LossEstimate", "in (0, 1)", repr(value))
    return share


def _reject(invalid_rows: Bools, values: Any, parameter: str, allowed: str, remedy: str = "") -> None:
    if invalid_rows.any():
        (row,) = np.nonzero(invalid_rows)
        raise invalid(parameter, "LossEstimate", allowed, f"{values[row[0]]} at row {row[0]}", remedy)
