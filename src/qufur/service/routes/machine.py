"""What the machine around the service asks: does it live, is it ready, how is it doing."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from qufur.service.access import Scope
from qufur.service.metrics import exposition
from qufur.service.refusals import UnavailableError
from qufur.service.replies import reply
from qufur.service.requests import key_of, writer_of

router = APIRouter(tags=["machine"])


@router.get("/healthz")
async def alive() -> Response:
    """Say that the process lives."""
    return reply({"status": "alive"})


@router.get("/readyz")
async def ready(request: Request) -> Response:
    """Say whether requests are taken."""
    writer = writer_of(request)
    if not writer.is_ready:
        raise UnavailableError(writer.fault or "The service is stopping.")
    return reply({"status": "ready"})


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Return counts and times for Prometheus."""
    key_of(request, Scope.read)
    return Response(exposition(writer_of(request)), media_type="text/plain; version=0.0.4")
