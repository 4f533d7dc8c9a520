"""Learn online from a stream when labels cost money and the domains shift without notice."""

from qufur import hypotheses, streams, theory
from qufur.answer import Answer, Answers
from qufur.estimates.report import Report
from qufur.learner import Learner
from qufur.models import (
    ConfidenceSet,
    Converged,
    FisherSoftmax,
    KernelRidge,
    PaperAdam,
    Ridge,
    Softmax,
)
from qufur.online_to_batch import Mixture, online_to_batch
from qufur.planning.outcome import Forecast, Part, Plan, Spread
from qufur.planning.search import plan
from qufur.rules import DomainOracle, FixedBudget, Greedy, Paced, QuFUR, Threshold, Uniform
from qufur.run import run
from qufur.trace import Totals, Trace

__version__ = "0.1.0.dev0"

__all__ = [
    "Answer",
    "Answers",
    "ConfidenceSet",
    "Converged",
    "DomainOracle",
    "FisherSoftmax",
    "FixedBudget",
    "Forecast",
    "Greedy",
    "KernelRidge",
    "Learner",
    "Mixture",
    "Paced",
    "PaperAdam",
    "Part",
    "Plan",
    "QuFUR",
    "Report",
    "Ridge",
    "Softmax",
    "Spread",
    "Threshold",
    "Totals",
    "Trace",
    "Uniform",
    "hypotheses",
    "online_to_batch",
    "plan",
    "run",
    "streams",
    "theory",
]
