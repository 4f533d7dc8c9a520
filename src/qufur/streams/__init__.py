"""Sources of examples: arrays, files, real datasets, hidden domains and adversaries."""

from typing import TYPE_CHECKING

from qufur._internal.registry import lazy_attributes
from qufur.streams.adversary import LowerBound, MostUncertain
from qufur.streams.arrays import Arrays
from qufur.streams.base import Chunk, Stream
from qufur.streams.scaled import Scaled, Summary
from qufur.streams.synthetic import HiddenDomains

if TYPE_CHECKING:
    from qufur.streams.published import published_digits, published_draw
    from qufur.streams.real.amazon import AmazonReviews
    from qufur.streams.real.datasets import DATASETS
    from qufur.streams.real.libsvm import Abalone, CpuSmall
    from qufur.streams.real.mnist import RotatedMNIST
    from qufur.streams.real.portraits import Portraits
    from qufur.streams.real.recorded import Recorded
    from qufur.streams.table import Table
else:
    __getattr__ = lazy_attributes(
        __name__,
        {
            "published_digits": "qufur.streams.published",
            "published_draw": "qufur.streams.published",
            "AmazonReviews": "qufur.streams.real.amazon",
            "DATASETS": "qufur.streams.real.datasets",
            "Abalone": "qufur.streams.real.libsvm",
            "CpuSmall": "qufur.streams.real.libsvm",
            "RotatedMNIST": "qufur.streams.real.mnist",
            "Portraits": "qufur.streams.real.portraits",
            "Recorded": "qufur.streams.real.recorded",
            "Table": "qufur.streams.table",
        },
    )

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
__dir__ = __all__.copy
