"""What the signal of shifts finds, and when it is wrong; not in the paper."""

from qufur.experiments.shifts import inputs, real, synthetic

SHIFTS = (synthetic.EXPERIMENT, real.EXPERIMENT, inputs.EXPERIMENT)
