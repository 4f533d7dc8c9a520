"""Where examples come from: arrays, files, hidden domains and adversaries."""

from qufur.streams.adversary import LowerBound, MostUncertain
from qufur.streams.arrays import Arrays
from qufur.streams.base import Chunk, Stream
from qufur.streams.published import published_draw
from qufur.streams.scaled import Scaled
from qufur.streams.summary import Summary
from qufur.streams.synthetic import HiddenDomains
from qufur.streams.tables import Table

__all__ = [
    "Arrays",
    "Chunk",
    "HiddenDomains",
    "LowerBound",
    "MostUncertain",
    "Scaled",
    "Stream",
    "Summary",
    "Table",
    "published_draw",
]
