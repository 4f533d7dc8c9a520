"""Examples: answered, predicted, or learned with labels that are there."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from fastapi import APIRouter, Request
from starlette.responses import Response

from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.service.access import Scope
from qufur.service.answers import Learned, Prediction
from qufur.service.decided import Said
from qufur.service.description import Description
from qufur.service.documented import NPY, header, route
from qufur.service.examples import (
    Example,
    Lesson,
    Question,
    Rows,
    as_id,
    batch_of,
    check_numbers,
    numbered,
    read_examples,
    read_label,
    read_numbers,
    read_records,
)
from qufur.service.replies import reply
from qufur.service.requests import MalformedError, answer, body_of, decoder, description_of, key_of, perform
from qufur.service.service import Service

router = APIRouter(prefix="/v1/streams/{stream}", tags=["examples"])
EXAMPLE = {"x": [0.5, 2.0]}
IDS = (
    header(
        "X-First-Id", {"type": "integer", "minimum": 0}, "With NumPy's format: the number of the first row."
    ),
    header("X-Id-Prefix", {"type": "string"}, "What stands before these numbers in the ids."),
)

_examples: Any = decoder(Example | list[Example])
_questions: Any = decoder(Question | list[Question])
_lessons: Any = decoder(list[Lesson])


@router.post(
    "/examples",
    **route(
        Said | list[Said],
        Example | list[Example],
        example={"id": "a7", **EXAMPLE},
        binary=True,
        parameters=IDS,
    ),
)
async def ask(request: Request, stream: str) -> Response:
    """Predict on examples and say which labels are wanted; one object in, one out, or a list.

    As `application/x-npy`, a matrix of numbers, with the id of the first row in `X-First-Id`, a number; what
    `X-Id-Prefix` says stands before it.
    """
    key = key_of(request, Scope.ingest, stream)
    # What the body is made of is gone before the answer is awaited, and its memory is there for the next one.
    rows, single = _read(request, await body_of(request), await description_of(request, stream))
    if not len(rows):
        return reply([])
    said = await answer(request, stream, rows, key.name)
    return reply(said[0] if single else said)


def _read(request: Request, body: bytes, description: Description) -> tuple[Rows, bool]:
    """Return the examples of a body, and whether it is one that stands alone."""
    if request.headers.get("content-type") == NPY:
        X = _matrix(request, description, body)
        ids = _consecutive(request, len(X))
        return numbered(ids, check_numbers(X, ids)), False
    found = _examples(body)
    single = not isinstance(found, list)
    examples = [found] if single else found
    request.app.state.limits.check_batch(len(examples))
    return read_examples(description, examples), single


@router.post(
    "/predict",
    **route(Prediction | list[Prediction], Question | list[Question], example=EXAMPLE, binary=True),
)
async def predict(request: Request, stream: str) -> Response:
    """Predict without asking: nothing is kept."""
    key_of(request, Scope.read, stream)
    body = await body_of(request)
    description = await description_of(request, stream)
    X, records, single = None, [], False
    if request.headers.get("content-type") == NPY:
        X = check_numbers(_matrix(request, description, body))
    else:
        found = _questions(body)
        single = not isinstance(found, list)
        questions = [found] if single else found
        request.app.state.limits.check_batch(len(questions))
        if description.dim is None:
            records = read_records(description, questions)
        else:
            X = read_numbers(description, questions)

    def do(service: Service) -> list[dict[str, Any]]:
        return _predicted(service, stream, X, records)

    said = await perform(request, do) if records or (X is not None and len(X)) else []
    return reply(said[0] if single else said)


@router.post("/learn", **route(Learned, list[Lesson], example=[{"id": "a8", **EXAMPLE, "label": 3.5}]))
async def learn(request: Request, stream: str) -> Response:
    """Learn examples with labels that were free."""
    key = key_of(request, Scope.ingest, stream)
    lessons: list[Lesson] = _lessons(await body_of(request))
    request.app.state.limits.check_batch(len(lessons))
    description = await description_of(request, stream)
    rows = read_examples(description, lessons)
    labels = [read_label(description, one.label, id) for one, id in zip(lessons, rows.ids, strict=True)]
    new = (
        await perform(request, lambda service: service.learn(stream, rows, labels, key.name)) if labels else 0
    )
    return reply({"new": new, "known": len(rows) - new})


def _matrix(request: Request, description: Description, body: bytes) -> Floats:
    """Return a matrix in NumPy's format, without anything that can run code."""
    if description.dim is None:
        raise invalid("the body", "the request", "JSON, as the stream has columns", NPY)
    try:
        X = np.load(io.BytesIO(body), allow_pickle=False)
        sound = isinstance(X, np.ndarray) and X.dtype.kind == "f"
    except Exception:  # bytes from elsewhere can be wrong in any way
        sound = False
    if not sound:
        raise MalformedError("The body is no array of floating-point numbers in NumPy's format.")
    if X.ndim != 2 or X.shape[1] != description.dim:
        raise invalid("the array", "the request", f"of shape (n, {description.dim})", X.shape)
    request.app.state.limits.check_batch(len(X))
    return np.ascontiguousarray(X, dtype="<f8")


def _consecutive(request: Request, count: int) -> list[str]:
    """Return the ids of the rows of a matrix."""
    first, prefix = request.headers.get("x-first-id", ""), request.headers.get("x-id-prefix", "")
    if not (first.isascii() and first.isdecimal() and len(first) < 19):
        raise invalid(
            "X-First-Id", "the request", "a whole number, the id of the first row", ascii(first)[:80]
        )
    if not prefix.isascii():  # HTTP does not say what other letters are
        raise invalid("X-Id-Prefix", "the request", "ASCII", ascii(prefix)[:80])
    return [as_id(f"{prefix}{number}") for number in range(int(first), int(first) + count)]


def _predicted(service: Service, name: str, X: Floats | None, records: Any) -> list[dict[str, Any]]:
    stream = service.stream(name)
    book = stream.book
    if X is None:
        X = book.encoding.encode(batch_of(stream.description, records))
    learner = book.learner
    if learner.dim is None:  # no row came yet, so that it is not known how many columns there will be
        return [{"prediction": None, "uncertainty": None} for _ in range(len(X))]
    columns = learner.predict(X).tolist(), learner.uncertainty(X).tolist()
    return [
        {"prediction": prediction, "uncertainty": delta} for prediction, delta in zip(*columns, strict=True)
    ]
