"""Routes for orchestrators and monitoring: liveness, readiness, Prometheus metrics."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from qufur.service.auth import Scope
from qufur.service.errors import UnavailableError
from qufur.service.http import authorize, in_writer, json_response, writer_of
from qufur.service.openapi import Status
from qufur.service.routing import Operation, Routes
from qufur.service.service import Service
from qufur.service.views import status

routes = Routes(tag="machine")
TEXT = {"description": "Successful Response", "content": {"text/plain": {"schema": {"type": "string"}}}}


@routes.add("GET /healthz", Operation(Status))
async def alive(request: Request) -> Response:
    """Check that the process is running. Always returns `alive`."""
    return json_response({"status": "alive"})


@routes.add("GET /readyz", Operation(Status))
async def ready(request: Request) -> Response:
    """Check that the service accepts requests. Returns `ready`, or 503 with the reason."""
    writer = writer_of(request)
    if not writer.is_ready:
        raise UnavailableError(writer.unavailable_reason)
    request.app.state.store.check_file()
    return json_response({"status": "ready"})


@routes.add("GET /metrics", Operation(TEXT))
async def metrics(request: Request) -> Response:
    """Return counts and latencies of requests, and the status of loaded streams, for Prometheus."""
    authorize(request, Scope.read)
    writer, metrics = writer_of(request), request.app.state.metrics

    def do(service: Service) -> list[dict[str, Any]]:
        return [status(stream) for stream in service.loaded.values()]  # loads no other streams

    states = await in_writer(request, do) if writer.is_ready else []
    return Response(metrics.exposition(writer, states), media_type="text/plain; version=0.0.4")
