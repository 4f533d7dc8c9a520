"""Models: predictions and uncertainties Δ. A new model needs only an entry in `MODELS`."""

from typing import TYPE_CHECKING

from qufur._internal.registry import lazy_attributes
from qufur.models.base import Model
from qufur.models.ridge import Ridge

if TYPE_CHECKING:
    from qufur.models._all import MODELS
    from qufur.models.confidence_set import ConfidenceSet
    from qufur.models.ensemble import Experts, Refit
    from qufur.models.kernel_ridge import KernelRidge
    from qufur.models.softmax import FisherSoftmax, Softmax
    from qufur.models.training.adam import PaperAdam
    from qufur.models.training.converged import Converged
else:
    __getattr__ = lazy_attributes(
        __name__,
        {
            "ConfidenceSet": "qufur.models.confidence_set",
            "Converged": "qufur.models.training.converged",
            "Experts": "qufur.models.ensemble",
            "FisherSoftmax": "qufur.models.softmax",
            "KernelRidge": "qufur.models.kernel_ridge",
            "MODELS": "qufur.models._all",
            "PaperAdam": "qufur.models.training.adam",
            "Refit": "qufur.models.ensemble",
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
__dir__ = __all__.copy
