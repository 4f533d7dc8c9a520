"""Sequential tests of whether prediction errors are predictable, valid at any stopping time."""

from __future__ import annotations

import numpy as np

from qufur.arrays import Floats

DRIFT, BEND, SKEW, BIAS = range(4)
_ROOT_OF_NORMAL = 0.8222  # E √|e| of a standard normal e


class MisfitTests:
    """Four sequential tests: bets on the sign of a label's error, each placed before the label arrives.

    Write e for the error of a label divided by its scale √(1 + q), and w for a weight that is fixed before
    the label arrives. Assume that, given the past, w·e is positive as often as negative. Then, with S = Σ w e
    and V = Σ w² e², exp(aS − a²V/2) is a supermartingale for every a and for any noise, even one that changes
    over time (de la Peña 1999). The mixture over a ~ N(0, 1/r),

        E = √(r / (V + r)) · exp(S² / (2 (V + r))),

    exceeds 1/δ at *any* time with probability at most δ. The weights are:

    * drift: Σ e_j ⟨x_j, x⟩ over the segment of 16 labels before that of x: recent errors predict this one.
      Only S > 0 counts;
    * bend: ŷ² minus its mean so far, and skew: ŷ³ minus its projection on ŷ: errors are a function of ŷ;
    * bias: 1: labels lie on one side of the predictions.

    Each weight is damped by (1 + 10 q)⁻², because a model that is still learning in direction x has
    systematic errors there. Like e, it is then divided by its root mean square before the segment. It is
    clipped to ±3 and damped by (1 + 10 q)⁻¹ again. V is therefore about the number of labels, and r = 30
    suits some hundred to thousand labels. E is evaluated at the end of every segment and at the last label.

    *Outliers.* The error of a well-specified model is the noise of the label minus the error of θ̂. With about
    normal noise the latter is small wherever bets are large. But an outlier among the first labels, on which
    the bets are tiny, moves θ̂ for hundreds of labels. V therefore includes ten times the excess of the
    squares of such labels, with u = 1 − (1 + 10 q)⁻⁴,

        (Σ u e² − 1.5 s² Σ u)⁺ / mean e²,

    where s = (mean √|e|)² / 0.676 equals σ for normal noise and is robust to outliers. This only lowers E.

    Attributes
    ----------
    peak
        Maximum of log E so far, one per test.
    sums
        S of each test. Its sign is the direction of the errors.
    """

    segment = 16
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
        """Number of tested labels; with outliers among the first labels, the effective number."""
        V = self.variances[BIAS] + self.mixture
        efficiency = V / (V + _excess(self.early, np.array(self.count), self.moments[0]))
        return int(efficiency * max(self.count - self.segment, 0.0))

    def update(self, error: Floats, innovation_scale: Floats, predicted: Floats, drift: Floats) -> None:
        """Test labels that begin at a segment: e, √(1 + q), ŷ and the drift weight of each."""
        e, y = _segments(error), _segments(predicted)
        innovation_scale, drift = _segments(innovation_scale), _segments(drift)
        # Means are over the labels of all segments before.
        before = self.count + self.segment * np.arange(len(e))
        count = np.maximum(before, 1.0)
        square = y**2
        terms = _squares(np.array([e, y, square]))
        totals = _running(self.moments, terms)
        noise, second, fourth = (totals - terms) / count
        damping = 1.0 / (10 * innovation_scale**2 - 9)  # 1/(1 + 10 q)
        w = _weights(y, square, drift, second[:, None], fourth[:, None]) * damping**2
        squares = _squares(w)
        scale = (_running(self.weights, squares) - squares) / count
        # Early weights are tiny: without clipping, the first weights of full size would dominate the sums.
        bets = np.clip(w * _inverse_root(scale)[:, :, None], -3.0, 3.0) * damping
        z = bets * (e * _inverse_root(noise)[:, None])
        S = _running(self.sums, z.sum(axis=2))
        V = _running(self.variances, _squares(z)) + self.mixture
        self.count += len(error)
        u = np.where(innovation_scale > 0, 1 - damping**4, 0.0)
        early_terms = np.array([np.sqrt(np.abs(e)).sum(axis=1), (u * e**2).sum(axis=1), u.sum(axis=1)])
        early = _running(self.early, early_terms)
        V += _excess(early, np.minimum(before + self.segment, self.count), totals[0])
        log = (np.log(self.mixture / V) + S**2 / V) / 2
        log[DRIFT, S[DRIFT] < 0] = 0.0
        self.peak = np.maximum(self.peak, log.max(axis=1, initial=0.0))

    def copy(self) -> MisfitTests:
        """Return an independent copy."""
        return self.restored(self.array().copy())

    def array(self) -> Floats:
        """Return the state of the tests as one array."""
        sums = self.moments, self.weights, self.sums, self.variances, self.peak, self.early
        return np.concatenate([np.array([self.count]), *sums])

    @classmethod
    def restored(cls, array: Floats) -> MisfitTests:
        """Load the tests from an array that `array` returned."""
        tests = cls()
        count, tests.moments, tests.weights, tests.sums, tests.variances, tests.peak, tests.early = np.split(
            array, [1, 4, 8, 12, 16, 20]
        )
        tests.count = float(count[0])
        return tests


def usual_errors(count: float, squares: float) -> Floats:
    """Return `early` for normal noise with Σ e² = `squares` and no early labels."""
    return np.array([count * _ROOT_OF_NORMAL * (squares / max(count, 1.0)) ** 0.25, 0.0, 0.0])


def _weights(y: Floats, square: Floats, drift: Floats, second: Floats, fourth: Floats) -> Floats:
    """Return the undamped weights, one row per test, from ŷ, ŷ² and the means of ŷ² and ŷ⁴ so far."""
    slope = np.divide(fourth, second, out=np.zeros_like(second), where=second > 0)
    return np.array([drift, square - second, y * (square - slope), np.ones_like(y)])


def _excess(early: Floats, count: Floats, squares: Floats) -> Floats:
    """Return the part of V due to outliers among early labels; `squares` is Σ e² over `count` labels."""
    roots, early_squares, weight = early
    expected = 1.5 * (roots / np.maximum(count, 1.0)) ** 4 / _ROOT_OF_NORMAL**4 * weight
    excess = np.maximum(early_squares - expected, 0.0)
    return np.asarray(np.divide(10.0 * excess * count, squares, out=np.zeros_like(excess), where=squares > 0))


def _segments(values: Floats) -> Floats:
    """Return one row per segment. Zeros pad the last row; e = 0 has no effect on the tests."""
    padded = np.append(values, np.zeros(-len(values) % MisfitTests.segment))
    return padded.reshape(-1, MisfitTests.segment)


def _inverse_root(scale: Floats) -> Floats:
    return np.divide(1.0, np.sqrt(scale), out=np.zeros_like(scale), where=scale > 0)


def _squares(rows: Floats) -> Floats:
    return np.asarray(np.einsum("ijk,ijk->ij", rows, rows))


def _running(total: Floats, terms: Floats) -> Floats:
    """Return the running sums of each row, starting at `total`, and add all terms to `total` in place."""
    sums = total[:, None] + np.cumsum(terms, axis=1)
    total[:] += terms.sum(axis=1)
    return np.asarray(sums)
