"""What a budget would buy, from inputs alone or a pilot of labels, before a label is bought."""

from qufur.planning.outcome import Expected, Forecast, Part, Plan, Spread
from qufur.planning.pilot import Pilot
from qufur.planning.search import matching_parameter, plan

__all__ = ["Expected", "Forecast", "Part", "Pilot", "Plan", "Spread", "matching_parameter", "plan"]
