"""Rules that are given a budget, judged against α tuned in hindsight; not in the paper."""

from qufur.experiments.pacing import known_horizon, real, unknown_horizon

PACING = (known_horizon.EXPERIMENT, unknown_horizon.EXPERIMENT, real.EXPERIMENT)
