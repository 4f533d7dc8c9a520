"""HTTP client of the service."""

from qufur.service.client.client import Client

__all__ = ["Client"]
__dir__ = __all__.copy
