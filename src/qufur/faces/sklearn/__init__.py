"""Estimators for scikit-learn over `Learner`."""

from qufur.faces.sklearn.classifier import QuFURClassifier
from qufur.faces.sklearn.regressor import QuFURRegressor

__all__ = ["QuFURClassifier", "QuFURRegressor"]
