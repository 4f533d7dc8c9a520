"""Study of budget rules against α tuned in hindsight; not in the paper."""

from studies.pacing import known_horizon, real, unknown_horizon

PACING = (known_horizon.EXPERIMENT, unknown_horizon.EXPERIMENT, real.EXPERIMENT)
