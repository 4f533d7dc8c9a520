"""API keys and their scopes. Without keys, every local client has all scopes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import ClassVar, NamedTuple

from sqlalchemy import insert, select, update

from qufur.errors import invalid
from qufur.service.config import check_text
from qufur.service.errors import RequestError
from qufur.service.store import Store, schema
from qufur.service.store.integrity import checksum

REFRESH_SECONDS = 2.0
"""Seconds for which keys are cached. A revoked key is rejected after at most this time."""


class Scope(StrEnum):
    """Permissions of a key."""

    ingest = "ingest"
    label = "label"
    read = "read"
    admin = "admin"


class UnauthorizedError(RequestError):
    """The key is missing or invalid."""

    status = 401
    headers: ClassVar[Mapping[str, str]] = {"WWW-Authenticate": "Bearer"}


class ForbiddenError(RequestError):
    """The key lacks the scope, or is limited to another stream."""

    status = 403


class Key(NamedTuple):
    """Stored data of a key, without its secret.

    Attributes
    ----------
    mac
        HMAC of the secret.
    stream
        Limits the key to one stream. None: all streams.
    created, revoked
        Seconds since 1970; `revoked` is None for a valid key.
    """

    id: str
    name: str
    mac: bytes
    scopes: frozenset[Scope]
    stream: str | None
    created: int
    revoked: int | None

    def check(self, scope: Scope, stream: str | None) -> None:
        """Raise `ForbiddenError` unless the key has a scope on a stream. `admin` includes all scopes."""
        if self.stream is not None and self.stream != stream:
            raise ForbiddenError("This key is limited to another stream.")
        if scope not in self.scopes and Scope.admin not in self.scopes:
            raise ForbiddenError(f"This key lacks the scope {scope.value!r}.")

    def may(self, scope: Scope, stream: str | None) -> bool:
        """Return whether the key has a scope on a stream; without a stream, on any stream."""
        has_scope = not self.scopes.isdisjoint({scope, Scope.admin})
        return has_scope and (stream is None or self.stream in (None, stream))

    @property
    def is_admin(self) -> bool:
        """Whether the key may create streams and keys."""
        return Scope.admin in self.scopes and self.stream is None


LOCAL_KEY = Key("", "local", b"", frozenset({Scope.admin}), None, 0, None)
"""The key of every request to a service without keys."""


class Keys:
    """Keys of a store, cached for `REFRESH_SECONDS`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._secret = bytes.fromhex(store.fact("secret"))
        self._valid: dict[str, Key] = {}
        self._has_keys = False
        self._read_at = float("-inf")

    def listed(self) -> list[Key]:
        """Return all keys, oldest first, including revoked keys."""
        table = schema.keys
        with self._store.reading() as connection:
            rows = connection.execute(select(table).order_by(table.c.created, table.c.id)).all()
        return [Key(*row)._replace(scopes=_scopes(row.scopes.split())) for row in rows]

    def add(self, name: str, scopes: Iterable[str], stream: str | None = None) -> str:
        """Create a key and return it. The store keeps only a digest, so the key cannot be shown again."""
        check_text("the name of a key", name)
        granted = _scopes(scopes)
        id, secret = secrets.token_hex(4), base64.b32encode(secrets.token_bytes(32)).decode().rstrip("=")
        key = Key(id, name, self._mac(secret), granted, stream, int(time.time()), None)
        values = key._asdict() | {"scopes": " ".join(sorted(granted))}
        with self._store.writing() as connection:
            connection.execute(insert(schema.keys), values)
            checksum(connection)
        self.reread()
        return f"qf_{id}_{secret}"

    def revoke(self, id: str) -> None:
        """Revoke a key. Raise `InvalidError` if no valid key has this id."""
        table = schema.keys
        with self._store.writing() as connection:
            where = (table.c.id == id) & table.c.revoked.is_(None)
            result = connection.execute(update(table).where(where).values(revoked=int(time.time())))
            checksum(connection)
        if not result.rowcount:
            raise invalid("key", "qufur key revoke", "the id of a key that is not revoked", ascii(id)[:80])
        self.reread()

    def reread(self) -> None:
        """Discard the cache, so that the next request reads the keys from the store."""
        self._read_at = float("-inf")

    @property
    def needed(self) -> bool:
        """Whether a key is required. Revoking the last key does not change that, so True needs no query."""
        if not self._has_keys:
            self._refresh()
        return self._has_keys

    def find(self, text: str | None) -> Key:
        """Return the data of a key as sent by a client. Raise `UnauthorizedError` if it is invalid."""
        self._refresh()
        if text is None:
            if not self._has_keys:
                return LOCAL_KEY
            raise UnauthorizedError("A key is required. Send the header 'Authorization: Bearer qf_…'.")
        prefix, _, rest = text.partition("_")
        id, _, secret = rest.partition("_")
        key = self._valid.get(id) if prefix == "qf" else None
        mac = self._mac(secret)
        if key is None or not hmac.compare_digest(key.mac, mac):
            raise UnauthorizedError("This key is invalid or revoked.")
        return key

    def _refresh(self) -> None:
        if time.monotonic() - self._read_at > REFRESH_SECONDS:
            keys = self.listed()
            self._has_keys = bool(keys)
            self._valid = {key.id: key for key in keys if key.revoked is None}
            self._read_at = time.monotonic()

    def _mac(self, secret: str) -> bytes:
        return hmac.new(self._secret, secret.encode("utf-8", "replace"), hashlib.sha256).digest()


def _scopes(names: Iterable[str]) -> frozenset[Scope]:
    names = list(names)
    allowed = [scope.value for scope in Scope]
    for name in names:
        if name not in allowed:
            raise invalid("scope", "a key", " or ".join(map(repr, allowed)), ascii(name)[:80])
    if not names:
        raise invalid("scopes", "a key", "at least one of " + ", ".join(map(repr, allowed)), "none")
    return frozenset(map(Scope, names))
