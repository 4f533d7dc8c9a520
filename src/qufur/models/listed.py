"""All models: the command line, the docs, files and the contract checks find them here."""

from qufur.models.base import Model
from qufur.models.confidence_set import ConfidenceSet
from qufur.models.experts import Experts, Refit
from qufur.models.kernel_ridge import KernelRidge
from qufur.models.ridge import Ridge
from qufur.models.softmax import FisherSoftmax, Softmax
from qufur.models.training import adam, converged  # noqa: F401  (files name these too)

MODELS: tuple[type[Model], ...] = (Ridge, KernelRidge, ConfidenceSet, Softmax, FisherSoftmax, Experts, Refit)
