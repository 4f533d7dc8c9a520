"""Numerical checks of the theorems, one module each."""

from qufur.experiments.theory import (
    batch,
    bayes_risk,
    budgets,
    kernel,
    lower_bound,
    nonlinear,
    oracle,
    regret_definition,
    subsequences,
    tradeoff,
)

THEORY = (
    tradeoff.EXPERIMENT,
    budgets.EXPERIMENT,
    subsequences.EXPERIMENT,
    oracle.EXPERIMENT,
    lower_bound.EXPERIMENT,
    bayes_risk.EXPERIMENT,
    regret_definition.EXPERIMENT,
    batch.EXPERIMENT,
    kernel.EXPERIMENT,
    nonlinear.EXPERIMENT,
)
