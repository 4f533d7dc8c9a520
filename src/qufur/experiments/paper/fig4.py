"""Figure 4: loss against labels for other orders and lengths of domains."""

from __future__ import annotations

from qufur.experiments.paper.fig1 import DIGIT_ALPHAS, ERROR, FACE_ALPHAS, REVIEW_ALPHAS
from qufur.experiments.paper.learners import classifier, ranged_ridge
from qufur.experiments.paper.panels import Panel, figure_of
from qufur.streams import AmazonReviews, Portraits, RotatedMNIST

PANELS = {
    "amazon-reversed": Panel("Amazon, reversed", AmazonReviews.reversed, ranged_ridge, REVIEW_ALPHAS),
    "mnist-reversed": Panel("MNIST 125/250/500", RotatedMNIST.reversed, classifier, DIGIT_ALPHAS, ERROR),
    "portraits-reversed": Panel("Portraits 32 to 512", Portraits.reversed, classifier, FACE_ALPHAS, ERROR),
    "amazon-shuffled": Panel(
        "Amazon, shuffled", AmazonReviews.shuffled, ranged_ridge, REVIEW_ALPHAS, exceptions=["Greedy"]
    ),
    "mnist-interleaved": Panel(
        "MNIST, interleaved", RotatedMNIST.interleaved, classifier, DIGIT_ALPHAS, ERROR
    ),
    "portraits-equal": Panel("Portraits 5 × 200", Portraits.equal, classifier, FACE_ALPHAS, ERROR),
}

EXPERIMENT = figure_of("fig4", "Figure 4: other orders and lengths", "Appendix, Figure 4", PANELS)
