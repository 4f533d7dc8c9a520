"""Routes for orchestrators and monitoring: liveness, readiness, Prometheus metrics."""

from __future__ import annotations

from starlette.responses import Response

from qufur.service.auth import Scope
from qufur.service.errors import UnavailableError
from qufur.service.http import ApiRequest
from qufur.service.responses import State, Status
from qufur.service.routing import Operation, Routes
from qufur.service.service import Service
from qufur.service.views import status

routes = Routes(tag="machine")


@routes.add("GET /healthz", Operation())
async def alive(request: ApiRequest) -> Status:
    """Check that the process is running. Always returns `alive`."""
    return Status("alive")


@routes.add("GET /readyz", Operation())
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
