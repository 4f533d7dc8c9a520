"""Experiments that check the paper by numbers: what is run, what is drawn, and what it says of each claim."""

from qufur.experiments.base import Experiment
from qufur.experiments.pacing import PACING
from qufur.experiments.paper import fig1, fig2, fig3, fig4, libsvm, realizability
from qufur.experiments.pool import POOL
from qufur.experiments.real import REAL
from qufur.experiments.shifts import SHIFTS
from qufur.experiments.theory import THEORY

PARTS: dict[str, tuple[Experiment, ...]] = {
    "fig1": (fig1.EXPERIMENT,),
    "fig2": (fig2.EXPERIMENT,),
    "fig3": (fig3.EXPERIMENT,),
    "fig4": (fig4.EXPERIMENT,),
    "libsvm": (libsvm.EXPERIMENT,),
    "realizability": (realizability.EXPERIMENT,),
    # Every sentence of the paper's experiments that numbers can decide.
    "claims": (fig1.EXPERIMENT, fig3.EXPERIMENT, fig4.EXPERIMENT, realizability.EXPERIMENT),
    "theory": THEORY,
    "pacing": PACING,
    "shifts": SHIFTS,
    "real": REAL,
    "pool": POOL,
}
"""What `qufur reproduce` can be asked for."""

OF_THE_PAPER = tuple(name for name in PARTS if name not in ("pacing", "shifts", "real", "pool"))
"""What it runs if it is asked for nothing."""
