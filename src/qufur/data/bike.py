"""Bike sharing: rentals of every hour of two years, with calendar and weather."""

from __future__ import annotations

from qufur.data.dataset import Dataset, Edition
from qufur.data.files import File

_REMEDY = "Take hour.csv of archive.ics.uci.edu/dataset/275, pack it with gzip and name it so."
BIKE = Dataset(
    "bike",
    "Bike sharing",
    "the UCI repository, archive.ics.uci.edu/dataset/275",
    (Edition((File("tables/bike_hour.csv.gz", remedy=_REMEDY),)),),
)
