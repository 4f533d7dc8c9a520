"""Models: what is learned, and how sure it is. Listing a model in `MODELS` is all that is needed."""

from typing import TYPE_CHECKING

from qufur.models.base import Model
from qufur.models.ridge import Ridge
from qufur.registry import lazily

if TYPE_CHECKING:
    from qufur.models.confidence_set import ConfidenceSet
    from qufur.models.experts import Experts, Refit
    from qufur.models.kernel_ridge import KernelRidge
    from qufur.models.listed import MODELS
    from qufur.models.softmax import FisherSoftmax, Softmax
    from qufur.models.training.adam import PaperAdam
    from qufur.models.training.converged import Converged
else:
    __getattr__ = lazily(
        __name__,
        {
            "ConfidenceSet": "qufur.models.confidence_set",
            "Converged": "qufur.models.training.converged",
            "Experts": "qufur.models.experts",
            "FisherSoftmax": "qufur.models.softmax",
            "KernelRidge": "qufur.models.kernel_ridge",
            "MODELS": "qufur.models.listed",
            "PaperAdam": "qufur.models.training.adam",
            "Refit": "qufur.models.experts",
            "Softmax": "qufur.models.softmax",
        },
    )

__all__ = [
    "MODELS",
    "ConfidenceSet",
    "Converged",
    "Experts",
    "FisherSoftmax",
    "KernelRidge",
    "Model",
    "PaperAdam",
    "Refit",
    "Ridge",
    "Softmax",
]
