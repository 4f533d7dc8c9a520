"""What can be wrong with a request, besides the values in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from qufur.errors import InvalidError


class RefusalError(Exception):
    """A request that is refused, in one sentence.

    Attributes
    ----------
    status
        That of HTTP.
    headers
        What is sent beside the sentence.
    """

    status: ClassVar[int] = 400
    headers: ClassVar[Mapping[str, str]] = {}


class NotFoundError(RefusalError):
    """What is named is not there."""

    status = 404


class ConflictError(RefusalError):
    """What is sent does not agree with what is known."""

    status = 409


class GoneError(RefusalError):
    """What is named was erased."""

    status = 410


class UnavailableError(RefusalError):
    """The store cannot be written now; the same request may be sent again."""

    status = 503
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "1"}


REFUSALS = RefusalError, InvalidError
"""What is wrong with a request, and leaves everything as it was."""
