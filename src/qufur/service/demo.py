"""Demonstration: a live stream with a simulated annotator, on bike-sharing or synthetic data."""

from __future__ import annotations

import asyncio
import calendar
import csv
import gzip
import logging
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.applications import Starlette

from qufur.data.dataset import BIKE
from qufur.service.auth import Scope
from qufur.service.config import StreamConfig
from qufur.service.errors import RequestError
from qufur.service.examples import Example, read_examples
from qufur.service.http import ApiRequest
from qufur.service.routing import Operation, Routes
from qufur.service.service import Service
from qufur.service.writer import Ask, Writer
from qufur.streams import HiddenDomains

WORDS: dict[str, tuple[str, Sequence[str]]] = {
    "hr": ("hour", [f"{hour:02}:00" for hour in range(24)]),
    "weekday": ("weekday", ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]),
    "mnth": ("month", ["", *calendar.month_name[1:]]),
    "season": ("season", ["", "winter", "spring", "summer", "autumn"]),
    "weathersit": ("weather", ["", "clear", "mist", "light rain or snow", "heavy rain or snow"]),
}
"""Display name and meaning of the codes, by column of the table."""
NUMBERS = {
    "yr": ("year since 2011", 1.0),
    "holiday": ("holiday", 1.0),
    "workingday": ("working day", 1.0),
    "temp": ("temperature, °C", 41.0),
    "atemp": ("felt temperature, °C", 50.0),
    "hum": ("humidity, %", 100.0),
    "windspeed": ("wind, km/h", 67.0),
}
"""Display name and unit of the value 1, by column of the table."""
DURATIONS, DIMS = [2500, 1500, 2000, 1000, 3000], [4, 8, 2, 10, 6]
LOG = logging.getLogger("qufur.service")
STEP_SECONDS = 0.25
"""Seconds between two steps."""
STEP_ROWS = 2
"""Rows sent in a step."""
HEAD_START = 400
"""Rows sent without delay at the start, so that the pages have something to show."""
PATIENCE = 40
"""Rows after which the simulated annotator answers a query."""
FEEDER, ANNOTATOR = "demo", "simulated annotator"


@dataclass(frozen=True)
class Material:
    """Examples and labels of the demo, and the configuration of its stream.

    Attributes
    ----------
    examples
        Rows with the ids "row-1", "row-2", …
    """

    title: str
    config: StreamConfig
    examples: Sequence[Example]
    labels: Sequence[float]


def material() -> Material:
    """Return the bike-sharing data if it is cached, else synthetic data. Downloads nothing."""
    try:
        copy = BIKE.here()
    except (ValueError, ImportError):
        copy = None
    return synthetic() if copy is None else bike(str(copy.paths[0]))


def bike(path: str) -> Material:
    """Return the hourly rentals of two years in temporal order."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        names, *lines = ([cell.strip() for cell in line] for line in csv.reader(file))
    table = [dict(zip(names, line, strict=True)) for line in lines]
    columns = {name: "category" for name, _ in WORDS.values()} | {
        name: "number" for name, _ in NUMBERS.values()
    }
    config = StreamConfig("bikes", columns=columns, label_range=(0.0, 1000.0), budget="5%")
    labels = [float(cells["cnt"]) for cells in table]
    examples = [Example(f"row-{number}", record=_record(cells)) for number, cells in enumerate(table, 1)]
    return Material("Bikes rented per hour", config, examples, labels)


def synthetic() -> Material:
    """Return synthetic domains with unannounced shifts, from a fixed seed."""
    stream = HiddenDomains(DURATIONS, DIMS, seed=0)
    chunk = next(iter(stream.chunks(sum(DURATIONS))))
    config = StreamConfig("domains", dim=sum(DIMS), label_range=(-1.0, 1.0), budget="5%")
    examples = [Example(f"row-{number}", x=row) for number, row in enumerate(chunk.X.tolist(), 1)]
    return Material("Synthetic domains", config, examples, chunk.y.tolist())


class Switch(msgspec.Struct, forbid_unknown_fields=True):
    """Whether the simulated annotator answers queries."""

    on: bool


class Demonstration:
    """Feeder and simulated annotator that use the writer as other clients do.

    Time is counted in rows and all data are fixed, so every run is the same. After a restart the demo
    resumes where it stopped.

    Attributes
    ----------
    annotates
        Whether the simulated annotator answers queries.
    sent
        Number of rows sent.
    end
        Ends the demo between two steps.
    """

    def __init__(self, material: Material, pace: float = STEP_SECONDS) -> None:
        self.material, self.pace = material, pace
        self._indices = {example.id: index for index, example in enumerate(material.examples)}
        self.annotates = True
        self.sent = 0
        self.end = threading.Event()

    def state(self) -> dict[str, Any]:
        """Return the progress of the demo, as the routes send it."""
        return {
            "stream": self.material.config.name,
            "data": self.material.title,
            "annotator": self.annotates,
            "rows": self.sent,
            "of": len(self.material.examples),
        }

    def run(self, writer: Writer) -> None:
        """Run until `end` is set."""
        try:
            self.sent = writer.call(self._begin)
            while not self.end.wait(self.pace if self.sent >= HEAD_START else 0.0):
                self.step(writer)
        except RequestError as error:
            LOG.warning("The demo stopped: %s", error)
        except Exception:
            LOG.exception("The demo stopped")

    def _begin(self, service: Service) -> int:
        """Create the stream and return the number of rows already sent."""
        stream, _ = service.create(self.material.config, FEEDER)
        return stream.workbook.rows

    def step(self, writer: Writer) -> None:
        """Send the next rows, and answer queries that are `PATIENCE` rows old."""
        count = STEP_ROWS if self.sent >= HEAD_START else PATIENCE
        examples = self.material.examples[self.sent : self.sent + count]
        if examples:
            rows = read_examples(self.material.config, examples)
            writer.submit(Ask(self.material.config.name, rows, FEEDER)).result()
            self.sent += len(examples)
        if self.annotates:
            writer.call(self._annotate)

    def _annotate(self, service: Service) -> None:
        name, last = self.material.config.name, self.sent - PATIENCE
        is_finished = self.sent >= len(self.material.examples)
        labels: dict[str, float] = {}
        for id in service.stream(name).waiting:
            index = self._indices.get(id)  # None if another client sent the row
            if index is not None and (is_finished or index < last):
                labels[id] = self.material.labels[index]
        if labels:
            service.tell(name, labels, ANNOTATOR, replace=False, accept_outliers=True)


def attach(app: Starlette, pace: float = STEP_SECONDS) -> Demonstration:
    """Add a demo to an application. It starts and stops with the application."""
    demonstration = Demonstration(material(), pace)
    inner = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[Any]:
        async with inner(app) as state:
            # In a thread: the writer delivers results through the event loop, which must keep running.
            running = asyncio.create_task(asyncio.to_thread(demonstration.run, app.state.writer))
            yield state
            demonstration.end.set()
            await running

    app.router.lifespan_context = lifespan
    app.routes.extend(_routes(demonstration))
    return demonstration


def _record(cells: dict[str, str]) -> dict[str, Any]:
    words = {name: meanings[int(cells[column])] for column, (name, meanings) in WORDS.items()}
    return words | {name: round(unit * float(cells[column]), 2) for column, (name, unit) in NUMBERS.items()}


def _routes(demonstration: Demonstration) -> Routes:
    routes = Routes(prefix="/demo", tag="demonstration")
    name = demonstration.material.config.name

    @routes.add("GET", Operation(Scope.read, stream=name))
    async def state(request: ApiRequest) -> dict[str, Any]:
        """Return the progress of the demo, and whether the simulated annotator is on."""
        return demonstration.state()

    @routes.add("POST /annotator", Operation(Scope.label, stream=name, example={"on": True}))
    async def switch(request: ApiRequest, body: Switch) -> dict[str, Any]:
        """Switch the simulated annotator on or off, and return the progress of the demo."""
        demonstration.annotates = body.on
        return demonstration.state()

    return routes
