"""The section of the streams page where administrators create and revoke keys."""

from __future__ import annotations

import time
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from qufur.errors import InvalidError
from qufur.service import security
from qufur.service.auth import Scope
from qufur.service.pages.routes import INVALID_FORM, Fields, keys_of, person_of, render
from qufur.service.routing import Routes

MEANING: Mapping[str, str] = {
    Scope.read.value: "view",
    Scope.label.value: "label",
    Scope.ingest.value: "send examples",
    Scope.admin.value: "everything",
}
ADMIN_ONLY = "Only keys with the scope admin can see this."
FIRST_KEY = "The first key needs the scope admin on all streams: creating other keys requires it."
routes = Routes("/keys")


@routes.add("GET")
def listed(request: Request) -> Response:
    """Show all valid keys, without their secrets."""
    person = person_of(request)
    return _section(request) if person is not None and person.is_admin else Response(ADMIN_ONLY, 403)


@routes.add("POST")
async def add(request: Request) -> Response:
    """Create a key and show it once."""
    if not _may_change(request):
        return Response(INVALID_FORM, 403)
    form, keys = Fields(await request.body()), keys_of(request)
    name, scopes, stream = form.one("name"), form.many("scopes"), form.one("stream") or None
    first = not keys.needed
    if first and (Scope.admin.value not in scopes or stream is not None):
        return _section(request, refused=FIRST_KEY)
    try:
        secret = keys.add(name, scopes, stream)
    except InvalidError as error:
        return _section(request, refused=str(error))
    response = _section(request, made=name, secret=secret)
    if first:  # the next request of its creator requires a key
        security.set_cookie(response, request, security.KEY_COOKIE, secret)
    return response


@routes.add("DELETE /{id}")
def revoke(request: Request, id: str) -> Response:
    """Revoke a key."""
    if not _may_change(request):
        return Response(INVALID_FORM, 403)
    try:
        keys_of(request).revoke(id)
    except InvalidError as error:
        return _section(request, refused=str(error))
    return _section(request)


def _may_change(request: Request) -> bool:
    person = person_of(request)
    return person is not None and person.is_admin and security.has_token(request)


def _section(request: Request, **values: str) -> Response:
    rows = [
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
    return render(request, "keys.html", {"keys": rows, "scopes": MEANING, **values})
