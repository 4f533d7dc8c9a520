"""What can be wrong with a request, besides the values in it."""

from __future__ import annotations

from typing import ClassVar


class Fault(Exception):
    """A request that is refused, in one sentence."""

    status: ClassVar[int] = 400


class UnknownFault(Fault):
    """What is named is not there."""

    status = 404


class ConflictFault(Fault):
    """What is sent does not agree with what is known."""

    status = 409


class GoneFault(Fault):
    """What is named was erased."""

    status = 410


class UnavailableFault(Fault):
    """The store cannot be written now; the same request may be sent again."""

    status = 503
