"""Bike sharing: rentals of every hour of two years, in order of time."""

from __future__ import annotations

import csv
import gzip
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qufur.data.dataset import BIKE
from qufur.streams.real.recorded import Recorded, frozen

CATEGORIES = ("hr", "mnth", "weekday", "weathersit")
NUMBERS = ("yr", "holiday", "workingday", "temp", "atemp", "hum", "windspeed")


class BikeSharing(Recorded):
    """Bikes rented in each of 17,379 hours, from calendar and weather; a domain is a month.

    Hour, month, weekday and weather are one-hot encoded; the other columns stay unchanged. The stream does
    not depend on the seed.
    """

    dataset = BIKE

    def __init__(self, seed: int = 0) -> None:
        copy = self.dataset.get()
        columns = _read(copy.paths[0])
        coded = [columns[name][:, None] == np.unique(columns[name]) for name in CATEGORIES]
        X = np.column_stack([*coded, *(columns[name] for name in NUMBERS)])
        y, month = columns["cnt"], (12 * columns["yr"] + columns["mnth"] - 1).astype(np.int64)
        super().__init__(X, y, month, durations=np.bincount(month).tolist(), copy=copy)
        self.label_range = float(y.min()), float(y.max())


@cache
def _read(path: Path) -> dict[str, NDArray[Any]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    names = [name.strip() for name in header]
    cells = dict(zip(names, zip(*rows, strict=True), strict=True))
    return {name: frozen(np.array(cells[name], dtype=float)) for name in (*CATEGORIES, *NUMBERS, "cnt")}
