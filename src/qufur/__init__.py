"""Learn online from a stream when labels cost money and the domains shift without notice."""

from typing import TYPE_CHECKING

from qufur.answer import Answer, Answers
from qufur.errors import OutlierWarning
from qufur.estimates.report import Report
from qufur.learner import Learner
from qufur.models import Ridge
from qufur.online_to_batch import Mixture, online_to_batch
from qufur.registry import lazily
from qufur.rules import DomainOracle, FixedBudget, Greedy, Paced, QuFUR, Steady, Threshold, Uniform
from qufur.run import run
from qufur.trace import Totals, Trace

if TYPE_CHECKING:
    from qufur import hypotheses, planning, streams, theory
    from qufur.models import ConfidenceSet, Converged, Experts, FisherSoftmax, KernelRidge, PaperAdam, Refit, Softmax
    from qufur.planning import Forecast, Part, Plan, Spread, plan
else:
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
            **dict.fromkeys(["Forecast", "Part", "Plan", "Spread", "plan"], "qufur.planning"),
            **{name: f"qufur.{name}" for name in ("hypotheses", "planning", "streams", "theory")},
        },
    )

__version__ = "0.1.0.dev0"

__all__ = [
    "Answer",
    "Answers",
    "ConfidenceSet",
    "Converged",
    "DomainOracle",
    "Experts",
    "FisherSoftmax",
    "FixedBudget",
    "Forecast",
    "Greedy",
    "KernelRidge",
    "Learner",
    "Mixture",
    "OutlierWarning",
    "Paced",
    "PaperAdam",
    "Part",
    "Plan",
    "QuFUR",
    "Refit",
    "Report",
    "Ridge",
    "Softmax",
    "Spread",
    "Steady",
    "Threshold",
    "Totals",
    "Trace",
    "Uniform",
    "hypotheses",
    "online_to_batch",
    "plan",
    "planning",
    "run",
    "streams",
    "theory",
]
