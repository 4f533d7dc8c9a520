"""The record of a query whose label has not arrived."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qufur.arrays import Floats, check_shapes
from qufur.errors import invalid
from qufur.ids import Id
from qufur.rules.spending import NOTHING, Charge

NUMBERS = (
    "prediction",
    "probability",
    "mean_probability",
    "at_random",
    "largest_loss",
    "weight",
    "step",
    "labels_seen",
)
"""Fields that a file stores as columns of one array, in this order."""
UNKNOWN_TIME = -1
"""Value in files for a query whose time is unknown."""


@dataclass(slots=True, eq=False)
class Pending:
    """A query whose label has not arrived: the only record of it.

    `Learner.pending` owns these records, and everything else holds ids or borrows them. The learner writes
    the fields of the decision, the state of the model those from `features` to `expert_outputs`, and the
    workbook or service the last two. The defaults are the terms of a free label.

    Attributes
    ----------
    id
        Id of the example.
    prediction, probability, largest_loss
        Those of the decision, no matter when the label arrives. `largest_loss` is an upper bound of the loss;
        0 if none was known.
    mean_probability
        Mean of the probabilities of all examples up to this one; `probability` for a model that does not use
        purchase terms.
    at_random
        Whether the uniform draw was below the rule's floor: such labels are a uniform sample of the stream.
        False for a model that does not use purchase terms.
    charge
        The copies of the rule that were charged; a retraction refunds them.
    features
        The input as the model stores it: for a linear model the row as it enters M, without weight and
        discount. None until the state has recorded the query, and for a model that stores no inputs.
    weight
        Importance weight, fixed at the query.
    step
        Discounts before the query, for a model that forgets.
    labels_seen
        Labels that had arrived before the query, for an ensemble.
    expert_outputs
        Outputs of the experts and, last, of the ensemble: (experts + 1, outputs).
    asked_at
        Time of the query in microseconds since 1970, for annotators; None if unknown.
    cells
        The row as annotators see it: one line of JSON, see `qufur.workbook.pending_rows`.
    """

    id: Id
    prediction: float = 0.0
    probability: float = 1.0
    mean_probability: float = 1.0
    at_random: bool = False
    largest_loss: float = 0.0
    charge: Charge = NOTHING
    features: Floats | None = None
    weight: float = 1.0
    step: int = 0
    labels_seen: int = 0
    expert_outputs: Floats | None = None
    asked_at: int | None = None
    cells: str | None = None

    def closed(self) -> Pending:
        """Return the terms of the purchase alone, for a label that arrives after a retraction."""
        terms = self.probability, self.mean_probability, self.at_random, self.largest_loss
        return Pending(self.id, self.prediction, *terms)


PendingQueries = dict[Id, Pending]


def decisions(queries: Iterable[Pending]) -> Floats:
    """Return an array with prediction, probability and largest loss of each query as rows.

    >>> decisions([Pending("a", 0.5, 0.25, largest_loss=2.25)])
    array([[0.5 , 0.25, 2.25]])
    """
    rows = [(query.prediction, query.probability, query.largest_loss) for query in queries]
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def closed_queries(ids: Iterable[Id], terms: Floats) -> PendingQueries:
    """Return closed queries from their `decisions`, mean probabilities and `at_random` as rows."""
    return {
        id: Pending(id, prediction, probability, mean, bool(at_random), largest_loss)
        for id, (prediction, probability, largest_loss, mean, at_random) in zip(
            ids, terms.tolist(), strict=True
        )
    }


def purchase_terms(queries: Iterable[Pending]) -> Floats:
    """Return an array with probability, mean probability and `at_random` of each query as rows."""
    rows = [(query.probability, query.mean_probability, query.at_random) for query in queries]
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def feature_rows(queries: Collection[Pending]) -> Floats:
    """Return the features of recorded queries as a matrix."""
    rows = [query.features for query in queries]
    if not rows or rows[0] is None:  # the model stores no inputs
        return np.empty((len(rows), 0))
    return np.array(rows, dtype=np.float64)


def widen_features(pending: Mapping[Id, Pending], constants: Floats, place: int | None = None) -> None:
    """Insert constant columns into the features of all queries, before column `place` or at the end."""
    for query in pending.values():
        row = feature_rows([query])[0]
        query.features = np.insert(row, [len(row) if place is None else place] * len(constants), constants)


def check_features(pending: Mapping[Id, Pending], width: int) -> None:
    """Raise `InvalidError` if features from a file have another length than the model's rows."""
    if pending:
        check_shapes({"features": feature_rows(pending.values())}, {"features": "nd"}, d=width)


def save_pending(queries: Collection[Pending], copies: int) -> dict[str, np.ndarray[Any, Any]]:
    """Return pending queries as named arrays; `copies` is the number of copies of the rule.

    Ids and positions are not included: the header of a file has them as JSON values.
    """
    numbers = [[getattr(query, name) for name in NUMBERS] for query in queries]
    outputs = [query.expert_outputs for query in queries if query.expert_outputs is not None]
    times = [UNKNOWN_TIME if query.asked_at is None else query.asked_at for query in queries]
    lines = "\n".join(query.cells or "" for query in queries)
    return {
        "numbers": np.array(numbers, dtype=np.float64).reshape(-1, len(NUMBERS)),
        "charges": np.array([query.charge.copies for query in queries], dtype=bool).reshape(-1, copies),
        "features": feature_rows(queries),
        "expert_outputs": np.array(outputs) if outputs else np.empty((0, 0, 0)),
        "asked_at": np.array(times, dtype=np.int64),
        "cells": np.frombuffer(lines.encode("utf-8", "surrogatepass"), dtype=np.uint8),
    }


def restore_pending(
    ids: Sequence[Id], places: Sequence[int], arrays: Mapping[str, np.ndarray[Any, Any]]
) -> PendingQueries:
    """Return the queries from ids, positions, and the arrays of `save_pending`."""
    names = ("numbers", "charges", "features", "asked_at")
    check_shapes(arrays, dict(zip(names, ("nk", "nc", "nd", "n"), strict=True)), n=len(ids))
    outputs = arrays["expert_outputs"]
    if len(outputs) not in (0, len(ids)):
        raise invalid("expert_outputs", "a saved state", f"of {len(ids)} queries", len(outputs))
    lines = arrays["cells"].tobytes().decode("utf-8", "surrogatepass").split("\n") if ids else []
    charges = map(Charge, arrays["charges"], places)
    columns = arrays["numbers"].tolist(), arrays["features"], arrays["asked_at"].tolist()
    pending: PendingQueries = {}
    for id, charge, numbers, features, at, line in zip(ids, charges, *columns, lines, strict=True):
        query = pending[id] = Pending(id, **dict(zip(NUMBERS, numbers, strict=True)), charge=charge)
        query.at_random = bool(query.at_random)
        query.step, query.labels_seen = int(query.step), int(query.labels_seen)
        query.features = features if len(features) else None
        query.asked_at, query.cells = None if at == UNKNOWN_TIME else at, line or None
    for query, rows in zip(pending.values(), outputs, strict=False):
        query.expert_outputs = rows
    return pending
