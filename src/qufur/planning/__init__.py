"""Forecast of the effect of a budget before any label is bought, from inputs alone or from a pilot."""

from qufur.planning.outcome import Expected, Forecast, Part, Plan, Spread
from qufur.planning.pilot import Pilot
from qufur.planning.search import matching_parameter, plan

__all__ = ["Expected", "Forecast", "Part", "Pilot", "Plan", "Spread", "matching_parameter", "plan"]
__dir__ = __all__.copy
