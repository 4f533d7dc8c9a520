"""A learner over dicts: features have names, and names may come and go."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Hashable, Mapping
from typing import Any, cast

import numpy as np

from qufur.arrays import Floats, as_labels
from qufur.bookkeeping.class_growth import with_classes
from qufur.errors import invalid
from qufur.learner import Learner
from qufur.models import Ridge, Softmax
from qufur.models.experts.committee import Committee
from qufur.models.widen import wider
from qufur.rules import Rule

Features = Mapping[Any, Any]


class DictLearner:
    """Gives every name a column, and a new name a new one: exactly as if it had been 0 until then.

    `Experts` and `Refit` cannot be given new columns: the names of the first example stay the only ones.

    Column 0 is the intercept, or 0 without one, so that there is a column where no feature is. Memory is
    O(d²) for d names, whether or not they come again.

    Parameters
    ----------
    model
        `Ridge` or `Softmax`, of one column; or `Experts` or `Refit`, of any number of columns.
    rule, seed
        As those of a `Learner`.
    intercept
        Whether column 0 is 1.
    owner
        Who complains about bad input.

    Attributes
    ----------
    learner
        The learner.
    columns
        The column of each name.
    asked
        Ids of outstanding queries by what was asked about, the oldest first.

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
        model: Ridge | Softmax | Committee,
        rule: Rule,
        *,
        intercept: bool,
        seed: int | np.random.Generator,
        owner: str,
    ) -> None:
        self.model = model
        self.learner = Learner(model, rule, seed=seed)
        self.intercept = float(intercept)
        self.owner = owner
        self.columns: dict[Hashable, int] = {}
        self.asked: dict[frozenset[tuple[Hashable, Any]], list[int]] = {}

    def row(self, x: Features) -> Floats:
        """Return features as a vector; a name without a column has no part in predictions yet."""
        self._check(x)
        row = np.zeros(len(self.columns) + 1)
        row[0] = self.intercept
        for name, value in x.items():
            if name in self.columns:
                row[self.columns[name]] = value
        return row

    def ask(self, x: Features) -> bool:
        """Decide whether the label of x is wanted, and pay for it."""
        answer = self.learner.ask(self._row_of_all(x))
        if answer.query:
            self.asked.setdefault(frozenset(x.items()), []).append(int(answer.id))
        return answer.query

    def learn(self, x: Features, label: float) -> None:
        """Learn a label: of the oldest outstanding query for x or, without one, a label that was free."""
        self._check(x)
        as_labels(label, 1, self.owner, "y")  # before a name gets a column
        id = self._oldest(x)
        if id is None:
            self.learner.learn(self._row_of_all(x), [label])
        else:
            self.learner.tell(id, label)
            self._close(x)

    def retract(self, x: Features) -> None:
        """Say that the label of the oldest outstanding query for x will never come."""
        id = self._oldest(x)
        if id is None:
            raise invalid("x", self.owner, "an input whose label is outstanding", repr(x))
        self.learner.retract(id)
        self._close(x)

    def widen(self, **sizes: int) -> None:
        """Give the model more columns (`dim`) or `classes`, and keep all that was learned."""
        if isinstance(self.model, Committee):
            if "classes" in sizes:  # the columns of its first input it counts by itself
                self.learner = with_classes(self.learner, tuple(range(sizes["classes"])))
                self.model = cast(Committee, self.learner.model)
            return
        after = dataclasses.replace(self.model, **sizes)  # type: ignore[arg-type]
        self.learner.state = wider(self.learner.state, self.model, after)
        self.model = self.learner.model = after
        self.learner.dim = after.dim

    def _row_of_all(self, x: Features) -> Floats:
        """Return features as a vector in which every one of them has its column."""
        self._check(x)
        # Sorted: then not a bit depends on the order of names in a dict.
        new = sorted((name for name in x if name not in self.columns), key=repr)
        is_open = self.learner.dim is None or not isinstance(self.model, Committee)
        if new and is_open:
            self.columns |= {name: column for column, name in enumerate(new, len(self.columns) + 1)}
            self.widen(dim=len(self.columns) + 1)
        return self.row(x)

    def _oldest(self, x: Features) -> int | None:
        return self.asked.get(frozenset(x.items()), [None])[0] if self.asked else None

    def _close(self, x: Features) -> None:
        content = frozenset(x.items())
        del self.asked[content][0]
        if not self.asked[content]:
            del self.asked[content]

    def _check(self, x: Features) -> None:
        for name, value in x.items():
            if not isinstance(value, numbers.Real | np.bool_) or not math.isfinite(value):
                remedy = "Encode text and leave out what is missing, for example in a pipeline."
                raise invalid(f"x[{name!r}]", self.owner, "a finite number", repr(value), remedy)
