"""What a demonstration shows: bike sharing where its table is there, and else domains that are made up."""

from __future__ import annotations

import calendar
import csv
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from qufur.data.bike import BIKE
from qufur.service.description import Description
from qufur.service.examples import Example
from qufur.streams import HiddenDomains

WORDS: dict[str, tuple[str, Sequence[str]]] = {
    "hr": ("hour", [f"{hour:02}:00" for hour in range(24)]),
    "weekday": ("weekday", ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]),
    "mnth": ("month", ["", *calendar.month_name[1:]]),
    "season": ("season", ["", "winter", "spring", "summer", "autumn"]),
    "weathersit": ("weather", ["", "clear", "mist", "light rain or snow", "heavy rain or snow"]),
}
"""By column of the table: what it is called here, and what its codes mean."""
NUMBERS = {
    "yr": ("year since 2011", 1.0),
    "holiday": ("holiday", 1.0),
    "workingday": ("working day", 1.0),
    "temp": ("temperature, °C", 41.0),
    "atemp": ("felt temperature, °C", 50.0),
    "hum": ("humidity, %", 100.0),
    "windspeed": ("wind, km/h", 67.0),
}
"""By column of the table: what it is called here, and what 1 stands for."""
DURATIONS, DIMS = [2500, 1500, 2000, 1000, 3000], [4, 8, 2, 10, 6]


@dataclass(frozen=True)
class Material:
    """Rows with their labels, and the stream that they are for.

    Attributes
    ----------
    rows
        Each the numbers or the record of an example.
    """

    title: str
    description: Description
    rows: Sequence[Any]
    labels: Sequence[float]

    def __len__(self) -> int:
        return len(self.rows)

    def examples(self, start: int, stop: int) -> list[Example]:
        """Return some rows as examples, by what they are called."""
        records = self.description.dim is None
        return [
            Example(f"row-{place + 1}", **({"record": row} if records else {"x": row}))
            for place, row in enumerate(self.rows[start:stop], start)
        ]

    def place(self, id: str) -> int | None:
        """Return which row has this id; None if somebody else sent it."""
        number = id.removeprefix("row-")
        known = number.isascii() and number.isdecimal() and 1 <= int(number) <= len(self)
        return int(number) - 1 if known and id != number else None

    def label(self, id: str) -> float:
        """Return the label of a row."""
        return self.labels[self.place(id) or 0]


def material() -> Material:
    """Return what is there: nothing is downloaded."""
    try:
        copy = BIKE.here()
    except (ValueError, ImportError):
        copy = None
    return made_up() if copy is None else bike(str(copy.paths[0]))


def bike(path: str) -> Material:
    """Return the rentals of every hour of two years, in order of time."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        names, *lines = ([cell.strip() for cell in line] for line in csv.reader(file))
    table = [dict(zip(names, line, strict=True)) for line in lines]
    columns = {name: "category" for name, _ in WORDS.values()} | {
        name: "number" for name, _ in NUMBERS.values()
    }
    description = Description("bikes", columns=columns, label_range=(0.0, 1000.0), budget="5%")
    labels = [float(cells["cnt"]) for cells in table]
    return Material("Bikes rented in an hour", description, [_record(cells) for cells in table], labels)


def _record(cells: dict[str, str]) -> dict[str, Any]:
    words = {name: known[int(cells[column])] for column, (name, known) in WORDS.items()}
    return words | {name: round(unit * float(cells[column]), 2) for column, (name, unit) in NUMBERS.items()}


def made_up() -> Material:
    """Return domains that shift without notice, from a seed."""
    stream = HiddenDomains(DURATIONS, DIMS, seed=0)
    chunk = next(iter(stream.chunks(sum(DURATIONS))))
    description = Description("domains", dim=sum(DIMS), label_range=(-1.0, 1.0), budget="5%")
    return Material("Domains that are made up", description, chunk.X.tolist(), chunk.y.tolist())
