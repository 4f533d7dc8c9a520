"""Counts and times, as Prometheus reads them."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from qufur.service.writer import Writer

REGISTRY = CollectorRegistry()
REQUESTS = Counter("qufur_requests", "Requests", ["route", "status"], registry=REGISTRY)
SECONDS = Histogram(
    "qufur_request_seconds",
    "Time to answer",
    ["route"],
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2.0),
    registry=REGISTRY,
)
WAITING = Gauge("qufur_commands_waiting", "Commands that wait for the writer", registry=REGISTRY)
GROUPS = Gauge("qufur_groups", "Transactions since the start", registry=REGISTRY)
READY = Gauge("qufur_ready", "Whether commands are taken", registry=REGISTRY)


def exposition(writer: Writer) -> bytes:
    """Return everything as text."""
    WAITING.set(writer.waiting)
    GROUPS.set(writer.groups)
    READY.set(writer.is_ready)
    return generate_latest(REGISTRY)
