"""Who answers: labels from programs, functions and the tools of people who label."""

from qufur.labelling.buying import Bought, buy

__all__ = ["Bought", "buy"]
