"""Study of the shift signal: detection and false alarms; not in the paper."""

from studies.shifts import inputs, real, synthetic

SHIFTS = (synthetic.EXPERIMENT, real.EXPERIMENT, inputs.EXPERIMENT)
