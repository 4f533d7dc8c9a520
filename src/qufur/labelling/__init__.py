"""Who answers, and which rows of a pool are worth an answer."""

from qufur.labelling.pool import Choice, choose

__all__ = ["Choice", "choose"]
