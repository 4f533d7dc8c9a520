"""Counts and times, as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
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
    """What is counted of requests, in one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "qufur_requests", "Requests", ["method", "route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "qufur_request_seconds", "Time to answer", ["route"], buckets=BUCKETS, registry=self._registry
        )
        # Looking up what belongs to labels takes longer than counting.
        self._known: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        found = self._known.get((method, route, status))
        if found is None:
            requests = self._requests.labels(method, route, str(status))
            found = self._known[method, route, status] = requests, self._seconds.labels(route)
        requests, times = found
        requests.inc()
        times.observe(seconds)

    def exposition(self, writer: Writer, states: Sequence[dict[str, Any]]) -> bytes:
        """Return everything as text: what was counted, and how the writer and streams stand."""
        standing = _Standing([*_of_writer(writer), *_of_streams(states)])
        return generate_latest(self._registry) + generate_latest(standing)


class _Standing:
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
