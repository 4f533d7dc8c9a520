"""Who looks at a page."""

from __future__ import annotations

from typing import NamedTuple

from fastapi import Request

from qufur.service.access import Keys, Scope, UnauthorizedError
from qufur.service.pages.security import KEY_COOKIE


class Person(NamedTuple):
    """Somebody who may see pages.

    Attributes
    ----------
    name
        That of the key; empty where none is asked for.
    admin
        Whether keys can be made and revoked.
    """

    name: str
    admin: bool


def keys_of(request: Request) -> Keys:
    """Return the keys of the service."""
    keys: Keys = request.app.state.keys
    return keys


def person_of(request: Request) -> Person | None:
    """Return who looks; None if a key is wanted first."""
    if not keys_of(request).needed:
        return Person("", True)
    return person_with(request, request.cookies.get(KEY_COOKIE, ""))


def person_with(request: Request, given: str) -> Person | None:
    """Return who has this key; None if nobody has."""
    try:
        key = keys_of(request).find(given)
    except UnauthorizedError:
        return None
    return Person(key.name, Scope.admin in key.scopes and key.stream is None)
