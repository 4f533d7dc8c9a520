"""Fifty rows of a pool, chosen at once, against fifty at random; not in the paper."""

from qufur.experiments.pool import study

POOL = (study.EXPERIMENT,)
