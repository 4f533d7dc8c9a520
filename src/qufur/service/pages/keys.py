"""The part of a page where keys are made and revoked, by people who may."""

from __future__ import annotations

import time
from collections.abc import Mapping

from fastapi import APIRouter, Request
from fastapi.responses import Response

from qufur.errors import InvalidError
from qufur.service.access import Scope
from qufur.service.pages import security
from qufur.service.pages.access import keys_of, person_of
from qufur.service.pages.forms import fields_of
from qufur.service.pages.routes import STRANGE, render

MEANING: Mapping[str, str] = {
    Scope.read.value: "look",
    Scope.label.value: "label",
    Scope.ingest.value: "send examples",
    Scope.admin.value: "everything",
}
ADMINS = "Keys are shown to those with the scope admin."
FIRST = "The first key is for everything, on all streams: it is needed to make others."
router = APIRouter(prefix="/keys", include_in_schema=False)


@router.get("")
def listed(request: Request) -> Response:
    """All keys, without what opens them."""
    person = person_of(request)
    return _part(request) if person is not None and person.admin else Response(ADMINS, 403)


@router.post("")
async def add(request: Request) -> Response:
    """Make a key, and show it this once."""
    if not _may(request):
        return Response(STRANGE, 403)
    form, keys = await fields_of(request), keys_of(request)
    name, scopes, stream = form.one("name"), form.many("scopes"), form.one("stream") or None
    first = not keys.needed
    if first and (Scope.admin.value not in scopes or stream is not None):
        return _part(request, refused=FIRST)
    try:
        secret = keys.add(name, scopes, stream)
    except InvalidError as error:
        return _part(request, refused=str(error))
    response = _part(request, made=name, secret=secret)
    if first:  # whoever made it would be asked for it at once
        security.set_cookie(response, request, security.KEY_COOKIE, secret)
    return response


@router.delete("/{id}")
def revoke(request: Request, id: str) -> Response:
    """Revoke a key: it opens nothing from now on."""
    if not _may(request):
        return Response(STRANGE, 403)
    try:
        keys_of(request).revoke(id)
    except InvalidError as error:
        return _part(request, refused=str(error))
    return _part(request)


def _may(request: Request) -> bool:
    person = person_of(request)
    return person is not None and person.admin and security.has_token(request)


def _part(request: Request, **values: str) -> Response:
    shown = [
        {
            "id": key.id,
            "name": key.name,
            "may": ", ".join(MEANING[scope.value] for scope in Scope if scope in key.scopes),
            "stream": key.stream or "all",
            "made": time.strftime("%Y-%m-%d", time.gmtime(key.created)),
        }
        for key in keys_of(request).listed()
        if key.revoked is None
    ]
    return render(request, "keys.html", {"keys": shown, "scopes": MEANING, **values})
