"""Where examples come from: arrays, files, real data, hidden domains and adversaries."""

from qufur.streams.adversary import LowerBound, MostUncertain
from qufur.streams.amazon import AmazonReviews
from qufur.streams.arrays import Arrays
from qufur.streams.base import Chunk, Stream
from qufur.streams.datasets import DATASETS
from qufur.streams.libsvm import Abalone, CpuSmall
from qufur.streams.mnist import RotatedMNIST
from qufur.streams.portraits import Portraits
from qufur.streams.published import published_digits, published_draw
from qufur.streams.recorded import Recorded
from qufur.streams.scaled import Scaled
from qufur.streams.summary import Summary
from qufur.streams.synthetic import HiddenDomains
from qufur.streams.tables import Table

__all__ = [
    "DATASETS",
    "Abalone",
    "AmazonReviews",
    "Arrays",
    "Chunk",
    "CpuSmall",
    "HiddenDomains",
    "LowerBound",
    "MostUncertain",
    "Portraits",
    "Recorded",
    "RotatedMNIST",
    "Scaled",
    "Stream",
    "Summary",
    "Table",
    "published_digits",
    "published_draw",
]
