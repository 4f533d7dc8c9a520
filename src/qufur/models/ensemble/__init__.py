"""Ensembles for users' tables: `Experts`, and `Refit` for one scikit-learn estimator."""

from typing import TYPE_CHECKING

from qufur._internal.registry import lazy_attributes

if TYPE_CHECKING:
    from qufur.models.ensemble.experts import Experts
    from qufur.models.ensemble.refit import Refit
else:
    __getattr__ = lazy_attributes(
        __name__, {"Experts": "qufur.models.ensemble.experts", "Refit": "qufur.models.ensemble.refit"}
    )

__all__ = ["Experts", "Refit"]
__dir__ = __all__.copy
