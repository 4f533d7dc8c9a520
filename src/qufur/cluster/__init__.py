"""Tables of any size on a Ray cluster: workers encode rows, one actor decides them."""

from qufur.cluster.job import ask

__all__ = ["ask"]
__dir__ = __all__.copy
