"""The streams of experiments: made once for all rules, and named where their data are missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TypeVar, cast

from qufur.data import MissingDataError
from qufur.streams import Stream

Played = TypeVar("Played", bound=Stream)
StreamOf = Callable[[int], Stream]


def stream_of(make: Callable[[int], Played], seed: int) -> Played:
    """Return the stream of a seed; the last ones are kept, as cells come seed by seed."""
    return cast(Played, _made(make, seed))  # a cache forgets which kind of stream it was asked for


@lru_cache(maxsize=16)
def _made(make: StreamOf, seed: int) -> Stream:
    return make(seed)


@cache  # a download is not tried twice
def why_missing(make: StreamOf) -> str | None:
    """Return why a stream cannot be had here, or None."""
    try:
        stream_of(make, 0)
    except MissingDataError as reason:
        return str(reason)
    return None


def missing_among(makers: Mapping[str, StreamOf]) -> dict[str, str]:
    """Return which of these streams cannot be had here, each with the reason."""
    reasons = {title: why_missing(make) for title, make in makers.items()}
    return {title: reason for title, reason in reasons.items() if reason is not None}


def named(title: str, make: StreamOf) -> str:
    """Return the title of a stream, with a word of warning if its data are not the paper's."""
    return f"{title} (STAND-IN data)" if getattr(stream_of(make, 0), "stand_in", False) else title


def provenance(make: StreamOf) -> str:
    """Return where the data of a stream come from, in one line."""
    return str(getattr(stream_of(make, 0), "provenance", "drawn from the seed"))
