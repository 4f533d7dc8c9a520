"""Streams over HTTP: the same `Workbook` as that of the commands, behind a log of events.

`Client` speaks to a service that `qufur serve` started. Needs the extra `serve`.
"""

from typing import TYPE_CHECKING

from qufur._internal.registry import lazy_attributes

if TYPE_CHECKING:
    from qufur.service.client import Client
else:
    __getattr__ = lazy_attributes(__name__, {"Client": "qufur.service.client"})

__all__ = ["Client"]
__dir__ = __all__.copy
