"""Counts and times, as Prometheus reads them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from prometheus_client import generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)

from qufur.service.writer import Writer

BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2.0)
OF_STREAMS = {
    "rows": "Examples that came",
    "told": "Labels that came",
    "spent": "Labels bought, outstanding ones included",
    "left": "Labels that may still be bought",
    "outstanding": "Rows that wait for a label",
    "events": "Events in the log",
}
"""What the state of a stream says, and is shown by its name."""


class Metrics:
    """What is counted of requests, by the one thread that answers them."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._times: dict[str, _Times] = defaultdict(_Times)

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests[method, route, str(status)] += 1
        self._times[route].note(seconds)

    def exposition(self, writer: Writer, states: Sequence[dict[str, Any]]) -> bytes:
        """Return everything as text: what was counted, and how the writer and streams stand."""
        return generate_latest(_Found([*self._of_requests(), *_of_writer(writer), *_of_streams(states)]))

    def _of_requests(self) -> Iterator[Metric]:
        requests = CounterMetricFamily("qufur_requests", "Requests", labels=["method", "route", "status"])
        for labels, count in self._requests.items():
            requests.add_metric(labels, count)
        yield requests
        seconds = HistogramMetricFamily("qufur_request_seconds", "Time to answer", labels=["route"])
        for route, times in self._times.items():
            seconds.add_metric([route], times.up_to(), times.total)
        yield seconds


class _Times:
    """How many took how long."""

    def __init__(self) -> None:
        self._counts, self.total = [0] * (len(BUCKETS) + 1), 0.0

    def note(self, seconds: float) -> None:
        """Count one."""
        self._counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds

    def up_to(self) -> list[tuple[str, float]]:
        """Return how many took at most as long as each bucket."""
        bounds = [*map(str, BUCKETS), "+Inf"]
        return list(zip(bounds, accumulate(self._counts), strict=True))


class _Found:
    """What is known at the moment, as a registry has it."""

    def __init__(self, found: Iterable[Metric]) -> None:
        self._found = found

    def collect(self) -> Iterable[Metric]:
        """Return it."""
        return self._found


def _of_writer(writer: Writer) -> Iterator[Metric]:
    yield GaugeMetricFamily("qufur_ready", "Whether commands are taken", value=writer.is_ready)
    yield GaugeMetricFamily("qufur_commands_waiting", "Commands that wait for the writer", writer.waiting)
    yield CounterMetricFamily("qufur_groups", "Groups of commands", value=writer.groups)
    yield CounterMetricFamily("qufur_failed_commits", "Transactions that failed", value=writer.failures)
    seconds = "Time that transactions took"
    yield SummaryMetricFamily("qufur_commit_seconds", seconds, writer.commits, writer.commit_seconds)


def _of_streams(states: Sequence[dict[str, Any]]) -> Iterator[Metric]:
    for name, words in OF_STREAMS.items():
        family = GaugeMetricFamily(f"qufur_stream_{name}", words, labels=["stream"])
        for state in states:
            if state[name] is not None:
                family.add_metric([state["name"]], state[name])
        yield family
