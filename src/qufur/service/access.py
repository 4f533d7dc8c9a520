"""Who may do what: keys with scopes, or anybody on a machine that serves itself alone."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import ClassVar, NamedTuple

from sqlalchemy import insert, select, update

from qufur.errors import invalid
from qufur.service import tables
from qufur.service.description import check_text
from qufur.service.refusals import RefusalError
from qufur.service.seal import seal
from qufur.service.store import Store

FRESH = 2.0
"""Seconds for which keys are taken as known; one that is revoked is refused after that."""


class Scope(str, Enum):
    """What a key is for."""

    ingest = "ingest"
    label = "label"
    read = "read"
    admin = "admin"


class UnauthorizedError(RefusalError):
    """No key, or one that is not known."""

    status = 401
    headers: ClassVar[Mapping[str, str]] = {"WWW-Authenticate": "Bearer"}


class ForbiddenError(RefusalError):
    """A key that is for something else."""

    status = 403


class Key(NamedTuple):
    """What is known of a key: not the key itself.

    Attributes
    ----------
    stream
        The only stream that it is for; None for all of them.
    """

    id: str
    name: str
    mac: bytes
    scopes: frozenset[Scope]
    stream: str | None
    created: int
    revoked: int | None

    def check(self, scope: Scope, stream: str | None) -> None:
        """Refuse what the key is not for; that of an administrator is for everything."""
        if self.stream is not None and self.stream != stream:
            raise ForbiddenError("This key is for another stream.")
        if scope not in self.scopes and Scope.admin not in self.scopes:
            raise ForbiddenError(f"This key is not for {scope.value!r}.")


ANYBODY = Key("", "local", b"", frozenset({Scope.admin}), None, 0, None)
"""Who is there without keys."""


class Keys:
    """The keys of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._secret = bytes.fromhex(store.fact("secret"))
        self._known: dict[str, Key] = {}
        self._any = False
        self._read_at = float("-inf")

    def listed(self) -> list[Key]:
        """Return all keys, revoked ones included, the oldest first."""
        table = tables.keys
        with self._store.reading() as connection:
            rows = connection.execute(select(table).order_by(table.c.created, table.c.id)).all()
        return [
            Key(r.id, r.name, bytes(r.mac), _scopes(r.scopes.split()), r.stream, r.created, r.revoked)
            for r in rows
        ]

    def add(self, name: str, scopes: Iterable[str], stream: str | None = None) -> str:
        """Make a key and return it: it is shown this once, and stored as a digest alone."""
        check_text("the name of a key", name)
        found = _scopes(scopes)
        id, secret = secrets.token_hex(4), base64.b32encode(secrets.token_bytes(32)).decode().rstrip("=")
        values = {
            "id": id,
            "name": name,
            "mac": self._mac(secret),
            "scopes": " ".join(sorted(scope.value for scope in found)),
            "stream": stream,
            "created": int(time.time()),
            "revoked": None,
        }
        with self._store.writing() as connection:
            connection.execute(insert(tables.keys), values)
            seal(connection)
        self.reread()
        return f"qf_{id}_{secret}"

    def revoke(self, id: str) -> None:
        """Let a key be known no more."""
        table = tables.keys
        with self._store.writing() as connection:
            where = (table.c.id == id) & table.c.revoked.is_(None)
            found = connection.execute(update(table).where(where).values(revoked=int(time.time())))
            seal(connection)
        if not found.rowcount:
            raise invalid("key", "qufur key revoke", "the id of a key that is not revoked", ascii(id)[:80])
        self.reread()

    def reread(self) -> None:
        """Read the keys again before the next request is answered."""
        self._read_at = float("-inf")

    @property
    def needed(self) -> bool:
        """Whether a key is required. Revoking the last key does not change that, so True needs no query."""
        if not self._any:
            self._refresh()
        return self._any

    def find(self, given: str | None) -> Key:
        """Return the key that was given, or complain."""
        self._refresh()
        if given is None:
            if not self._any:
                return ANYBODY
            raise UnauthorizedError("A key is needed: Authorization: Bearer qf_….")
        prefix, _, rest = given.partition("_")
        id, _, secret = rest.partition("_")
        key = self._known.get(id) if prefix == "qf" else None
        mac = self._mac(secret)
        if key is None or not hmac.compare_digest(key.mac, mac):
            raise UnauthorizedError("This key is not known.")
        return key

    def _refresh(self) -> None:
        if time.monotonic() - self._read_at > FRESH:
            found = self.listed()
            self._any = bool(found)
            self._known = {key.id: key for key in found if key.revoked is None}
            self._read_at = time.monotonic()

    def _mac(self, secret: str) -> bytes:
        return hmac.new(self._secret, secret.encode("utf-8", "replace"), hashlib.sha256).digest()


def _scopes(names: Iterable[str]) -> frozenset[Scope]:
    names = list(names)
    known = [scope.value for scope in Scope]
    for name in names:
        if name not in known:
            raise invalid("scope", "a key", " or ".join(map(repr, known)), ascii(name)[:80])
    if not names:
        raise invalid("scopes", "a key", "at least one of " + ", ".join(map(repr, known)), "none")
    return frozenset(map(Scope, names))
