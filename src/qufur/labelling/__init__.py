"""Labels from annotators' tools, programs and functions, and the choice of rows from a pool."""

from qufur.labelling.buyer import Bought, buy
from qufur.labelling.pool import Choice, choose

__all__ = ["Bought", "Choice", "buy", "choose"]
__dir__ = __all__.copy
