"""The loss over all examples from the labels that were bought, with an interval valid at every moment.

Example i has a loss 0 ≤ ℓ_i ≤ b_i that is fixed before its coin: q_i = 1, the label is bought and the loss
seen, with a probability p_i that is known before the coin. Wanted is the total L_t = Σ ℓ_i over the examples
with p_i > 0, or its mean. Losses may drift and p_i and b_i may depend on all that came before; nothing is
assumed about the stream or about whether the model fits.

*The estimate* is Σ q_i ℓ_i / p_i (inverse probability), whose expectation is that of L_t at every t.

*The interval* uses that the law of the coin is known, not only its mean. For any rates λ ≥ 0 and
0 ≤ λ_i ≤ λ with λ_i known before the coin and e^{−λ_i b_i} > 1 − p_i, averaging over the coin alone gives

    E[e^{−λℓ_i} (1 + q_i (e^{λℓ_i} − 1)/p_i)] = 1   and   E[e^{λ_iℓ_i} (1 − q_i (1 − e^{−λ_iℓ_i})/p_i)] = 1.

All factors are at least 0, so that their products over i are non-negative martingales that start at 1. In the
second, e^{λ_iℓ_i} ≥ e^{λℓ_i − (λ − λ_i)b_i}: where p_i is too small for the rate λ, the example is charged
with the part 1 − λ_i/λ of its largest loss. So for every λ, and for averages over λ with weights w(λ),

    Σ_λ w(λ) exp(G_t(λ) − λL_t)   and   Σ_λ w(λ) exp(λL_t − C_t(λ))

are supermartingales, with the observable sums G_t(λ) = Σ q_i log(1 + (e^{λℓ_i} − 1)/p_i) and
C_t(λ) = Σ (λ − λ_i)b_i − q_i log(1 − (1 − e^{−λ_iℓ_i})/p_i). By Ville's inequality the first ever reaches 2/δ
with probability at most δ/2, and so does the second; until then L_t lies between the two roots. What is
certain is used too: the losses seen are a lower bound, and with b_i for each loss not seen an upper one.

G and C are sums: examples may come in any order, and the state is one number per rate. While labels are on
their way, their losses count as 0 below and as b_i above, which is valid as G and C rise with ℓ_i.

*Width.* Below, it adapts to the losses. Above, nobody can do better than about b log(2/δ)/labels: examples
like those not labelled might all have had the largest loss. So b matters: for squared loss give
max(ŷ − low, high − ŷ)² for each example rather than (high − low)² for all. A probability near 0 costs as much
as no coverage, which is what an exploration floor is for.

Also tried, with the same b: additive empirical Bernstein bounds (Howard, Ramdas, McAuliffe & Sekhon 2021)
with the running mean as control variate, told the smallest p beforehand, without which they have no upper
end. At 5 and 20 % labels of 400 and 4000 examples their upper end was 0.7 to 1.4 times as high, and their
lower end always lower and often 0. Betting (Waudby-Smith & Ramdas 2023) is for a constant mean, while a
learner's loss falls. The reflected estimate of Waudby-Smith, Wu, Ramdas, Karampatziakis & Mineiro (2024)
replaces the loss by b less the loss: above, its variance is that of b/p.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Bools, Floats, as_number
from qufur.errors import invalid
from qufur.estimates.bets import cost_of_passing, costs, excess, gains, largest_bet, root

# The rates are half octaves around a centre, with weights that fall slowly from it: a prior, which decides
# how narrow the interval is and never whether it is valid. Coarser steps would cost more: a rate somewhat
# above what the probabilities allow charges every example.
_OCTAVES = np.arange(-18.0, 18.5, 0.5)
_LOW_PRIOR, _HIGH_PRIOR = (np.log(w / w.sum()) for w in (1 / (1 + (_OCTAVES / s) ** 2) for s in (3, 1)))
_ROUNDING = 1e-9
_CHUNK = 4096
_SUMS = ("examples", "covered", "weighted", "seen", "unseen", "certain")


class LossEstimate:
    """Estimates the mean loss over all examples that had a chance to be labelled.

    Parameters
    ----------
    largest_loss
        b > 0, a bound of every loss: 1 for 0-1 loss, the squared width of the label range for squared loss
        with clipped predictions.
    confidence
        1 − δ in (0, 1): with this probability the interval contains the true mean at all moments together.

    typical_probability
        In (0, 1): the probability that most examples are expected to have, such as the exploration floor or
        the budget's share of the stream. It centres the rates: a poor guess widens the interval, no more.

    Notes
    -----
    An example takes a few operations at each of 73 rates, and so does an interval; memory does not grow.

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
        """How many examples came."""
        return int(self._sums[0])

    @property
    def covered(self) -> float:
        """The share of the examples with p > 0, about which alone something is said; NaN before the first."""
        return float(self._sums[1] / self._sums[0]) if self.examples else math.nan

    @property
    def value(self) -> float:
        """The estimated mean loss over the covered examples: the unbiased total over their number, or NaN.

        Where some probabilities are small it can lie above the interval, and even above the largest loss.
        Where a budget ends the coverage, their number depends on the coins too, and the mean has a bias that
        fades; the interval allows for that.
        """
        return float(self._sums[2] / self._sums[1]) if self._sums[1] else math.nan

    def update(
        self, probability: ArrayLike, query: ArrayLike, loss: ArrayLike, largest_loss: ArrayLike | None = None
    ) -> None:
        """Take in examples, in any order.

        Parameters
        ----------
        probability, query
            With which probability each label was going to be queried, and whether it was.
        loss
            The losses; those that were not queried are not looked at.
        largest_loss
            b_i, a bound for each loss, known before its coin; by default the one for all.
        """
        p, asked, seen, largest = self._checked(probability, query, loss, largest_loss)
        for start in range(0, len(p), _CHUNK):
            rows = start + asked[start : start + _CHUNK].nonzero()[0]
            self.saw(p[rows], seen[rows], largest[rows])
        self.passed(p[~asked], largest[~asked])

    def saw(self, p: Floats, loss: Floats, largest: Floats) -> None:
        """Take in queries, their losses and bounds, known to be right."""
        coins = p < 1
        plain = [len(p), len(p), (loss / p).sum(), loss.sum(), 0.0, loss[~coins].sum()]
        low = gains(p[coins], loss[coins], self._low_rates).sum(axis=0)
        high = costs(p[coins], loss[coins], largest[coins], self._high_rates).sum(axis=0)
        self._sums = self._sums + np.concatenate([plain, low, high])

    def replace(self, p: Floats, old: Floats, new: Floats, largest: Floats) -> None:
        """Let queries that were taken in have had other losses."""
        start = self._sums
        self.saw(p, new, largest)
        with_new, self._sums = self._sums, start
        self.saw(p, old, largest)
        self._sums = start + (with_new - self._sums)

    def forget(self, p: Floats, loss: Floats, largest: Floats) -> None:
        """Let queries that were taken in have had losses that are not known."""
        start = self._sums
        self.saw(p, loss, largest)
        self._sums = start - (self._sums - start)
        self.forgo(p, largest)

    def recall(self, p: Floats, loss: Floats, largest: Floats) -> None:
        """Replace unknown losses of queries by these: the inverse of `forget`."""
        self._sums = self._sums - self._unknown(p, largest)
        self.saw(p, loss, largest)

    def passed(self, p: Floats, largest: Floats) -> None:
        """Take in examples that were not queried and the bounds of their losses, known to be right."""
        covered = p > 0
        bounds = largest[covered]
        plain = [len(p), len(bounds), 0.0, 0.0, bounds.sum(), 0.0]
        high = cost_of_passing(p[covered], bounds, self._high_rates)
        self._sums = self._sums + np.concatenate([plain, np.zeros(len(_OCTAVES)), high])

    def forgo(self, probability: ArrayLike, largest_loss: ArrayLike | None = None) -> None:
        """Take in queries whose labels will never come: their losses may have been anything."""
        self._sums = self._sums + self._unknown(probability, largest_loss)

    def interval(
        self, outstanding: ArrayLike = (), largest_loss: ArrayLike | None = None
    ) -> tuple[float, float]:
        """Return the ends of the interval for the mean loss over the covered examples.

        Parameters
        ----------
        outstanding
            The probabilities of queries whose labels have not come and with which `update` will be called
            later, or never. Without them an interval would be wrong: what is missing was picked by coins.
        largest_loss
            A bound for each of their losses; by default the one for all.
        """
        low, high = self._ends((self._sums + self._unknown(outstanding, largest_loss))[None])
        return low.item(), high.item()

    def intervals(
        self, probability: ArrayLike, query: ArrayLike, loss: ArrayLike, largest_loss: ArrayLike | None = None
    ) -> tuple[Floats, Floats]:
        """Return the lower and the upper ends as they would be after each of some further examples."""
        columns = self._checked(probability, query, loss, largest_loss)
        return self._ends(self._running(*columns))

    def state(self) -> dict[str, Any]:
        """Return everything as values for JSON; `from_state` goes on from there bit for bit."""
        return {
            "largest_loss": self.largest_loss,
            "confidence": self.confidence,
            "typical_probability": self.typical_probability,
            "sums": self._sums.tolist(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LossEstimate:
        """Return the estimate whose `state` this is."""
        state = dict(state)
        sums = np.array(state.pop("sums"), dtype=np.float64)
        estimate = cls(**state)
        if sums.shape != estimate._sums.shape:
            raise invalid("sums", "LossEstimate", f"{len(estimate._sums)} numbers", f"shape {sums.shape}")
        estimate._sums = sums
        return estimate

    def _unknown(self, probability: ArrayLike, largest_loss: ArrayLike | None) -> Floats:
        """Return what queries add whose losses are unknown: they count as 0 below and as b above."""
        p = np.atleast_1d(np.asarray(probability, dtype=np.float64))
        columns = p, np.ones(len(p), dtype=bool), np.zeros(len(p)), largest_loss
        p, _, _, largest = self._checked(*columns)
        coins = p < 1
        plain = [len(p), len(p), 0.0, 0.0, largest.sum(), 0.0]
        high = costs(p[coins], largest[coins], largest[coins], self._high_rates).sum(axis=0)
        certain = self._high_rates * largest[~coins].sum()  # moves the upper end by just that
        return np.concatenate([plain, np.zeros(len(_OCTAVES)), high + certain])

    def _running(self, p: Floats, query: Bools, loss: Floats, largest: Floats) -> Floats:
        """Return the sums after each example."""
        covered, certain = p > 0, p == 1
        unseen = np.where(covered & ~query, largest, 0.0)
        plain = [np.ones(len(p)), covered, loss / np.where(covered, p, 1.0), loss, unseen, certain * loss]
        terms = np.zeros((len(p), len(self._sums)))
        terms[:, : len(_SUMS)] = np.column_stack(plain)
        low, high = np.split(terms[:, len(_SUMS) :], 2, axis=1)
        coins, passed = covered & ~certain & query, covered & ~query
        low[coins] = gains(p[coins], loss[coins], self._low_rates)
        high[coins] = costs(p[coins], loss[coins], largest[coins], self._high_rates)
        high[passed] = excess(p[passed], largest[passed], self._high_rates)
        return np.asarray(self._sums + terms.cumsum(axis=0))

    def _ends(self, sums: Floats) -> tuple[Floats, Floats]:
        _, covered, _, seen, unseen, certain = sums[:, : len(_SUMS)].T
        gained, paid = np.split(sums[:, len(_SUMS) :], 2, axis=1)
        threshold = math.log(2 / (1 - self.confidence))
        low = certain - root(_LOW_PRIOR + gained, self._low_rates, threshold)
        high = certain + root(_HIGH_PRIOR - paid, self._high_rates, threshold)
        low, high = (np.clip(end, seen, seen + unseen) for end in (low, high))
        high = np.maximum(low, high)  # ends that have crossed are both wrong, the rare event that δ allows
        none = covered == 0
        count = np.where(none, 1.0, covered)
        return np.where(none, 0.0, low / count), np.where(none, self.largest_loss, high / count)

    def _checked(
        self, probability: ArrayLike, query: ArrayLike, loss: ArrayLike, largest_loss: ArrayLike | None
    ) -> tuple[Floats, Bools, Floats, Floats]:
        """Return the columns as vectors, with losses of 0 where none was seen."""
        p = np.atleast_1d(np.asarray(probability, dtype=np.float64))
        most = np.full(p.shape, self.largest_loss) if largest_loss is None else largest_loss
        asked, given, largest = (np.atleast_1d(np.asarray(values)) for values in (query, loss, most))
        for name, column in (("query", asked), ("loss", given), ("largest_loss", largest)):
            if p.ndim != 1 or column.shape != p.shape:
                raise invalid(name, "LossEstimate", f"one per probability, of shape {p.shape}", column.shape)
        if asked.dtype != bool:
            raise invalid("query", "LossEstimate", "an array of bool", f"{asked.dtype} values")
        _refuse(~((p >= 0) & (p <= 1)), p, "probability", "in [0, 1]")
        _refuse(asked & (p == 0), p, "probability", "above 0 where the label was queried")
        _refuse(~asked & (p == 1), p, "probability", "below 1 where the label was not queried")
        _refuse(~((largest >= 0) & (largest < math.inf)), largest, "largest_loss", "finite and at least 0")
        slack = _ROUNDING * largest
        outside = ~((given >= -slack) & (given <= largest + slack))
        remedy = "Losses beyond a bound can be estimated as losses capped there: pass minimum(loss, bound)."
        _refuse(asked & outside, given, "loss", "in [0, largest_loss] where the label was queried", remedy)
        return p, asked, np.clip(np.where(asked, given, 0.0), 0.0, largest), largest.astype(np.float64)


def _as_share(value: Any, parameter: str) -> float:
    share = as_number(value, parameter, "LossEstimate", low=0, high=1)
    if share == 1:
        raise invalid(parameter, "LossEstimate", "in (0, 1)", repr(value))
    return share


def _refuse(odd: Bools, values: Any, parameter: str, allowed: str, remedy: str = "") -> None:
    if odd.any():
        (row,) = np.nonzero(odd)
        raise invalid(parameter, "LossEstimate", allowed, f"{values[row[0]]} at row {row[0]}", remedy)
