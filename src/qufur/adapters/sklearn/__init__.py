"""Estimators for scikit-learn over `Learner`."""

from qufur.adapters.sklearn.classifier import QuFURClassifier
from qufur.adapters.sklearn.regressor import QuFURRegressor

__all__ = ["QuFURClassifier", "QuFURRegressor"]
__dir__ = __all__.copy
