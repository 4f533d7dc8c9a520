"""Registry of the datasets behind the streams."""

from __future__ import annotations

from qufur.data import Dataset
from qufur.streams.real.amazon import AmazonReviews
from qufur.streams.real.libsvm import Abalone, CpuSmall
from qufur.streams.real.mnist import RotatedMNIST
from qufur.streams.real.portraits import Portraits
from qufur.streams.real.recorded import Recorded

RECORDED: tuple[type[Recorded], ...] = (RotatedMNIST, Portraits, AmazonReviews, Abalone, CpuSmall)
DATASETS: dict[str, Dataset] = {stream.dataset.name: stream.dataset for stream in RECORDED}
