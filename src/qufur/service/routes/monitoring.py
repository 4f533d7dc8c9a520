"""Routes for orchestrators and monitoring: liveness, readiness, Prometheus metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from prometheus_client import Counter, Histogram, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from starlette.responses import Response

from qufur.service.auth import Scope
from qufur.service.errors import UnavailableError
from qufur.service.http import ApiRequest
from qufur.service.responses import State, Status
from qufur.service.routing import Operation, Routes
from qufur.service.service import Service
from qufur.service.views import status
from qufur.service.writer import Writer

routes = Routes(tag="machine")
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


@routes.add("GET /healthz", Operation(None))
async def alive(request: ApiRequest) -> Status:
    """Check that the process is running. Always returns `alive`."""
    return Status("alive")


@routes.add("GET /readyz", Operation(None))
async def ready(request: ApiRequest) -> Status:
    """Check that the service accepts requests. Returns `ready`, or 503 with the reason."""
    if not request.writer.is_ready:
        raise UnavailableError(request.writer.unavailable_reason)
    request.app.state.store.check_file()
    return Status("ready")


@routes.add("GET /metrics", Operation(Scope.read))
async def metrics(request: ApiRequest) -> Response:
    """Return counts and latencies of requests, and the status of loaded streams, for Prometheus."""

    def do(service: Service) -> list[State]:
        return [status(stream) for stream in service.loaded.values()]  # loads no other streams

    states = await request.in_writer(do) if request.writer.is_ready else []
    content = request.app.state.metrics.exposition(request.writer, states)
    return Response(content, media_type="text/plain; version=0.0.4")


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
    yield GaugeMetricFamily("qufur_ready", "Whether the writer accepts commands", writer.is_ready)
    yield GaugeMetricFamily("qufur_commands_waiting", "Commands in the queue of the writer", writer.waiting)
    yield CounterMetricFamily("qufur_groups", "Transactions of the writer", writer.groups)
    yield CounterMetricFamily("qufur_failed_commits", "Failed transactions", writer.failures)
    seconds = "Duration of transactions"
    yield SummaryMetricFamily("qufur_commit_seconds", seconds, writer.commits, writer.commit_seconds)


def _stream_metrics(states: Sequence[State]) -> Iterator[Metric]:
    for name, help_text in STREAM_GAUGES.items():
        family = GaugeMetricFamily(f"qufur_stream_{name}", help_text, labels=["stream"])
        for state in states:
            if getattr(state, name) is not None:
                family.add_metric([state.name], getattr(state, name))
        yield family
