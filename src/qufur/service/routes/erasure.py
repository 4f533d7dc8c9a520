"""Examples that are to be known no more."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from qufur.service.access import Scope
from qufur.service.answers import Erased
from qufur.service.documented import route
from qufur.service.erasure import erase as erase_examples
from qufur.service.examples import as_id
from qufur.service.replies import reply
from qufur.service.requests import body_of, decoder, key_of, leases_of, perform
from qufur.service.service import Service

router = APIRouter(prefix="/v1/streams/{stream}", tags=["streams"])


class Erasure(msgspec.Struct, forbid_unknown_fields=True):
    """Which examples."""

    ids: list[str | int]


_erasure: Any = decoder(Erasure)


@router.post("/erase", **route(Erased, Erasure, example={"ids": ["a7"]}))
async def erase(request: Request, stream: str) -> Response:
    """Erase rows and labels of examples; the stream is learned again without them, and waits meanwhile."""
    key = key_of(request, Scope.admin, stream)
    found: Erasure = _erasure(await body_of(request))
    request.app.state.limits.check_batch(len(found.ids))
    ids = [as_id(id) for id in found.ids]

    def do(service: Service) -> int:
        return erase_examples(service, stream, ids, key.name)

    parts = await perform(request, do)
    leases_of(request, stream).close(ids)
    return reply({"erased": len(ids), "parts": parts})
