"""The theorems checked by numbers, one file each."""

from qufur.experiments.theory import batch, bayes_risk, lower_bound, regret_definition, tradeoff

THEORY = (
    tradeoff.EXPERIMENT,
    lower_bound.EXPERIMENT,
    bayes_risk.EXPERIMENT,
    regret_definition.EXPERIMENT,
    batch.EXPERIMENT,
)
