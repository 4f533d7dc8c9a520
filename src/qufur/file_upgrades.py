"""Conversion of learner files that older versions wrote to the current format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qufur.errors import invalid
from qufur.models.base import Model
from qufur.pending import UNKNOWN_TIME
from qufur.storage.container import Content

Arrays = dict[str, np.ndarray[Any, Any]]


def upgraded(header: dict[str, Any], tensors: Mapping[str, Any], model: Model) -> Content:
    """Return the content of a file of version 1 or 2 as content of version 3."""
    # Some files of version 1 contain a block size (".busy").
    arrays = {name: array for name, array in tensors.items() if not name.endswith(".busy")}
    if header["version"] == 1:
        header, arrays = _version_2(header, arrays, model)
    return _version_3(header, arrays, model)


def _version_2(header: dict[str, Any], tensors: Arrays, model: Model) -> Content:
    """Convert the content of version 1 to version 2, which stores largest losses instead of predictions.

    Version 1 lacks the sum of the probabilities; the number of labels bought approximates it.
    """
    added = {"begun": 1, "probability": float(header["spending"]["spent"])}
    header = {**header, "version": 2, "ledger": header["ledger"] | added}
    for name in ("ledger.passed", "ledger.seen"):
        first, *others = tensors[name].T
        tensors[name] = np.column_stack([model.largest_loss(first), *others])
    largest = model.largest_loss(tensors["ledger.open"][:, 0])
    tensors["ledger.open"] = np.column_stack([tensors["ledger.open"], largest])
    return header, tensors


def _version_3(header: dict[str, Any], tensors: Arrays, model: Model) -> Content:
    """Convert the content of version 2 to version 3, which has one group of arrays for pending queries.

    Version 2 spread a query over the ledger, the charges, the positions and the state of the model, which
    used its own names and order. It did not store the position of a query at first; −1, before the stream,
    preserves its charge.
    """
    ids, ledger, state = header["ids"], dict(header["ledger"]), dict(header["state"])
    stored = state.pop("pending")
    position = {id: index for index, id in enumerate(stored)}
    if ids != ledger.pop("open") or set(ids) != position.keys() or len(stored) != len(ids):
        raise invalid("ids", "the file", "the outstanding queries", "others in the state of the model")
    order = np.array([position[id] for id in ids], dtype=np.int64)
    prediction, probability, largest_loss = tensors.pop("ledger.open").T
    columns = {
        "prediction": prediction,
        "probability": probability,
        "mean_probability": probability,
        "at_random": np.zeros(len(ids)),
        "largest_loss": largest_loss,
        "weight": np.ones(len(ids)),
        "step": np.array(state.pop("asked", [0] * len(ids)), dtype=np.float64)[order],
        "labels_seen": np.zeros(len(ids)),
    }
    outputs = np.empty((0, 0, 0))
    tensors.pop("state.novelty.pending", None)  # always empty
    if "state.pending.X" in tensors:  # an ensemble
        features, said, combined, terms, labels_seen = _ensemble_queries(tensors, order)
        _, columns["mean_probability"], columns["at_random"] = terms.T
        columns["labels_seen"] = labels_seen
        if len(ids):
            experts = said.reshape(len(ids), -1, combined.shape[1])
            outputs = np.concatenate([experts, combined[:, None]], axis=1)
    else:
        name = "state.inputs.pending" if "state.inputs.pending" in tensors else "state.pending"
        features = tensors.pop(name)[order]
    if getattr(model, "importance", 0) and len(ids):
        features, columns["weight"] = features[:, :-1], features[:, -1]
    places = header.get("places", [-1] * len(ids))
    new = {**header, "version": 3, "ledger": ledger, "state": state, "places": places}
    tensors |= {
        "pending.numbers": np.column_stack(list(columns.values())),
        "pending.charges": tensors.pop("charges"),
        "pending.features": features if len(ids) else np.empty((0, 0)),
        "pending.expert_outputs": outputs,
        "pending.asked_at": np.full(len(ids), UNKNOWN_TIME, dtype=np.int64),
        "pending.cells": np.full(max(0, len(ids) - 1), ord("\n"), dtype=np.uint8),
    }
    return new, tensors


def _ensemble_queries(tensors: Arrays, order: Sequence[int] | np.ndarray[Any, Any]) -> list[Any]:
    """Remove and return the arrays of an ensemble's queries, in the order of the ids of the learner."""
    # Files did not store "labels" at first.
    count = len(tensors["state.labelled.y"])
    labels_seen = tensors.pop("state.pending.labels", np.full(len(order), float(count)))
    parts = [tensors.pop(f"state.pending.{name}") for name in ("X", "said", "outputs", "terms")]
    return [part[order] for part in (*parts, labels_seen)]
