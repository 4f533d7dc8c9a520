"""Routes of examples: decide on queries, predict only, learn from existing labels."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.service import examples, views
from qufur.service.auth import Scope
from qufur.service.config import StreamConfig
from qufur.service.http import ApiRequest, MalformedError, decode
from qufur.service.recorded_answers import AnswerBody
from qufur.service.responses import Learned, Prediction
from qufur.service.routing import NPY, Header, Operation, Routes
from qufur.service.writer import Ask
from qufur.tables import Batch
from qufur.workbook import Workbook

routes = Routes(prefix="/v1/streams/{stream}", tag="examples")
EXAMPLES: Any = examples.Example | list[examples.Example]
REQUESTS: Any = examples.PredictionRequest | list[examples.PredictionRequest]
EXAMPLE = {"x": [0.5, 2.0]}
ID_HEADERS = (
    Header(
        "X-First-Id",
        {"type": "integer", "minimum": 0},
        "For a NumPy matrix: numeric id of the first row.",
    ),
    Header("X-Id-Prefix", {"type": "string"}, "For a NumPy matrix: text in front of the numeric ids."),
)


@routes.add(
    "POST /examples",
    Operation(Scope.ingest, example={"id": "a7", **EXAMPLE}, inputs=EXAMPLES, headers=ID_HEADERS),
)
async def ask(request: ApiRequest, stream: str) -> AnswerBody | list[AnswerBody]:
    """Predict on one example or a list, and decide which labels to buy.

    Returns one answer for an object and a list of answers for a list. An existing id with the same content
    returns its original answer; with other content, 409. The body can also be a matrix of numbers as
    `application/x-npy`: the header `X-First-Id` holds the numeric id of its first row, and `X-Id-Prefix` a
    text in front of the ids.
    """
    # No variable holds the body while the answer is awaited, so its memory is free for the next request.
    rows, is_single = _read(request, await request.content(), await request.config(stream))
    if not len(rows):
        return []
    answers: list[AnswerBody] = await request.execute(Ask(stream, rows, request.actor))
    return answers[0] if is_single else answers


def _read(request: ApiRequest, body: bytes, config: StreamConfig) -> tuple[examples.Rows, bool]:
    """Return the examples of a body, and whether it is a single example."""
    if request.headers.get("content-type") == NPY:
        X = _matrix(request, config, body)
        ids = _consecutive(request, len(X))
        return examples.numbered(ids, examples.check_numbers(X, ids)), False
    listed, is_single = _listed(request, body, EXAMPLES)
    return examples.read_examples(config, listed), is_single


def _listed(request: ApiRequest, body: bytes, body_type: Any) -> tuple[list[Any], bool]:
    """Return the examples of a JSON body as a list, and whether it is a single example."""
    decoded = decode(body, body_type)
    is_single = not isinstance(decoded, list)
    listed = [decoded] if is_single else decoded
    request.limits.check_batch(len(listed))
    return listed, is_single


@routes.add("POST /predict", Operation(Scope.read, example=EXAMPLE, inputs=REQUESTS))
async def predict(request: ApiRequest, stream: str) -> Prediction | list[Prediction]:
    """Predict on one example or a list. Buys no label and stores nothing."""
    body, config = await request.content(), await request.config(stream)
    inputs: Floats | Batch
    if request.headers.get("content-type") == NPY:
        inputs, is_single = examples.check_numbers(_matrix(request, config, body)), False
    else:
        listed, is_single = _listed(request, body, REQUESTS)
        inputs = examples.read_inputs(config, listed)
    if not len(inputs):
        return []
    workbook = await request.in_writer(lambda service: views.copy_for_predictions(service.stream(stream)))
    predictions = await request.read(lambda store: _predict(workbook, inputs))
    return predictions[0] if is_single else predictions


@routes.add("POST /learn", Operation(Scope.ingest, example=[{"id": "a8", **EXAMPLE, "label": 3.5}]))
async def learn(request: ApiRequest, stream: str, body: list[examples.LabelledExample]) -> Learned:
    """Learn from examples that already have labels, at no cost to the budget.

    Returns the number of new examples, and of examples that were already stored.
    """
    request.limits.check_batch(len(body))
    config = await request.config(stream)
    rows = examples.read_examples(config, body)
    labels = [
        examples.read_label(config, example.label, id) for example, id in zip(body, rows.ids, strict=True)
    ]
    new = 0
    if labels:
        new = await request.in_writer(lambda service: service.learn(stream, rows, labels, request.actor))
    return Learned(new, len(rows) - new)


def _matrix(request: ApiRequest, config: StreamConfig, body: bytes) -> Floats:
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
    request.limits.check_batch(len(X))
    return np.ascontiguousarray(X, dtype="<f8")


def _consecutive(request: ApiRequest, count: int) -> list[str]:
    """Return the ids of the rows of a matrix."""
    first, prefix = request.headers.get("x-first-id", ""), request.headers.get("x-id-prefix", "")
    if not (first.isascii() and first.isdecimal() and len(first) < 19):
        raise invalid(
            "X-First-Id", "the request", "a whole number, the id of the first row", ascii(first)[:80]
        )
    if not prefix.isascii():  # HTTP does not define the encoding of other characters
        raise invalid("X-Id-Prefix", "the request", "ASCII", ascii(prefix)[:80])
    return [examples.as_id(f"{prefix}{number}") for number in range(int(first), int(first) + count)]


def _predict(workbook: Workbook, inputs: Floats | Batch) -> list[Prediction]:
    learner = workbook.learner
    X = workbook.encoding.encode(inputs) if isinstance(inputs, Batch) else inputs
    if learner.dim is None:  # before the first example the number of inputs is unknown
        return [Prediction(None, None)] * len(X)
    return list(map(Prediction, learner.predict(X).tolist(), learner.uncertainty(X).tolist()))
