"""Learner over dicts of named features; new names may appear at any time."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from qufur.arrays import Floats, as_labels
from qufur.errors import invalid
from qufur.learner import Learner
from qufur.models import Ridge, Softmax
from qufur.models._widen import with_columns
from qufur.models.ensemble.model import EnsembleModel
from qufur.rules import Rule
from qufur.workbook.classes import with_classes

Features = Mapping[Any, Any]


class DictLearner:
    """Learner over dicts: each name has a column, and a new name adds a column that was 0 before.

    `Experts` and `Refit` cannot add columns: they ignore names that are missing in the first example.

    Column 0 is the intercept, or 0 without an intercept, so that an input without features has a column.
    Memory is O(d²) for d names, including names that never occur again.

    Parameters
    ----------
    model
        `Ridge` or `Softmax`, of one column; or `Experts` or `Refit`, of any number of columns.
    rule, seed
        As in `Learner`.
    intercept
        Whether column 0 is 1.
    owner
        Class named in error messages.

    Attributes
    ----------
    learner
        The underlying learner.
    columns
        Column index by name.
    pending
        Ids of pending queries by the queried features, the oldest first.

    Examples
    --------
    >>> from qufur import QuFUR
    >>> dicts = DictLearner(Ridge(1), QuFUR(2.0), intercept=False, seed=0, owner="Face")
    >>> dicts.ask({"a": 1.0}), dicts.learn({"a": 1.0}, 1.0), dicts.learn({"b": 1.0}, 0.5)
    (True, None, None)
    >>> dicts.learner.predict(dicts.row({"a": 1.0, "b": 1.0})), dicts.learner.spent
    (array([0.75]), 1)
    """

    def __init__(
        self,
        model: Ridge | Softmax | EnsembleModel,
        rule: Rule,
        *,
        intercept: bool,
        seed: int | np.random.Generator,
        owner: str,
    ) -> None:
        self.learner = Learner(model, rule, seed=seed)
        self.intercept = float(intercept)
        self.owner = owner
        self.columns: dict[Hashable, int] = {}
        self.pending: dict[frozenset[tuple[Hashable, Any]], list[int]] = {}

    def row(self, x: Features) -> Floats:
        """Return features as a vector; names without a column are ignored."""
        self._check(x)
        row = np.zeros(len(self.columns) + 1)
        row[0] = self.intercept
        for name, value in x.items():
            if name in self.columns:
                row[self.columns[name]] = value
        return row

    def ask(self, x: Features) -> bool:
        """Decide whether to query x, and charge the budget."""
        answer = self.learner.ask(self._row_of_all(x))
        if answer.query:
            self.pending.setdefault(frozenset(x.items()), []).append(int(answer.id))
        return answer.query

    def learn(self, x: Features, label: float) -> None:
        """Learn a label: that of the oldest pending query for x or, without one, a free label."""
        self._check(x)
        as_labels(label, 1, self.owner, "y")  # before a name gets a column
        id = self._oldest(x)
        if id is None:
            self.learner.learn(self._row_of_all(x), [label])
        else:
            self.learner.tell(id, label)
            self._close(x)

    def retract(self, x: Features) -> None:
        """Retract the oldest pending query for x."""
        id = self._oldest(x)
        if id is None:
            raise invalid("x", self.owner, "an input whose label is outstanding", repr(x))
        self.learner.retract(id)
        self._close(x)

    def set_classes(self, count: int) -> None:
        """Widen the model to this many classes, and keep its state."""
        model = self.learner.model
        if isinstance(model, EnsembleModel):
            self.learner = with_classes(self.learner, tuple(range(count)))
        elif isinstance(model, Softmax):
            wider = dataclasses.replace(model, classes=count)
            self.learner.state = with_columns(self.learner.state, model, wider)
            self.learner.model = wider

    def _row_of_all(self, x: Features) -> Floats:
        """Return features as a vector, with columns added for new names."""
        self._check(x)
        # Sorted, so that results are independent of the order of dict keys, to the last bit.
        new = sorted((name for name in x if name not in self.columns), key=repr)
        is_first = self.learner.dim is None  # sets the columns of an ensemble for good
        if new and (is_first or not isinstance(self.learner.model, EnsembleModel)):
            self.columns |= {name: column for column, name in enumerate(new, len(self.columns) + 1)}
            if not is_first:
                self.learner.widen(np.zeros(len(new)))
        return self.row(x)

    def _oldest(self, x: Features) -> int | None:
        return self.pending.get(frozenset(x.items()), [None])[0] if self.pending else None

    def _close(self, x: Features) -> None:
        """Remove the oldest pending query for x."""
        key = frozenset(x.items())
        del self.pending[key][0]
        if not self.pending[key]:
            del self.pending[key]

    def _check(self, x: Features) -> None:
        for name, value in x.items():
            if not isinstance(value, numbers.Real | np.bool_) or not math.isfinite(value):
                remedy = "Encode text and omit missing values, for example in a pipeline."
                raise invalid(f"x[{name!r}]", self.owner, "a finite number", repr(value), remedy)
