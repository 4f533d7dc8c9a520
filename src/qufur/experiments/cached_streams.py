"""Cached streams of experiments, with reasons for missing data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TypeVar, cast

from qufur.data import MissingDataError
from qufur.streams import Stream

StreamType = TypeVar("StreamType", bound=Stream)
StreamOf = Callable[[int], Stream]


def stream_of(make: Callable[[int], StreamType], seed: int) -> StreamType:
    """Return the stream of a seed; the last 16 are cached, because cells are ordered by seed."""
    return cast(StreamType, _cached(make, seed))  # lru_cache loses the type


@lru_cache(maxsize=16)
def _cached(make: StreamOf, seed: int) -> Stream:
    return make(seed)


@cache  # attempt a download only once
def why_missing(make: StreamOf) -> str | None:
    """Return why a stream's data are missing, or None."""
    try:
        stream_of(make, 0)
    except MissingDataError as reason:
        return str(reason)
    return None


def missing_among(makers: Mapping[str, StreamOf]) -> dict[str, str]:
    """Return the titles of the streams without data, each with the reason."""
    reasons = {title: why_missing(make) for title, make in makers.items()}
    return {title: reason for title, reason in reasons.items() if reason is not None}


def named(title: str, make: StreamOf) -> str:
    """Return the title of a stream, marked if its data only stand in for the paper's."""
    return f"{title} (STAND-IN data)" if getattr(stream_of(make, 0), "stand_in", False) else title


def provenance(make: StreamOf) -> str:
    """Return the provenance of a stream's data in one line."""
    return str(getattr(stream_of(make, 0), "provenance", "drawn from the seed"))
