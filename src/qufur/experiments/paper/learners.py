"""Learners of the paper's experiments, configured as in the authors' scripts."""

from __future__ import annotations

from qufur.models import PaperAdam, Ridge, Softmax
from qufur.streams import Abalone, AmazonReviews, CpuSmall, Portraits, RotatedMNIST, Stream


def unit_ridge(stream: Stream, seed: int) -> Ridge:
    """Return the learner of the synthetic data: M₀ = I. Inputs of norm 1 never reach the cap on Δ."""
    return Ridge(stream.dim, regularization=1.0)


def ranged_ridge(stream: AmazonReviews | Abalone | CpuSmall, seed: int) -> Ridge:
    """Return the learner of the other regressions: M₀⁻¹ = I/max‖x‖, Δ without its cap.

    Before the first label it predicts the middle of the labels' range, for ratings 3, as the scripts do.
    """
    return Ridge(stream.dim, regularization=stream.largest_norm, cap=False, label_range=stream.label_range)


def classifier(stream: RotatedMNIST | Portraits, seed: int) -> Softmax:
    """Return the linear classifier that three epochs of Adam train after each label, from random weights."""
    return Softmax(
        stream.dim,
        stream.classes,
        regularization=stream.largest_norm,
        cap=False,
        training=PaperAdam(seed=seed),
    )
