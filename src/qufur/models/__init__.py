"""Models: what is learned, and how sure it is. Listing a model here is all that is needed."""

from qufur.models.base import Model
from qufur.models.confidence_set import ConfidenceSet
from qufur.models.kernel_ridge import KernelRidge
from qufur.models.ridge import Ridge
from qufur.models.softmax import FisherSoftmax, Softmax
from qufur.models.training.adam import PaperAdam
from qufur.models.training.converged import Converged

MODELS: tuple[type[Model], ...] = (Ridge, KernelRidge, ConfidenceSet, Softmax, FisherSoftmax)

__all__ = [
    "MODELS",
    "ConfidenceSet",
    "Converged",
    "FisherSoftmax",
    "KernelRidge",
    "Model",
    "PaperAdam",
    "Ridge",
    "Softmax",
]
