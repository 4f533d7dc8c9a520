"""What experts on labels at random would lose if all labels were at random, from how fast they learn.

*The curve.* With n labels at random such an expert loses ℓ(n). The examples that came while it had 2^k to
2^(k+1) of them make octave k, and their mean loss, by inverse probability, is one point of the curve.

*The shift.* A share s of the labels is at random. If all were, the expert would have n/s where it has n, and
so the loss of an example of octave k would be that of the curve log₂(1/s) octaves later, linearly between
points; for half of the labels that is the next octave. The mean over the stream of these is the estimate.
For all but the last examples it is measured, on later ones of the same stream. Beyond the last point the
curve falls half as fast as before it, within a standard error of as much: a loss that falls with 1/n gains
half in the next octave, one that falls with 1/√n 0.7, and one that has arrived nothing.

*Standard errors* have the sampling error of every octave's means (delta method) and the gain that nobody has
seen. They are of the usual kind: two of them hold in about 95 of 100 runs, at one look and not at all times,
if examples do not depend on each other.

*What it is not.* It is about this one expert, the best of the few that learn from labels at random alone. A
whole committee on labels at random may do better, so that not to be beaten by it proves nothing.

*When it cannot be said*: with fewer than three octaves of ten labels, or if the record of them has a gap, as
for files of before. Where the world drifts, later examples are others: if they are harder, labels at random
look as if they were of no use. More of them do no harm, so the estimate is at most what is lost now.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from qufur.arrays import Floats, check_shapes

FEWEST_OCTAVES, FEWEST_LABELS = 3, 10


class AllAtRandom(NamedTuple):
    """The loss of an expert if all labels were at random, its standard error, and that of the lead on it.

    The lead is the committee's loss less this one, from the same labels.
    """

    loss: float
    standard_error: float
    lead_error: float


class LearningCurve:
    """Losses of experts on labels at random and of their committee, by octaves of such labels.

    Parameters
    ----------
    experts
        How many experts learn from labels at random.
    """

    def __init__(self, experts: int) -> None:
        self._labels = np.zeros((0, 3))  # of each octave: labels, those at random, and sums of log₂(1 + n)
        self._first = np.zeros((0, experts, 3))
        self._second = np.zeros((0, experts, 3, 3))

    def take_in(self, losses: Floats, committee: Floats, probability: Floats, at_random: Floats) -> None:
        """Take note of the experts' losses, (labels, experts), and the committee's on labels."""
        earlier = self._labels[:, 1].sum() + at_random.cumsum() - at_random
        logarithms = [math.log2(1 + n) for n in earlier.tolist()]
        octaves = [int(logarithm) for logarithm in logarithms]
        beside = np.broadcast_to(committee[:, None], losses.shape)
        rows = np.stack([np.ones(losses.shape), losses, beside], axis=2) / probability[:, None, None]
        labels = np.column_stack([np.ones(len(losses)), at_random, logarithms])
        self._labels = _plus(self._labels, octaves, labels)
        self._first = _plus(self._first, octaves, rows)
        self._second = _plus(self._second, octaves, rows[:, :, :, None] * rows[:, :, None, :])

    def with_all(self, expert: int, share: float, labels: int) -> AllAtRandom | None:
        """Return what is lost if all labels are at random; None where it cannot be said.

        Parameters
        ----------
        expert
            Which of those on labels at random.
        share
            s, how many of the labels are.
        labels
            How many the other records rest on: if these are more than here, there is a gap.
        """
        place, first, second = self._points(expert)
        if len(first) < FEWEST_OCTAVES or self._labels[:, 0].sum() < labels:
            return None
        weight, (mean, committee) = first[:, 0], first[:, 1:].T / first[:, 0]
        part, gain = weight / weight.sum(), max(mean[-2] - mean[-1], 0.0) / (place[-1] - place[-2])
        later = place - math.log2(share)
        beyond = np.maximum(later - place[-1], 0.0)
        # How much each point of the curve counts; the slope beyond the last is half of that before it.
        points = np.array([np.interp(later, place, point) for point in np.eye(len(place))])
        points[-2:] += np.outer([-1, 1], beyond) * (gain > 0) / 2 / (place[-1] - place[-2])
        counts, unseen = points @ part, part @ beyond * gain / 2
        own = np.column_stack([counts * mean, -counts, 0 * part])
        lead = own + np.column_stack([-part * committee, 0 * part, part])
        errors = (
            math.hypot(unseen, math.sqrt(max(np.einsum("ki,kij,kj->", slope, second, slope), 0.0)))
            for slope in (own / weight[:, None], lead / weight[:, None])
        )
        return AllAtRandom(max(float(min(counts @ mean, part @ mean)), 0.0), *errors)

    def _points(self, expert: int) -> tuple[Floats, Floats, Floats]:
        """Return place and sums of octaves of enough labels each: early ones, and a last one, join others."""
        groups: list[list[int]] = [[]]
        for octave in range(len(self._labels)):
            if self._labels[groups[-1], 0].sum() >= FEWEST_LABELS:
                groups.append([])
            groups[-1].append(octave)
        if len(groups) > 1 and self._labels[groups[-1], 0].sum() < FEWEST_LABELS:
            groups[-2:] = [groups[-2] + groups[-1]]
        labels, _, logarithms = np.array([self._labels[group].sum(axis=0) for group in groups]).T
        first = np.array([self._first[group, expert].sum(axis=0) for group in groups])
        second = np.array([self._second[group, expert].sum(axis=0) for group in groups])
        return logarithms / np.maximum(labels, 1.0), first, second

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return everything as named arrays."""
        return {"labels": self._labels, "first": self._first, "second": self._second}

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over what `arrays` returned; files of before have none."""
        if arrays:
            experts = self._first.shape[1]
            axes: Any = {"labels": ("o", 3), "first": ("o", "e", 3), "second": ("o", "e", 3, 3)}
            check_shapes(arrays, axes, e=experts)
            self._labels, self._first, self._second = (arrays[name] for name in axes)


def _plus(sums: Floats, octaves: list[int], values: Floats) -> Floats:
    """Return the sums with values added, one after the other, to those of octaves, which may be new."""
    wide = np.zeros((max(len(sums), octaves[-1] + 1), *sums.shape[1:]))
    wide[: len(sums)] = sums
    np.add.at(wide, octaves, values)
    return wide
