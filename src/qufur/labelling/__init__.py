"""Who answers, people with their tools, programs or functions, and which rows of a pool are worth it."""

from qufur.labelling.buying import Bought, buy
from qufur.labelling.pool import Choice, choose

__all__ = ["Bought", "Choice", "buy", "choose"]
