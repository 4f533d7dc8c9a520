"""Studies behind the numbers of the manual; `python -m studies` runs them. They are not in the package."""

from qufur.experiments.base import Experiment
from studies.pacing import PACING
from studies.pool import POOL
from studies.real import REAL
from studies.shifts import SHIFTS

STUDIES: dict[str, tuple[Experiment, ...]] = {"pacing": PACING, "shifts": SHIFTS, "real": REAL, "pool": POOL}
"""Experiments of `python -m studies`, by the name of the argument."""
