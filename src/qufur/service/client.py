"""A stream of a service, used like a learner."""

from __future__ import annotations


class Client:
    """Speaks to a service that `qufur serve` started."""
