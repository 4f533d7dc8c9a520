"""Experiments that check the paper's claims: runs, figures and verdicts.

This package and `qufur.theory` are leaves: no other module of the library imports them.
"""

from qufur.experiments.base import Experiment
from qufur.experiments.paper import fig1, fig2, fig3, fig4, libsvm, realizability
from qufur.experiments.theory import THEORY

PARTS: dict[str, tuple[Experiment, ...]] = {
    "fig1": (fig1.EXPERIMENT,),
    "fig2": (fig2.EXPERIMENT,),
    "fig3": (fig3.EXPERIMENT,),
    "fig4": (fig4.EXPERIMENT,),
    "libsvm": (libsvm.EXPERIMENT,),
    "realizability": (realizability.EXPERIMENT,),
    # Every claim of the paper's experiment section that numbers can decide.
    "claims": (fig1.EXPERIMENT, fig3.EXPERIMENT, fig4.EXPERIMENT, realizability.EXPERIMENT),
    "theory": THEORY,
}
"""Experiments of `qufur reproduce`, by the name of the argument."""
