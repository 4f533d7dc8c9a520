"""What routes answer, for the description of the interface."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class State(Struct):
    """How a stream stands; `digest` is that of its state, where it was asked for."""

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
    """Streams, by name."""

    streams: list[State]


class Series(Struct):
    """How the work went: labels bought as rows came, and errors as labels came, at the rows of `at`."""

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
    """One of the experts that predict together."""

    name: str
    weight: float
    error: float | None


class Headline(Struct):
    """The error of all predictions so far with its interval; `covered` is the share of rows it is about.

    `at_random` is the error with as many random labels, null unless the difference is clear.
    """

    error: float | None
    low: float | None
    high: float | None
    covered: float
    at_random: float | None
    confidence: float
    unit: str


class Report(Struct):
    """How it is going, in sentences; the headline error in numbers."""

    spent: list[str]
    error: list[str]
    shifts: list[str]
    next: list[str]
    headline: Headline
    experts: list[Expert] | None


class Model(Struct):
    """What predicts."""

    model: str
    inputs: int
    labels: int
    experts: list[Expert] | None


class Happened(Struct):
    """An event, without its inputs and labels; `at` is in seconds since 1970."""

    seq: int
    kind: str
    at: float
    actor: str
    count: int
    hash: str


class Events(Struct):
    """Events in order, and after which to go on."""

    events: list[Happened]
    next: int


class Prediction(Struct):
    """A prediction, and how little is known about the input; null before the first row came."""

    prediction: float | str | None
    uncertainty: float | None


class Learned(Struct):
    """How many were new, and how many came before."""

    new: int
    known: int


class Labelled(Struct):
    """A label, and whether it was new."""

    id: str
    label: float | str
    new: bool


class Reading(Struct):
    """A number that a typed text can mean, and the decimal mark with which it does."""

    label: float
    decimal: str


class Readings(Struct):
    """The numbers that a typed text can mean."""

    readings: list[Reading]


class Named(Struct):
    """The id of an example."""

    id: str


class Waiting(Struct):
    """A row that waits, since when, and who has it."""

    id: str
    asked_at: float
    leased_to: str | None


class Queue(Struct):
    """How many rows wait, how many of them people have, and the oldest of them."""

    waiting: int
    leased: int
    oldest_seconds: float | None
    rows: list[Waiting]


class Leased(Struct):
    """A row for somebody who labels it: its numbers, or its record."""

    id: str
    prediction: float | str | None
    why: str | None
    asked_at: float
    x: list[float] | None = None
    record: dict[str, Any] | None = None


class Lease(Struct):
    """The next rows for one person, and how many wait in all."""

    rows: list[Leased]
    waiting: int


class Erased(Struct):
    """How many examples were erased, and in how many places of the log they were."""

    erased: int
    parts: int


class Deleted(Struct):
    """A deleted stream, how many events it had, and how many keys for it alone were revoked."""

    name: str
    events: int
    keys: int


class Released(Struct):
    """How many rows were given back."""

    released: int


class Status(Struct):
    """One word."""

    status: str
