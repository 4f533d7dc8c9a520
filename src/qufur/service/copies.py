"""Copies of streams, which another thread may read while the writer changes the original."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from typing import Any, NamedTuple

from qufur.models.diagnostics.fit import Fit
from qufur.models.diagnostics.standing import Standing
from qufur.service.stream import Stream


class Judgement(NamedTuple):
    """The diagnostics of a model's state, which stand in for the state."""

    of_experts: Standing | None
    fit: Callable[[], Fit | None]

    def standing(self) -> Standing | None:
        """Return how the experts are doing."""
        return self.of_experts


def copy_for_reports(stream: Stream) -> Stream:
    """Return a copy from which reports can be computed, but no predictions; in the writer's thread.

    All that it copies is of bounded size, but for the queries: 20 ns for each label that is awaited.
    """
    made, book, learner = copy(stream), copy(stream.book), stream.book.learner
    large: dict[int, Any] = {id(one): one for one in (learner.model, learner.rule, learner.rng)}
    large[id(learner.queries)] = dict(learner.queries)
    large[id(learner.state)] = Judgement(learner.state.standing(), learner.state.fit_later())
    book.learner, book.watch = deepcopy(learner, large), deepcopy(book.watch)
    made.book = book
    return made
