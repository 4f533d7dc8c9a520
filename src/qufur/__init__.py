"""Active online learning from streams with hidden domain shifts and a label budget."""

from typing import TYPE_CHECKING

from qufur._internal.registry import lazy_attributes
from qufur.answer import Answer, Answers
from qufur.errors import OutlierWarning
from qufur.learner import Learner
from qufur.models import Ridge
from qufur.online_to_batch import online_to_batch
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
__dir__ = __all__.copy

if not TYPE_CHECKING:
    _MODULES = ("cluster", "hypotheses", "labelling", "planning", "streams", "theory")
    _MODELS = set(__all__) - {*globals(), *_MODULES, "plan"}
    # Imported on first use, so that `import qufur` loads only what a learner needs.
    __getattr__ = lazy_attributes(
        __name__,
        dict.fromkeys(_MODELS, "qufur.models")
        | {name: f"qufur.{name}" for name in _MODULES}
        | {"plan": "qufur.planning"},
    )
