"""The theorems checked by numbers, one file each."""

from qufur.experiments.theory import budgets, oracle, subsequences, tradeoff

THEORY = (
    tradeoff.EXPERIMENT,
    budgets.EXPERIMENT,
    subsequences.EXPERIMENT,
    oracle.EXPERIMENT,
)
