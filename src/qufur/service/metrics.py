"""Prometheus metrics of requests, the writer and streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from prometheus_client import Counter, Histogram, generate_latest, metrics_core
from prometheus_client.metrics_core import Metric

from qufur.service.responses import State
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
    """Counts and latencies of requests."""

    def __init__(self) -> None:
        labels = ["method", "route", "status"]
        self._requests = Counter("qufur_requests", "Requests", labels, registry=None)
        self._seconds = Histogram(
            "qufur_request_seconds", "Latency of requests", ["route"], buckets=BUCKETS, registry=None
        )
        # Looking up labels takes as long as counting.
        self._counter, self._histogram = cache(self._requests.labels), cache(self._seconds.labels)

    def record(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request and its latency."""
        self._counter(method, route, status).inc()
        self._histogram(route).observe(seconds)

    def exposition(self, writer: Writer, states: Sequence[State]) -> bytes:
        """Return the metrics of requests, of the writer and of streams in Prometheus' text format."""
        requests = map(_without_creation_times, (*self._requests.collect(), *self._seconds.collect()))
        return generate_latest(
            _CurrentValues([*requests, *_writer_metrics(writer), *_stream_metrics(states)])
        )


def _without_creation_times(metric: Metric) -> Metric:
    """Drop the time at which each label set was first seen, which would double the series of a scrape."""
    metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
    return metric


class _CurrentValues(list[Metric]):
    """Registry of metrics that were computed for this request."""

    def collect(self) -> Iterable[Metric]:
        """Return the metrics."""
        return self


def _writer_metrics(writer: Writer) -> Iterator[Metric]:
    yield metrics_core.GaugeMetricFamily(
        "qufur_ready", "Whether the writer accepts commands", value=writer.is_ready
    )
    yield metrics_core.GaugeMetricFamily(
        "qufur_commands_waiting", "Commands in the queue of the writer", writer.waiting
    )
    yield metrics_core.CounterMetricFamily("qufur_groups", "Transactions of the writer", value=writer.groups)
    yield metrics_core.CounterMetricFamily(
        "qufur_failed_commits", "Failed transactions", value=writer.failures
    )
    seconds = "Duration of transactions"
    yield metrics_core.SummaryMetricFamily(
        "qufur_commit_seconds", seconds, writer.commits, writer.commit_seconds
    )


def _stream_metrics(states: Sequence[State]) -> Iterator[Metric]:
    for name, help_text in STREAM_GAUGES.items():
        family = metrics_core.GaugeMetricFamily(f"qufur_stream_{name}", help_text, labels=["stream"])
        for state in states:
            if getattr(state, name) is not None:
                family.add_metric([state.name], getattr(state, name))
        yield family
