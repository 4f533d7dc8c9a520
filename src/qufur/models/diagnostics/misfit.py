"""Tests of whether a label's error could have been foreseen, valid at all times."""

from __future__ import annotations

import numpy as np

from qufur.arrays import Floats

DRIFT, BEND, SKEW, BIAS = range(4)
_ROOT_OF_NORMAL = 0.8222  # E √|e| of a standard normal e


class MisfitTests:
    """Four bets, each placed before a label comes, on the sign of its error.

    Let e be a label's error in its own spread √(1 + q), and w a weight known before the label. Where w·e is
    as often above 0 as below whatever came before, then with S = Σ w e and V = Σ w² e² and whatever the
    noise, even one that changes, exp(aS − a²V/2) is a supermartingale for every a (de la Peña 1999). Mixed
    over a ~ N(0, 1/r),

        E = √(r / (V + r)) · exp(S² / (2 (V + r)))

    exceeds 1/δ at *any* time with probability at most δ. The weights:

    * drift: Σ e_j ⟨x_j, x⟩ over the stretch of 16 labels before that of x: recent errors predict this one.
      Only S > 0 counts;
    * bend: ŷ² less its mean so far, and skew: ŷ³ less its part along ŷ: errors are a function of ŷ;
    * bias: 1: labels lie to one side.

    Each is damped by (1 + 10 q)⁻², since a model that is still learning in direction x errs there
    systematically, divided by its root mean square before the stretch, as e is, kept within ±3, and damped
    by (1 + 10 q)⁻¹ again: V is about the number of labels, and r = 30 suits some hundred to thousand of them.
    E is looked at whenever a stretch is full, and at the end.

    *Outliers.* The error of a model that fits is that of the label less that of θ̂. Where noise is about
    normal the latter is small wherever bets are not; but an outlier among the first labels, on which hardly
    anything is bet, moves θ̂ for hundreds of labels. So V counts ten times what the squares of such labels,
    with u = 1 − (1 + 10 q)⁻⁴, have too many,

        (Σ u e² − 1.5 s² Σ u)⁺ / mean e²,

    where s = (mean √|e|)² / 0.676 is σ if noise is normal, and hardly moved by outliers. E only falls by it.

    Attributes
    ----------
    peak
        log E at its highest so far, one per test.
    sums
        S of each test: its sign says to which side errors went.
    """

    stretch = 16
    mixture = 30.0

    def __init__(self) -> None:
        self.count = 0.0
        self.moments = np.zeros(3)  # Σ e², Σ ŷ², Σ ŷ⁴
        self.weights = np.zeros(4)  # Σ w²
        self.sums = np.zeros(4)
        self.variances = np.zeros(4)
        self.peak = np.zeros(4)
        self.early = np.zeros(3)  # Σ √|e|, Σ u e², Σ u

    @property
    def tested(self) -> int:
        """How many labels were bet on; or how many these are worth, where outliers count against the bets."""
        V = self.variances[BIAS] + self.mixture
        worth = V / (V + _excess(self.early, np.array(self.count), self.moments[0]))
        return int(worth * max(self.count - self.stretch, 0.0))

    def update(self, error: Floats, innovation_scale: Floats, predicted: Floats, drift: Floats) -> None:
        """Bet on labels from the start of a stretch on: e, √(1 + q), ŷ and the drift weight of each."""
        e, innovation_scale, y, drift = (
            _stretches(values) for values in (error, innovation_scale, predicted, drift)
        )
        # Means are those before a stretch, over labels that came in full stretches.
        before = self.count + self.stretch * np.arange(len(e))
        count = np.maximum(before, 1.0)
        square = y**2
        terms = _squares(np.array([e, y, square]))
        totals = _running(self.moments, terms)
        noise, second, fourth = (totals - terms) / count
        known = 1.0 / (10 * innovation_scale**2 - 9)  # 1/(1 + 10 q)
        w = _weights(y, square, drift, second[:, None], fourth[:, None]) * known**2
        scale = _before(self.weights, _squares(w)) / count
        # Early weights are tiny: without a bound the first ones of full size would outweigh all others.
        bets = np.clip(w * _inverse_root(scale)[:, :, None], -3.0, 3.0) * known
        z = bets * (e * _inverse_root(noise)[:, None])
        S = _running(self.sums, z.sum(axis=2))
        V = _running(self.variances, _squares(z)) + self.mixture
        self.count += len(error)
        early = _running(self.early, _early(e, np.where(innovation_scale > 0, 1 - known**4, 0.0)))
        V += _excess(early, np.minimum(before + self.stretch, self.count), totals[0])
        log = (np.log(self.mixture / V) + S**2 / V) / 2
        log[DRIFT, S[DRIFT] < 0] = 0.0
        self.peak = np.maximum(self.peak, log.max(axis=1, initial=0.0))

    def copy(self) -> MisfitTests:
        """Return an independent copy."""
        return self.restored(self.array().copy())

    def array(self) -> Floats:
        """Return everything the tests remember."""
        sums = self.moments, self.weights, self.sums, self.variances, self.peak, self.early
        return np.concatenate([np.array([self.count]), *sums])

    @classmethod
    def restored(cls, array: Floats) -> MisfitTests:
        """Return what `array` described."""
        tests = cls()
        count, tests.moments, tests.weights, tests.sums, tests.variances, tests.peak, tests.early = np.split(
            array, [1, 4, 8, 12, 16, 20]
        )
        tests.count = float(count[0])
        return tests


def usual_errors(count: float, squares: float) -> Floats:
    """Return what the tests would remember of labels with Σ e² = `squares`, none early, of normal noise."""
    return np.array([count * _ROOT_OF_NORMAL * (squares / max(count, 1.0)) ** 0.25, 0.0, 0.0])


def _weights(y: Floats, square: Floats, drift: Floats, second: Floats, fourth: Floats) -> Floats:
    """Return the weights before damping, one row per test, from ŷ, ŷ² and the means of ŷ² and ŷ⁴ before."""
    along = np.divide(fourth, second, out=np.zeros_like(second), where=second > 0)
    return np.array([drift, square - second, y * (square - along), np.ones_like(y)])


def _early(e: Floats, u: Floats) -> Floats:
    """Return what each stretch adds to Σ √|e|, Σ u e² and Σ u."""
    return np.array([np.sqrt(np.abs(e)).sum(axis=1), (u * e**2).sum(axis=1), u.sum(axis=1)])


def _excess(early: Floats, count: Floats, squares: Floats) -> Floats:
    """Return what V counts for outliers among early labels, after so many labels of such a Σ e²."""
    roots, found, weight = early
    usual = 1.5 * (roots / np.maximum(count, 1.0)) ** 4 / _ROOT_OF_NORMAL**4 * weight
    over = np.maximum(found - usual, 0.0)
    return np.asarray(np.divide(10.0 * over * count, squares, out=np.zeros_like(over), where=squares > 0))


def _stretches(values: Floats) -> Floats:
    """Return one row per stretch; where labels are missing from the last, e = 0 makes no bet."""
    whole = -(-len(values) // MisfitTests.stretch) * MisfitTests.stretch
    padded = values if len(values) == whole else np.append(values, np.zeros(whole - len(values)))
    return padded.reshape(-1, MisfitTests.stretch)


def _inverse_root(scale: Floats) -> Floats:
    return np.divide(1.0, np.sqrt(scale), out=np.zeros_like(scale), where=scale > 0)


def _squares(rows: Floats) -> Floats:
    return np.asarray(np.einsum("ijk,ijk->ij", rows, rows))


def _running(total: Floats, terms: Floats) -> Floats:
    """Return the running sums of each row from `total` on, and move `total` to their end."""
    sums = total[:, None] + np.cumsum(terms, axis=1)
    total[:] += terms.sum(axis=1)
    return np.asarray(sums)


def _before(total: Floats, terms: Floats) -> Floats:
    """Return the running sums before each term."""
    return _running(total, terms) - terms
