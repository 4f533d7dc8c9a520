"""HTML pages of the service: streams, progress, labelling, sign-in, HTTP API, keys."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.templating import Jinja2Templates

from qufur.errors import InvalidError
from qufur.service import openapi, security
from qufur.service.auth import LOCAL_KEY, Key, Keys, Scope, UnauthorizedError
from qufur.service.http import JSON
from qufur.service.routing import Routes
from qufur.service.security import KEY_COOKIE

MAX_FIELDS = 50
HERE = Path(__file__).parent
INVALID_FORM = "The form is outdated. Reload the page and try again."
INVALID_KEY = "This key is invalid or revoked."
PURPOSES: Mapping[Scope, str] = {
    Scope.ingest: "sending examples from a program",
    Scope.label: "labelling rows",
    Scope.read: "viewing progress",
    Scope.admin: "everything",
}
"""Purpose of each scope, as pages show it."""
MEANING: Mapping[str, str] = {
    Scope.read.value: "view",
    Scope.label.value: "label",
    Scope.ingest.value: "send examples",
    Scope.admin.value: "everything",
}
"""Permissions of each scope, as the list of keys shows them."""
ADMIN_ONLY = "Only keys with the scope admin can see this."
FIRST_KEY = "The first key needs the scope admin on all streams: creating other keys requires it."
templates = Jinja2Templates(HERE / "templates")
routes = Routes()
STATIC = Mount("/static", StaticFiles(directory=HERE / "static"))


def keys_of(request: Request) -> Keys:
    """Return the keys of the service."""
    keys: Keys = request.app.state.keys
    return keys


def person_of(request: Request) -> Key | None:
    """Return the key of the user of a page, from the session cookie; None if sign-in is required."""
    if not keys_of(request).needed:
        return LOCAL_KEY
    return valid_key(request, request.cookies.get(KEY_COOKIE, ""))


def valid_key(request: Request, key: str) -> Key | None:
    """Return the data of a key; None if it is invalid."""
    try:
        return keys_of(request).find(key)
    except UnauthorizedError:
        return None


class Fields:
    """Fields of a submitted form."""

    def __init__(self, body: bytes):
        text = body.decode("utf-8", "replace")
        try:
            self._values = parse_qs(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
        except ValueError:
            self._values = {}

    def one(self, name: str) -> str:
        """Return the stripped value of a field; empty if it is missing.

        >>> Fields(b"name=ada+&scopes=read&scopes=label").one("name")
        'ada'
        """
        return self.many(name)[0].strip() if name in self._values else ""

    def many(self, name: str) -> list[str]:
        """Return all values of a field.

        >>> Fields(b"scopes=read&scopes=label").many("scopes")
        ['read', 'label']
        """
        return self._values.get(name, [])


@routes.add("GET /favicon.ico")
def icon(request: Request) -> Response:
    """Return the icon at the path that browsers request by default."""
    return FileResponse(HERE / "static" / "icon.svg")


@routes.add("GET /")
def streams(request: Request) -> Response:
    """Show the streams, the form of a new stream, and the keys.

    A key that may only label one stream is redirected to its label page.
    """
    person = person_of(request)
    if person is not None and person.stream is not None and _only_labels(person, None):
        return RedirectResponse(f"/streams/{quote(person.stream)}/label", 303)
    return page(request, "streams.html", scopes=(Scope.read, Scope.label))


@routes.add("GET /streams/{stream}")
def stream(request: Request, stream: str) -> Response:
    """Show the progress of a stream. A key that may only label is redirected to the label page."""
    person = person_of(request)
    if person is not None and _only_labels(person, stream):
        return RedirectResponse(f"/streams/{quote(stream)}/label", 303)
    return page(request, "stream.html", scopes=(Scope.read,), stream=stream)


@routes.add("GET /streams/{stream}/label")
def label(request: Request, stream: str) -> Response:
    """Show the pending rows of a stream one at a time."""
    return page(request, "label.html", scopes=(Scope.label,), images_anywhere=True, stream=stream)


def _only_labels(person: Key, stream: str | None) -> bool:
    return person.may(Scope.label, stream) and not person.may(Scope.read, stream)


@routes.add("GET /login")
def login(request: Request) -> Response:
    """Show the sign-in form."""
    next = own_path(request.query_params.get("next", "/"))
    return render(request, "login.html", {"next": next, "refused": ""})


@routes.add("POST /login")
async def sign_in(request: Request) -> Response:
    """Store a valid key in the session cookie."""
    form = Fields(await request.body())
    key, next = form.one("key"), own_path(form.one("next"))
    is_outdated = not security.has_token(request, form.one("csrf_token"))
    if is_outdated or valid_key(request, key) is None:
        refused = INVALID_FORM if is_outdated else INVALID_KEY
        return render(request, "login.html", {"next": next, "refused": refused}, status=403)
    response = RedirectResponse(next, 303)
    security.set_cookie(response, request, KEY_COOKIE, key)
    return response


@routes.add("POST /logout")
async def sign_out(request: Request) -> Response:
    """Delete the session cookie."""
    response = RedirectResponse("/login", 303)
    if security.has_token(request, Fields(await request.body()).one("csrf_token")):
        response.delete_cookie(KEY_COOKIE)
    return response


def own_path(path: str) -> str:
    r"""Return a path if it is local to this service, else "/" (no open redirects).

    >>> [own_path(path) for path in ("/streams/a", "//elsewhere", "/\\elsewhere", "https://elsewhere")]
    ['/streams/a', '/', '/', '/']
    """
    plain = path.isprintable() and path.startswith("/") and "\\" not in path
    return path if plain and not path.startswith("//") else "/"


def page(
    request: Request,
    template: str,
    *,
    scopes: Sequence[Scope] = tuple(Scope),
    stream: str | None = None,
    images_anywhere: bool = False,
    **values: object,
) -> Response:
    """Render a page for users whose key has one of these scopes.

    Others see the permissions of their key. Users without a key are redirected to the sign-in form.
    """
    person = person_of(request)
    if person is None:
        return RedirectResponse(f"/login?next={quote(request.url.path)}", 303)
    if not any(person.may(scope, stream) for scope in scopes):
        purposes = [PURPOSES[scope] for scope in Scope if scope in person.scopes]
        return render(request, "purpose.html", {"person": person, "purposes": purposes}, status=403)
    may = [scope.value for scope in Scope if person.may(scope, stream)]
    context = {"person": person, "may": may, "stream": stream, **values}
    return render(request, template, context, images_anywhere=images_anywhere)


def render(
    request: Request,
    template: str,
    values: Mapping[str, object],
    *,
    status: int = 200,
    images_anywhere: bool = False,
) -> Response:
    """Render a template and set the visitor cookie that the CSRF token is derived from."""
    visitor = security.visitor_of(request)
    context = {"csrf": security.csrf_token(visitor), **values}
    headers = security.headers(images_anywhere)
    response = templates.TemplateResponse(request, template, context, status_code=status, headers=headers)
    security.set_cookie(response, request, security.VISITOR_COOKIE, visitor)
    return response


@routes.add("GET /docs")
def interface(request: Request) -> Response:
    """Show every operation with the schemas of its body and response."""
    return page(request, "docs.html", operations=list(operations(openapi.document(request.app.routes))))


def operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the operations of an OpenAPI document. Schemas are pairs of a title and JSON text."""
    schemas_by_name = document["components"]["schemas"]
    for path, verbs in document["paths"].items():
        for verb, operation in verbs.items():
            success = next(iter(operation["responses"].values()))
            contents = {"Body": operation.get("requestBody", {}), "Returns": success}
            schemas = [
                (title, json.dumps(_expanded(content["content"][JSON]["schema"], schemas_by_name), indent=2))
                for title, content in contents.items()
                if JSON in content.get("content", {})
            ]
            yield {"verb": verb.upper(), "path": path, "about": operation["description"], "schemas": schemas}


def _expanded(schema: Any, schemas: dict[str, Any], depth: int = 3) -> Any:
    """Return a schema with its references replaced by the schemas, to a depth."""
    if isinstance(schema, list):
        return [_expanded(part, schemas, depth) for part in schema]
    if not isinstance(schema, dict):
        return schema
    name = schema.get("$ref", "").rpartition("/")[2]
    if name in schemas and depth:
        return _expanded(schemas[name], schemas, depth - 1)
    return {key: _expanded(value, schemas, depth) for key, value in schema.items()}


@routes.add("GET /keys")
def list_keys(request: Request) -> Response:
    """Show all valid keys, without their secrets."""
    person = person_of(request)
    return _key_section(request) if person is not None and person.is_admin else Response(ADMIN_ONLY, 403)


@routes.add("POST /keys")
async def add_key(request: Request) -> Response:
    """Create a key and show it once."""
    if not _may_change_keys(request):
        return Response(INVALID_FORM, 403)
    form, keys = Fields(await request.body()), keys_of(request)
    name, scopes, stream = form.one("name"), form.many("scopes"), form.one("stream") or None
    first = not keys.needed
    if first and (Scope.admin.value not in scopes or stream is not None):
        return _key_section(request, refused=FIRST_KEY)
    try:
        secret = keys.add(name, scopes, stream)
    except InvalidError as error:
        return _key_section(request, refused=str(error))
    response = _key_section(request, made=name, secret=secret)
    if first:  # the next request of its creator requires a key
        security.set_cookie(response, request, KEY_COOKIE, secret)
    return response


@routes.add("DELETE /keys/{id}")
def revoke_key(request: Request, id: str) -> Response:
    """Revoke a key."""
    if not _may_change_keys(request):
        return Response(INVALID_FORM, 403)
    try:
        keys_of(request).revoke(id)
    except InvalidError as error:
        return _key_section(request, refused=str(error))
    return _key_section(request)


def _may_change_keys(request: Request) -> bool:
    person = person_of(request)
    return person is not None and person.is_admin and security.has_token(request)


def _key_section(request: Request, **values: str) -> Response:
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
