"""Exceptions that become HTTP error responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from qufur.errors import InvalidError


class RequestError(Exception):
    """A rejected request. The message becomes the `error` of the response.

    Attributes
    ----------
    status
        HTTP status code.
    headers
        Additional headers of the response.
    """

    status: ClassVar[int] = 400
    headers: ClassVar[Mapping[str, str]] = {}


class NotFoundError(RequestError):
    """The stream or example does not exist."""

    status = 404


class ConflictError(RequestError):
    """The request conflicts with stored data."""

    status = 409


class GoneError(RequestError):
    """The example was erased."""

    status = 410


class UnavailableError(RequestError):
    """The store is temporarily unavailable. The client may retry the request."""

    status = 503
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "1"}


CLIENT_ERRORS = RequestError, InvalidError
"""Errors of the client. The request changed nothing."""
