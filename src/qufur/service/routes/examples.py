"""Routes of examples: decide on queries, predict only, learn from existing labels."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.service.auth import Scope
from qufur.service.config import StreamConfig
from qufur.service.examples import (
    Example,
    LabelledExample,
    PredictionRequest,
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
from qufur.service.http import (
    MalformedError,
    answer,
    authorize,
    config_of,
    decode,
    in_writer,
    json_response,
    read_body,
)
from qufur.service.openapi import NPY, Learned, Prediction, header
from qufur.service.recorded_answers import AnswerBody
from qufur.service.routing import Operation, Routes
from qufur.service.service import Service

routes = Routes(prefix="/v1/streams/{stream}", tag="examples")
EXAMPLES: Any = Example | list[Example]
REQUESTS: Any = PredictionRequest | list[PredictionRequest]
EXAMPLE = {"x": [0.5, 2.0]}
ID_HEADERS = (
    header(
        "X-First-Id",
        {"type": "integer", "minimum": 0},
        "For a NumPy matrix: numeric id of the first row.",
    ),
    header("X-Id-Prefix", {"type": "string"}, "For a NumPy matrix: text in front of the numeric ids."),
)


@routes.add(
    "POST /examples",
    Operation(
        AnswerBody | list[AnswerBody],
        EXAMPLES,
        example={"id": "a7", **EXAMPLE},
        binary=True,
        parameters=ID_HEADERS,
    ),
)
async def ask(request: Request, stream: str) -> Response:
    """Predict on one example or a list, and decide which labels to buy.

    Returns one answer for an object and a list of answers for a list. An existing id with the same content
    returns its original answer; with other content, 409. The body can also be a matrix of numbers as
    `application/x-npy`: the header `X-First-Id` holds the numeric id of its first row, and `X-Id-Prefix` a
    text in front of the ids.
    """
    key = authorize(request, Scope.ingest, stream)
    # No variable holds the body while the answer is awaited, so its memory is free for the next request.
    rows, is_single = _read(request, await read_body(request), await config_of(request, stream))
    if not len(rows):
        return json_response([])
    answers = await answer(request, stream, rows, key.name)
    return json_response(answers[0] if is_single else answers)


def _read(request: Request, body: bytes, config: StreamConfig) -> tuple[Rows, bool]:
    """Return the examples of a body, and whether it is a single example."""
    if request.headers.get("content-type") == NPY:
        X = _matrix(request, config, body)
        ids = _consecutive(request, len(X))
        return numbered(ids, check_numbers(X, ids)), False
    decoded = decode(body, EXAMPLES)
    is_single = not isinstance(decoded, list)
    examples = [decoded] if is_single else decoded
    request.app.state.limits.check_batch(len(examples))
    return read_examples(config, examples), is_single


@routes.add(
    "POST /predict",
    Operation(Prediction | list[Prediction], REQUESTS, example=EXAMPLE, binary=True),
)
async def predict(request: Request, stream: str) -> Response:
    """Predict on one example or a list. Buys no label and stores nothing."""
    authorize(request, Scope.read, stream)
    body = await read_body(request)
    config = await config_of(request, stream)
    X, records, is_single = None, [], False
    if request.headers.get("content-type") == NPY:
        X = check_numbers(_matrix(request, config, body))
    else:
        decoded = decode(body, REQUESTS)
        is_single = not isinstance(decoded, list)
        inputs = [decoded] if is_single else decoded
        request.app.state.limits.check_batch(len(inputs))
        if config.dim is None:
            records = read_records(config, inputs)
        else:
            X = read_numbers(config, inputs)

    def do(service: Service) -> list[dict[str, Any]]:
        return _predict(service, stream, X, records)

    predictions = await in_writer(request, do) if records or (X is not None and len(X)) else []
    return json_response(predictions[0] if is_single else predictions)


@routes.add(
    "POST /learn", Operation(Learned, list[LabelledExample], example=[{"id": "a8", **EXAMPLE, "label": 3.5}])
)
async def learn(request: Request, stream: str) -> Response:
    """Learn from examples that already have labels, at no cost to the budget.

    Returns the number of new examples, and of examples that were already stored.
    """
    key = authorize(request, Scope.ingest, stream)
    labelled = decode(await read_body(request), list[LabelledExample])
    request.app.state.limits.check_batch(len(labelled))
    config = await config_of(request, stream)
    rows = read_examples(config, labelled)
    labels = [read_label(config, example.label, id) for example, id in zip(labelled, rows.ids, strict=True)]
    new = 0
    if labels:
        new = await in_writer(request, lambda service: service.learn(stream, rows, labels, key.name))
    return json_response({"new": new, "known": len(rows) - new})


def _matrix(request: Request, config: StreamConfig, body: bytes) -> Floats:
    """Load a matrix in NumPy's format, without pickled objects, which could run code."""
    if config.dim is None:
        raise invalid("the body", "the request", "JSON, as the stream has columns", NPY)
    try:
        X = np.load(io.BytesIO(body), allow_pickle=False)
        is_valid = isinstance(X, np.ndarray) and X.dtype.kind == "f"
    except Exception:  # NumPy raises many types of exceptions for malformed bytes
        is_valid = False
    if not is_valid:
        raise MalformedError("The body is not an array of floating-point numbers in NumPy's format.")
    if X.ndim != 2 or X.shape[1] != config.dim:
        raise invalid("the array", "the request", f"of shape (n, {config.dim})", X.shape)
    request.app.state.limits.check_batch(len(X))
    return np.ascontiguousarray(X, dtype="<f8")


def _consecutive(request: Request, count: int) -> list[str]:
    """Return the ids of the rows of a matrix."""
    first, prefix = request.headers.get("x-first-id", ""), request.headers.get("x-id-prefix", "")
    if not (first.isascii() and first.isdecimal() and len(first) < 19):
        raise invalid(
            "X-First-Id", "the request", "a whole number, the id of the first row", ascii(first)[:80]
        )
    if not prefix.isascii():  # HTTP does not define the encoding of other characters
        raise invalid("X-Id-Prefix", "the request", "ASCII", ascii(prefix)[:80])
    return [as_id(f"{prefix}{number}") for number in range(int(first), int(first) + count)]


def _predict(service: Service, name: str, X: Floats | None, records: Any) -> list[dict[str, Any]]:
    stream = service.stream(name)
    workbook = stream.workbook
    if X is None:
        X = workbook.encoding.encode(batch_of(stream.config, records))
    learner = workbook.learner
    if learner.dim is None:  # before the first example the number of inputs is unknown
        return [{"prediction": None, "uncertainty": None} for _ in range(len(X))]
    columns = learner.predict(X).tolist(), learner.uncertainty(X).tolist()
    return [
        {"prediction": prediction, "uncertainty": delta} for prediction, delta in zip(*columns, strict=True)
    ]
