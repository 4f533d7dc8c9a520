"""Where examples come from: arrays, files, real data, hidden domains and adversaries."""

from qufur.streams.adversary import LowerBound, MostUncertain
from qufur.streams.arrays import Arrays
from qufur.streams.base import Chunk, Stream
from qufur.streams.published import published_digits, published_draw
from qufur.streams.real.amazon import AmazonReviews
from qufur.streams.real.datasets import DATASETS
from qufur.streams.real.libsvm import Abalone, CpuSmall
from qufur.streams.real.mnist import RotatedMNIST
from qufur.streams.real.portraits import Portraits
from qufur.streams.real.recorded import Recorded
from qufur.streams.scaled import Scaled, Summary
from qufur.streams.synthetic import HiddenDomains
from qufur.streams.table import Table

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
