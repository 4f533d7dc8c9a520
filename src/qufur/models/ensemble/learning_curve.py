"""Estimate of an expert's loss had all labels been uniformly sampled, from its learning curve.

*Curve.* An expert that uses only uniformly sampled labels has the loss ℓ(n) with n of them. The examples
that arrive while it has 2^k to 2^(k+1) such labels form octave k. Their mean loss, weighted by inverse
probability, is one point of the curve.

*Shift.* A share s of the labels is uniformly sampled. If all were, the expert would have n/s labels instead
of n. The loss of an example of octave k would then be the value of the curve log₂(1/s) octaves later,
interpolated linearly between points; for s = ½ that is the next octave. The estimate is the mean of these
values over the stream. For all but the last examples it is measured, on later examples of the same stream.
Beyond the last point the curve is assumed to fall half as fast as before it, with a standard error of the
same size: in the next octave a loss proportional to 1/n gains half as much as in the last one, a loss
proportional to 1/√n gains 0.7 times as much, and a loss that has converged gains nothing.

*Standard errors* include the sampling error of the mean of every octave (delta method) and the extrapolated
gain. They are pointwise, not time-uniform: two standard errors cover the truth in about 95 of 100 runs if
the examples are independent.

*Scope.* The estimate concerns one expert, the best of those that use only uniformly sampled labels. A whole
ensemble on uniformly sampled labels may have a lower loss, so a favourable comparison with this expert
proves nothing about such an ensemble.

*No estimate* exists with fewer than three octaves of ten labels each, or if the recorded octaves have a gap,
as in files written by older versions. Under drift the later examples differ from the earlier ones: if they
are harder, additional uniformly sampled labels seem useless. Additional labels do no harm, so the estimate
is at most the present loss.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from qufur.arrays import Floats, check_shapes

MIN_OCTAVES = 3
"""Points that a learning curve needs."""
MIN_LABELS = 10
"""Labels that a point of the curve needs."""


class RandomSamplingLoss(NamedTuple):
    """Loss of an expert had all labels been uniformly sampled.

    Attributes
    ----------
    loss, standard_error
        Estimate and its standard error.
    lead_error
        Standard error of the ensemble's loss minus this loss, estimated from the same labels.
    """

    loss: float
    standard_error: float
    lead_error: float


class LearningCurve:
    """Losses of the ensemble and of its experts on uniformly sampled labels, by octaves of such labels.

    Parameters
    ----------
    experts
        Number of experts that use only uniformly sampled labels.
    """

    def __init__(self, experts: int) -> None:
        # Per octave: labels, uniformly sampled labels, Σ log₂(1 + n); and per expert the first and second
        # moments of (1, its loss, the ensemble's loss)/p, summed over the labels.
        self._labels = np.zeros((0, 3))
        self._first = np.zeros((0, experts, 3))
        self._second = np.zeros((0, experts, 3, 3))

    def update(self, losses: Floats, ensemble: Floats, probability: Floats, at_random: Floats) -> None:
        """Add labels in their order of arrival.

        Parameters
        ----------
        losses, ensemble
            Losses of the experts, (labels, experts), and of the ensemble, (labels,).
        probability
            Query probability of each label.
        at_random
            1 for each uniformly sampled label, 0 for the others.
        """
        earlier = self._labels[:, 1].sum() + at_random.cumsum() - at_random
        logarithms = [math.log2(1 + n) for n in earlier.tolist()]
        octaves = [int(logarithm) for logarithm in logarithms]
        ensemble_losses = np.broadcast_to(ensemble[:, None], losses.shape)
        rows = np.stack([np.ones(losses.shape), losses, ensemble_losses], axis=2) / probability[:, None, None]
        labels = np.column_stack([np.ones(len(losses)), at_random, logarithms])
        self._labels = _add_to_octaves(self._labels, octaves, labels)
        self._first = _add_to_octaves(self._first, octaves, rows)
        self._second = _add_to_octaves(self._second, octaves, rows[:, :, :, None] * rows[:, :, None, :])

    def if_all_random(self, expert: int, share: float, labels: int) -> RandomSamplingLoss | None:
        """Estimate the loss had all labels been uniformly sampled; None without enough labels.

        Parameters
        ----------
        expert
            Index among the experts on uniformly sampled labels.
        share
            s, the share of uniformly sampled labels.
        labels
            Number of labels in the other loss records. If the curve has fewer, octaves are missing.
        """
        octave, first, second = self._points(expert)
        if len(first) < MIN_OCTAVES or self._labels[:, 0].sum() < labels:
            return None
        weight, (mean, ensemble) = first[:, 0], first[:, 1:].T / first[:, 0]
        fraction, last_step = weight / weight.sum(), octave[-1] - octave[-2]
        gain = max(mean[-2] - mean[-1], 0.0) / last_step
        shifted = octave - math.log2(share)
        beyond = np.maximum(shifted - octave[-1], 0.0)
        # Weights of the points of the curve; beyond the last point the slope is half of the slope before it.
        points = np.array([np.interp(shifted, octave, point) for point in np.eye(len(octave))])
        if gain > 0:
            points[-2:] += np.outer([-1, 1], beyond) / 2 / last_step
        counts, extrapolated = points @ fraction, fraction @ beyond * gain / 2
        # Gradients of the estimate and of the lead with respect to the sums (delta method).
        zeros = np.zeros_like(fraction)
        loss = np.column_stack([counts * mean, -counts, zeros])
        lead = loss + np.column_stack([-fraction * ensemble, zeros, fraction])
        errors = (
            math.hypot(extrapolated, math.sqrt(max(np.einsum("ki,kij,kj->", slope, second, slope), 0.0)))
            for slope in (loss / weight[:, None], lead / weight[:, None])
        )
        return RandomSamplingLoss(max(float(min(counts @ mean, fraction @ mean)), 0.0), *errors)

    def _points(self, expert: int) -> tuple[Floats, Floats, Floats]:
        """Return mean octave and sums of groups of octaves; small octaves join their neighbours."""
        groups: list[list[int]] = [[]]
        for octave in range(len(self._labels)):
            if self._labels[groups[-1], 0].sum() >= MIN_LABELS:
                groups.append([])
            groups[-1].append(octave)
        if len(groups) > 1 and self._labels[groups[-1], 0].sum() < MIN_LABELS:
            groups[-2:] = [groups[-2] + groups[-1]]
        labels, _, logarithms = np.array([self._labels[group].sum(axis=0) for group in groups]).T
        first = np.array([self._first[group, expert].sum(axis=0) for group in groups])
        second = np.array([self._second[group, expert].sum(axis=0) for group in groups])
        return logarithms / np.maximum(labels, 1.0), first, second

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the state as named arrays."""
        return {"labels": self._labels, "first": self._first, "second": self._second}

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load the state that `arrays` returned; files written by older versions have none."""
        if arrays:
            experts = self._first.shape[1]
            axes: Any = {"labels": ("o", 3), "first": ("o", "e", 3), "second": ("o", "e", 3, 3)}
            check_shapes(arrays, axes, e=experts)
            self._labels, self._first, self._second = (arrays[name] for name in axes)


def _add_to_octaves(sums: Floats, octaves: list[int], values: Floats) -> Floats:
    """Return the sums per octave with values added in order; octaves may be new."""
    extended = np.zeros((max(len(sums), octaves[-1] + 1), *sums.shape[1:]))
    extended[: len(sums)] = sums
    np.add.at(extended, octaves, values)
    return extended
