"""The theorems checked by numbers, one file each."""

from qufur.experiments.theory import tradeoff

THEORY = (tradeoff.EXPERIMENT,)
