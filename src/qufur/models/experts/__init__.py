"""Several models, one prediction, for tables as they come."""

from qufur.models.experts.experts import Experts
from qufur.models.experts.refit import Refit

__all__ = ["Experts", "Refit"]
