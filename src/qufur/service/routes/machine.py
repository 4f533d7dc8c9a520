"""What the machine around the service asks: does it live, is it ready, how is it doing."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from qufur.service.access import Scope
from qufur.service.answers import Status
from qufur.service.documented import REFUSED, route
from qufur.service.refusals import UnavailableError
from qufur.service.replies import reply
from qufur.service.requests import key_of, perform, writer_of
from qufur.service.service import Service
from qufur.service.state import state_of

router = APIRouter(tags=["machine"])


@router.get("/healthz", **route(Status))
async def alive() -> Response:
    """Say that the process lives."""
    return reply({"status": "alive"})


@router.get("/readyz", **route(Status))
async def ready(request: Request) -> Response:
    """Say whether requests are taken."""
    writer = writer_of(request)
    if not writer.is_ready:
        raise UnavailableError(writer.excuse)
    request.app.state.store.check_file()
    return reply({"status": "ready"})


@router.get("/metrics", responses=REFUSED, response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Return counts and times for Prometheus."""
    key_of(request, Scope.read)
    writer, metrics = writer_of(request), request.app.state.metrics
    states = await perform(request, _states) if writer.is_ready else []
    return Response(metrics.exposition(writer, states), media_type="text/plain; version=0.0.4")


def _states(service: Service) -> list[dict[str, Any]]:
    """Return the streams that are in memory: what nobody uses is not loaded for this."""
    return [state_of(stream) for stream in service.loaded.values()]
