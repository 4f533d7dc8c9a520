"""The pages: shells for people who may see them, and a way to sign in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import FileResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from fastapi.templating import Jinja2Templates

from qufur.service.access import Scope
from qufur.service.pages import security
from qufur.service.pages.access import Person, person_of, person_with
from qufur.service.pages.forms import fields_of

HERE = Path(__file__).parent
STRANGE = "This form is not from here, or too old. Try again."
WRONG = "There is no such key."
PURPOSES: Mapping[Scope, str] = {
    Scope.ingest: "a program that sends examples",
    Scope.label: "labelling rows",
    Scope.read: "looking at the progress",
    Scope.admin: "everything",
}
"""Purpose of each scope, as pages show it."""

templates = Jinja2Templates(HERE / "templates")
router = APIRouter(include_in_schema=False)


def add_pages(app: FastAPI) -> None:
    """Add the pages and what they load to an application."""
    from qufur.service.pages.interface import router as interface
    from qufur.service.pages.keys import router as keys

    for routes in (router, keys, interface):
        app.include_router(routes)
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")


@router.get("/favicon.ico")
def icon() -> Response:
    """Return the icon under the address that browsers ask for by default."""
    return FileResponse(HERE / "static" / "icon.svg")


@router.get("/")
def streams(request: Request) -> Response:
    """All streams, a form for a new one, and keys; a key to label one stream leads to its rows."""
    person = person_of(request)
    if person is not None and person.key.stream is not None and _only_labels(person, None):
        return RedirectResponse(f"/streams/{quote(person.key.stream)}/label", 303)
    return page(request, "streams.html", scopes=(Scope.read, Scope.label))


@router.get("/streams/{stream}")
def stream(request: Request, stream: str) -> Response:
    """How one stream goes; a key that may only label leads to its rows."""
    person = person_of(request)
    if person is not None and _only_labels(person, stream):
        return RedirectResponse(f"/streams/{quote(stream)}/label", 303)
    return page(request, "stream.html", scopes=(Scope.read,), stream=stream)


@router.get("/streams/{stream}/label")
def label(request: Request, stream: str) -> Response:
    """Its rows, one at a time, for people to label."""
    return page(request, "label.html", scopes=(Scope.label,), images_anywhere=True, stream=stream)


def _only_labels(person: Person, stream: str | None) -> bool:
    return person.may(Scope.label, stream) and not person.may(Scope.read, stream)


@router.get("/login")
def login(request: Request, next: str = "/") -> Response:
    """Ask for a key."""
    return render(request, "login.html", {"next": own_path(next), "refused": ""})


@router.post("/login")
async def sign_in(request: Request) -> Response:
    """Remember a key that is one."""
    form = await fields_of(request)
    key, next = form.one("key"), own_path(form.one("next"))
    strange = not security.has_token(request, form.one("csrf_token"))
    if strange or person_with(request, key) is None:
        refused = STRANGE if strange else WRONG
        return render(request, "login.html", {"next": next, "refused": refused}, status=403)
    response = RedirectResponse(next, 303)
    security.set_cookie(response, request, security.KEY_COOKIE, key)
    return response


@router.post("/logout")
async def sign_out(request: Request) -> Response:
    """Forget the key."""
    response = RedirectResponse("/login", 303)
    if security.has_token(request, (await fields_of(request)).one("csrf_token")):
        response.delete_cookie(security.KEY_COOKIE)
    return response


def own_path(path: str) -> str:
    r"""Return a path of this service, whatever was asked for.

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
    """Return a page to a person whose key is for one of these scopes, and to others what their key is for.

    Without a key the person is asked for one.
    """
    person = person_of(request)
    if person is None:
        return RedirectResponse(f"/login?next={quote(request.url.path)}", 303)
    context = {"person": person, "may": [one.value for one in Scope if person.may(one, stream)], **values}
    if stream is not None:
        context["stream"] = stream
    if not any(person.may(scope, stream) for scope in scopes):
        purposes = [PURPOSES[scope] for scope in Scope if scope in person.key.scopes]
        return render(request, "purpose.html", {"person": person, "purposes": purposes}, status=403)
    return render(request, template, context, images_anywhere=images_anywhere)


def render(
    request: Request,
    template: str,
    values: Mapping[str, object],
    *,
    status: int = 200,
    images_anywhere: bool = False,
) -> Response:
    """Return a page, and the cookie that its token is made from."""
    visitor = security.visitor_of(request)
    context = {"csrf": security.csrf_token(visitor), **values}
    headers = security.headers(images_anywhere)
    response = templates.TemplateResponse(request, template, context, status_code=status, headers=headers)
    security.set_cookie(response, request, security.VISITOR_COOKIE, visitor)
    return response
