"""Prometheus metrics of requests, the writer and streams."""

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

STREAM_GAUGES = {
    "rows": "Examples received",
    "told": "Labels received",
    "spent": "Labels bought, including pending labels",
    "left": "Labels that the budget still allows",
    "outstanding": "Rows with a pending label",
    "events": "Events in the log",
}
"""Help texts of the gauges of streams, by field of the status of a stream."""
BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2.0)
"""Upper bounds of the latency histogram, in seconds."""


class Metrics:
    """Counts and latencies of requests. Only the event loop thread updates them."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._times: dict[str, _Times] = defaultdict(_Times)

    def record(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request and its latency."""
        self._requests[method, route, str(status)] += 1
        self._times[route].record(seconds)

    def exposition(self, writer: Writer, states: Sequence[dict[str, Any]]) -> bytes:
        """Return the metrics of requests, of the writer and of streams in Prometheus' text format."""
        return generate_latest(
            _CurrentValues([*self._request_metrics(), *_writer_metrics(writer), *_stream_metrics(states)])
        )

    def _request_metrics(self) -> Iterator[Metric]:
        requests = CounterMetricFamily("qufur_requests", "Requests", labels=["method", "route", "status"])
        for labels, count in self._requests.items():
            requests.add_metric(labels, count)
        yield requests
        seconds = HistogramMetricFamily("qufur_request_seconds", "Latency of requests", labels=["route"])
        for route, times in self._times.items():
            seconds.add_metric([route], times.cumulative(), times.total)
        yield seconds


class _Times:
    """Latency histogram."""

    def __init__(self) -> None:
        self._counts, self.total = [0] * (len(BUCKETS) + 1), 0.0

    def record(self, seconds: float) -> None:
        """Count one request."""
        self._counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds

    def cumulative(self) -> list[tuple[str, float]]:
        """Return the number of requests at or below each bound."""
        bounds = [*map(str, BUCKETS), "+Inf"]
        return list(zip(bounds, accumulate(self._counts), strict=True))


class _CurrentValues:
    """Registry of metrics that were computed for this request."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        """Return the metrics."""
        return self._metrics


def _writer_metrics(writer: Writer) -> Iterator[Metric]:
    yield GaugeMetricFamily("qufur_ready", "Whether the writer accepts commands", value=writer.is_ready)
    yield GaugeMetricFamily("qufur_commands_waiting", "Commands in the queue of the writer", writer.waiting)
    yield CounterMetricFamily("qufur_groups", "Transactions of the writer", value=writer.groups)
    yield CounterMetricFamily("qufur_failed_commits", "Failed transactions", value=writer.failures)
    seconds = "Duration of transactions"
    yield SummaryMetricFamily("qufur_commit_seconds", seconds, writer.commits, writer.commit_seconds)


def _stream_metrics(states: Sequence[dict[str, Any]]) -> Iterator[Metric]:
    for name, help_text in STREAM_GAUGES.items():
        family = GaugeMetricFamily(f"qufur_stream_{name}", help_text, labels=["stream"])
        for state in states:
            if state[name] is not None:
                family.add_metric([state["name"]], state[name])
        yield family
