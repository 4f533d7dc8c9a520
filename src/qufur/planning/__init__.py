"""What a budget would buy, from inputs alone, before a label is bought."""

from qufur.planning.outcome import Forecast, Part, Plan, Spread
from qufur.planning.search import matching_parameter, plan

__all__ = ["Forecast", "Part", "Plan", "Spread", "matching_parameter", "plan"]
