"""Frozen descriptions keep what the checks make of their arguments: Python's own numbers.

NumPy's have fewer digits or wrap around, and a file knows no fractions: in blocks, or after a file, a learner
would compute differently.
"""

from __future__ import annotations

from typing import Any


def set_fields(description: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass that is being made.

    >>> from qufur import QuFUR
    >>> from fractions import Fraction
    >>> QuFUR(Fraction(1, 2)).alpha
    0.5
    """
    for name, value in values.items():
        object.__setattr__(description, name, value)
