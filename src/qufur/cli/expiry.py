"""Labels that were asked for so long ago that nobody waits for them any more."""

from __future__ import annotations

import re
import time

from qufur.errors import invalid

SECONDS = {"h": 3600, "d": 86400, "w": 7 * 86400}


def since(age: str | None, command: str) -> float | None:
    """Return when something of an age began, in seconds since 1970; None without an age."""
    return None if age is None else time.time() - _seconds(age, command)


def _seconds(age: str, command: str) -> float:
    """Return how long an age is.

    >>> _seconds("30d", "docs"), _seconds("1.5h", "docs")
    (2592000.0, 5400.0)
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([hdw])", age.strip())
    if found is None:
        raise invalid("--expire", command, "hours, days or weeks, such as 12h, 30d or 2w", repr(age))
    return float(found[1]) * SECONDS[found[2]]
