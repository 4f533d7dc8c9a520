"""Append-only event store on SQLite or PostgreSQL. It does not know what a stream is."""

from qufur.service.store.events import DamagedError
from qufur.service.store.fencing import FencedError
from qufur.service.store.integrity import StoreFileError
from qufur.service.store.store import Store, StoreError, Write, reason_of

__all__ = ["DamagedError", "FencedError", "Store", "StoreError", "StoreFileError", "Write", "reason_of"]
__dir__ = __all__.copy
