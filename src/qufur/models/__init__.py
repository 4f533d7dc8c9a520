"""Models: what is learned, and how sure it is. Listing a model here is all that is needed."""

from qufur.models.base import Model
from qufur.models.confidence_set import ConfidenceSet
from qufur.models.kernel_ridge import KernelRidge
from qufur.models.ridge import Ridge

MODELS: tuple[type[Model], ...] = (Ridge, KernelRidge, ConfidenceSet)

__all__ = ["MODELS", "ConfidenceSet", "KernelRidge", "Model", "Ridge"]
