"""Bike sharing dataset: hourly rentals over two years, with calendar and weather."""

from __future__ import annotations

from qufur.data.dataset import Dataset, Edition
from qufur.data.files import File

_REMEDY = "Download hour.csv from archive.ics.uci.edu/dataset/275, and compress it with gzip to this name."
BIKE = Dataset(
    "bike",
    "Bike sharing",
    "the UCI repository, archive.ics.uci.edu/dataset/275",
    (Edition((File("tables/bike_hour.csv.gz", remedy=_REMEDY),)),),
)
