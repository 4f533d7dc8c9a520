"""Streams over HTTP: the same `Workbook` as that of the commands, behind a log of events.

`Client` speaks to a service that `qufur serve` started. Needs the extra `serve`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qufur.service.client import Client

__all__ = ["Client"]
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    if name == "Client":
        from qufur.service.client import Client

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
