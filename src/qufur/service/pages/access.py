"""Who looks at a page."""

from __future__ import annotations

from typing import NamedTuple

from fastapi import Request

from qufur.service.access import ANYBODY, Key, Keys, Scope, UnauthorizedError
from qufur.service.pages.security import KEY_COOKIE


class Person(NamedTuple):
    """A person who may see pages, by the key in their browser."""

    key: Key

    @property
    def name(self) -> str:
        """The name of the key; empty where the service asks for none."""
        return "" if self.key is ANYBODY else self.key.name

    @property
    def admin(self) -> bool:
        """Whether this person may create streams and keys."""
        return Scope.admin in self.key.scopes and self.key.stream is None

    def may(self, scope: Scope, stream: str | None) -> bool:
        """Return whether the key is for this, on a stream, or on some stream where none is named."""
        has_scope = not self.key.scopes.isdisjoint({scope, Scope.admin})
        return has_scope and (stream is None or self.key.stream in (None, stream))


def keys_of(request: Request) -> Keys:
    """Return the keys of the service."""
    keys: Keys = request.app.state.keys
    return keys


def person_of(request: Request) -> Person | None:
    """Return who looks; None if a key is wanted first."""
    if not keys_of(request).needed:
        return Person(ANYBODY)
    return person_with(request, request.cookies.get(KEY_COOKIE, ""))


def person_with(request: Request, given: str) -> Person | None:
    """Return who has this key; None if nobody has."""
    try:
        return Person(keys_of(request).find(given))
    except UnauthorizedError:
        return None
