"""Learn online from a stream when labels cost money and the domains shift without notice."""

from typing import TYPE_CHECKING

from qufur.answer import Answer, Answers
from qufur.errors import OutlierWarning
from qufur.learner import Learner
from qufur.models import Ridge
from qufur.online_to_batch import online_to_batch
from qufur.registry import lazily
from qufur.rules import DomainOracle, FixedBudget, Greedy, Paced, QuFUR, Steady, Threshold, Uniform
from qufur.run import run
from qufur.trace import Trace

if TYPE_CHECKING:
    from qufur import cluster, hypotheses, labelling, planning, streams, theory
    from qufur.models import (
        ConfidenceSet,
        Converged,
        Experts,
        FisherSoftmax,
        KernelRidge,
        PaperAdam,
        Refit,
        Softmax,
    )
    from qufur.planning import plan
else:
    _ROOMS = "cluster", "hypotheses", "labelling", "planning", "streams", "theory"
    # The others come when they are named: `import qufur` loads what a learner needs.
    __getattr__ = lazily(
        __name__,
        {
            **dict.fromkeys(
                [
                    "ConfidenceSet",
                    "Converged",
                    "Experts",
                    "FisherSoftmax",
                    "KernelRidge",
                    "PaperAdam",
                    "Refit",
                    "Softmax",
                ],
                "qufur.models",
            ),
            "plan": "qufur.planning",
            **{
                name: f"qufur.{name}"
                for name in ("cluster", "hypotheses", "labelling", "planning", "streams", "theory")
            },
        },
    )

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Answers",
    "ConfidenceSet",
    "Converged",
    "DomainOracle",
    "Experts",
    "FisherSoftmax",
    "FixedBudget",
    "Greedy",
    "KernelRidge",
    "Learner",
    "OutlierWarning",
    "Paced",
    "PaperAdam",
    "QuFUR",
    "Refit",
    "Ridge",
    "Softmax",
    "Steady",
    "Threshold",
    "Trace",
    "Uniform",
    "cluster",
    "hypotheses",
    "labelling",
    "online_to_batch",
    "plan",
    "planning",
    "run",
    "streams",
    "theory",
]
