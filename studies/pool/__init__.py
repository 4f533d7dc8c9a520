"""Study of fifty rows chosen from a pool in one batch, against fifty random rows; not in the paper."""

from studies.pool import study

POOL = (study.EXPERIMENT,)
