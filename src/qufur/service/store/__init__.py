"""Append-only event store on SQLite or PostgreSQL. It does not know what a stream is."""

from qufur.service.store.store import Store, StoreError

__all__ = ["Store", "StoreError"]
__dir__ = __all__.copy
