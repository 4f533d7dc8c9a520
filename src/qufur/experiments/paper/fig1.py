"""Figure 1: loss against labels on the four datasets."""

from __future__ import annotations

from qufur.experiments.paper.learners import classifier, ranged_ridge, unit_ridge
from qufur.experiments.paper.panels import Panel, figure_of
from qufur.streams import AmazonReviews, HiddenDomains, Portraits, RotatedMNIST

REGRET = {"regret": "regret R", "loss": "squared loss on noisy labels"}
ERROR = {"error": "average 0-1 error"}
SYNTHETIC_ALPHAS = tuple(2.0**k for k in range(-8, 6))
REVIEW_ALPHAS = tuple(2.0**k for k in range(-8, 4))
DIGIT_ALPHAS = (0.0125, 0.025, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0)
FACE_ALPHAS = (0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.0, 1.5, 2.5, 5.0)

PANELS = {
    # The authors' scripts and the paper's text disagree about durations, dimensions and noise: both are run.
    "synthetic": Panel(
        "Synthetic, authors' scripts", HiddenDomains.scripts, unit_ridge, SYNTHETIC_ALPHAS, REGRET, repeats=4
    ),
    "amazon": Panel("Amazon reviews", AmazonReviews.main, ranged_ridge, REVIEW_ALPHAS),
    "mnist": Panel("Rotated MNIST", RotatedMNIST.main, classifier, DIGIT_ALPHAS, ERROR),
    "portraits": Panel("Portraits", Portraits.main, classifier, FACE_ALPHAS, ERROR),
    "synthetic-text": Panel(
        "Synthetic, paper's text", HiddenDomains.text, unit_ridge, SYNTHETIC_ALPHAS, REGRET, repeats=4
    ),
}

EXPERIMENT = figure_of("fig1", "Figure 1: loss against labels", "Section 6, Figure 1", PANELS)
