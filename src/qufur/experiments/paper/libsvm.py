"""Loss against labels on two LIBSVM regression datasets, which have no domains."""

from __future__ import annotations

from qufur.experiments.paper.learners import ranged_ridge
from qufur.experiments.paper.panels import Panel, figure_of
from qufur.streams import Abalone, CpuSmall

ALPHAS = tuple(4.0**k for k in range(-4, 8))
MEAN_LOSS = {"error": "mean squared loss"}

PANELS = {
    "abalone": Panel("Abalone", lambda seed: Abalone(seed=seed), ranged_ridge, ALPHAS, MEAN_LOSS),
    "cpusmall": Panel("Cpusmall", lambda seed: CpuSmall(seed=seed), ranged_ridge, ALPHAS, MEAN_LOSS),
}

EXPERIMENT = figure_of("libsvm", "LIBSVM sets: loss against labels", "the authors' scripts", PANELS)
