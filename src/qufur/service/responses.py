"""Types of the JSON responses. Their docstrings are the descriptions in the OpenAPI document."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class State(Struct):
    """Status of a stream. `digest` identifies its state; null unless requested."""

    name: str
    dim: int | None
    columns: dict[str, str] | None
    classes: list[str] | None
    label_range: tuple[float, float] | None
    model: str
    rule: str
    budget: float | None
    rows: int
    spent: int
    left: int | None
    outstanding: int
    told: int
    events: int
    digest: str | None


class States(Struct):
    """List of streams, sorted by name."""

    streams: list[State]


class Series(Struct):
    """Progress of a stream: labels bought at `rows`; errors, weights and baselines at the rows `at`."""

    rows: list[int]
    spent: list[int]
    plan: list[float] | None
    at: list[int]
    error: list[float | None]
    low: list[float | None]
    high: list[float | None]
    at_random: list[float | None]
    constant: list[float | None]
    weights: list[dict[str, float]]
    shifts: list[int]
    unit: str


class Expert(Struct):
    """Expert of an ensemble."""

    name: str
    weight: float
    error: float | None


class Headline(Struct):
    """Error of all predictions so far and its interval. `covered` is the share of rows it applies to.

    `at_random` is the error with the same number of random labels; null unless the difference is clear.
    """

    error: float | None
    low: float | None
    high: float | None
    covered: float
    at_random: float | None
    confidence: float
    unit: str


class Report(Struct):
    """Progress as text, and the headline error in numbers."""

    spent: list[str]
    error: list[str]
    shifts: list[str]
    next: list[str]
    headline: Headline
    experts: list[Expert] | None


class Model(Struct):
    """Model of a stream."""

    model: str
    inputs: int
    labels: int
    experts: list[Expert] | None


class EventInfo(Struct):
    """Event without its inputs and labels. `at` is in seconds since 1970."""

    seq: int
    kind: str
    at: float
    actor: str
    count: int
    hash: str


class Events(Struct):
    """Page of events in order. `next` is the value of `after` for the next page."""

    events: list[EventInfo]
    next: int


class Prediction(Struct):
    """Prediction and uncertainty; null before the first example of a stream with columns."""

    prediction: float | str | None
    uncertainty: float | None


class Learned(Struct):
    """Number of new labels, and of labels that were already stored."""

    new: int
    known: int


class Labelled(Struct):
    """Label, and whether it was new."""

    id: str
    label: float | str
    new: bool


class Reading(Struct):
    """Number that a text can mean, with the decimal mark of this reading."""

    label: float
    decimal: str


class Readings(Struct):
    """Numbers that a text can mean."""

    readings: list[Reading]


class ExampleId(Struct):
    """Id of an example."""

    id: str


class Waiting(Struct):
    """Pending row: when its label was asked for, in seconds since 1970, and who has leased it."""

    id: str
    asked_at: float
    leased_to: str | None


class Queue(Struct):
    """Number of pending rows, number of leased rows, and the oldest pending rows."""

    waiting: int
    leased: int
    oldest_seconds: float | None
    rows: list[Waiting]


class Leased(Struct, omit_defaults=True):
    """Leased row with its numbers or its record."""

    id: str
    prediction: float | str | None
    why: str | None
    asked_at: float
    x: list[float] | None = None
    record: dict[str, Any] | None = None


class Lease(Struct):
    """Rows leased to one annotator, and the number of pending rows."""

    rows: list[Leased]
    waiting: int


class Erased(Struct):
    """Number of erased examples, and of parts of the event log that contained them."""

    erased: int
    parts: int


class Deleted(Struct):
    """Deleted stream, its number of events, and the number of revoked keys."""

    name: str
    events: int
    keys: int


class Released(Struct):
    """Number of released rows."""

    released: int


class Status(Struct):
    """Status in one word."""

    status: str


class Refusal(Struct):
    """Error message."""

    error: str
