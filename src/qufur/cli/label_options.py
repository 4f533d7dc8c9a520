"""What `qufur label` says of its program: how it is called, and what it costs."""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation
from typing import Annotated

import typer

from qufur.errors import invalid
from qufur.labelling.journal import Money

With = Annotated[
    str,
    typer.Option("--with", metavar="COMMAND", help="The program that labels, and its arguments."),
]
Cost = Annotated[str, typer.Option(metavar="MONEY", help="What a call costs, also one that fails.")]
MoneyLimit = Annotated[
    str | None, typer.Option(metavar="MONEY", help="What all calls of this work may cost together.")
]
Votes = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="Opinions on a row at most: two, and more where they differ. The mean counts, or most of them.",
    ),
]
Jobs = Annotated[int, typer.Option(min=1, metavar="N", help="Calls at once.")]
Timeout = Annotated[
    float, typer.Option(min=0.01, metavar="SECONDS", help="After so long a call is given up.")
]
Retries = Annotated[int, typer.Option(min=0, metavar="N", help="How often a call that failed is made again.")]
Rate = Annotated[
    str | None,
    typer.Option("--rate-limit", metavar="N/s", help="Calls per second at most, or 60/min, or 1000/h."),
]
SECONDS = {"s": 1, "min": 60, "h": 3600}
MOST_MONEY, MOST_CALLS = 10**12, 10**12
"""The largest amount of money, and the most calls that --money may pay for."""


def money_of(cost: str, limit: str | None) -> Money:
    """Return what calls cost, exactly as it was written.

    >>> money_of("0.02", "20")
    Money(cost=Decimal('0.02'), limit=Decimal('20'))
    """
    each = _amount("--cost", cost)
    if limit is None:
        return Money(each)
    if not each:
        raise invalid("--cost", "qufur label", "given with --money", "none")
    most = _amount("--money", limit)
    if most < each:
        raise invalid("--money", "qufur label", f"at least --cost, {each}", most)
    if most > each * MOST_CALLS:
        raise invalid("--money", "qufur label", f"at most {MOST_CALLS:,} times --cost, {each}", most)
    return Money(each, most)


def _amount(name: str, text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(-1)
    if not (amount.is_finite() and amount >= 0):
        raise invalid(name, "qufur label", "an amount of money such as 0.02", repr(text))
    if amount > MOST_MONEY:
        raise invalid(name, "qufur label", f"at most {MOST_MONEY:,}", text)
    return amount


def rate_of(text: str | None) -> float:
    """Return how many calls may begin per second.

    >>> rate_of("60/min"), rate_of("10/s"), rate_of(None)
    (1.0, 10.0, inf)
    """
    if text is None:
        return math.inf
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)/(s|min|h)", text.replace(" ", ""))
    if found is None or not float(found[1]):
        raise invalid("--rate-limit", "qufur label", "such as 10/s, 60/min or 1000/h", repr(text))
    return float(found[1]) / SECONDS[found[2]]
