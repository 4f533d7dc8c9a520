"""Registry of all models, for the command line, the documentation, files and the contract checks."""

from qufur.models.base import Model
from qufur.models.confidence_set import ConfidenceSet
from qufur.models.ensemble import Experts, Refit
from qufur.models.kernel_ridge import KernelRidge
from qufur.models.ridge import Ridge
from qufur.models.softmax import FisherSoftmax, Softmax
from qufur.models.training import adam, converged  # noqa: F401  (files refer to these classes by name)

MODELS: tuple[type[Model], ...] = (Ridge, KernelRidge, ConfidenceSet, Softmax, FisherSoftmax, Experts, Refit)
