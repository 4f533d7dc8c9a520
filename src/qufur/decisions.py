"""What was decided, as a record: a log of it rebuilds a learner without deciding again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from qufur.answer import Answer, Answers
from qufur.arrays import Bools, Floats, Ints, as_inputs
from qufur.errors import invalid
from qufur.estimates.query import Query
from qufur.models.base import Id
from qufur.models.lookahead import NO_ARRIVALS, Effort
from qufur.rules.thresholds import ALWAYS, NEVER

if TYPE_CHECKING:
    from qufur.learner import Learner


@dataclass(frozen=True)
class Decisions:
    """What a learner decided about consecutive inputs, as `Learner.replay` takes it.

    Attributes
    ----------
    prediction, uncertainty, probability, query
        Of each input; classes by their numbers.
    at_random
        For each query, whether its coin lay below the rule's floor.
    charges
        For each query, which copies of the rule paid: (queries, copies).
    said
        For each query, what every expert said of it, and all together at the end: (queries, experts + 1,
        outputs). None for models without experts.
    """

    prediction: Floats
    uncertainty: Floats
    probability: Floats
    query: Bools
    at_random: Bools
    charges: Bools
    said: Floats | None

    def __len__(self) -> int:
        return len(self.query)


def decisions_of(learner: Learner, answers: Answer | Answers) -> Decisions:
    """Return the decisions that answers rest on, while none of their labels has come.

    Examples
    --------
    >>> from qufur import Learner, QuFUR, Ridge
    >>> learner, twin = (Learner(Ridge(2), QuFUR(0.5), seed=3) for _ in range(2))
    >>> answers = learner.ask_many(np.eye(2))
    >>> twin.replay(np.eye(2), answers.id, decisions_of(learner, answers))
    >>> answers.query, twin.outstanding
    (array([ True,  True]), (0, 1))
    """
    if isinstance(answers, Answer):
        if answers.circumstances is None:
            raise invalid("answers", "decisions_of", "what a learner answered", repr(answers))
        answers = Answers.of_one(answers, answers.circumstances)
    queried = [answers.id[row] for row in answers.query.nonzero()[0].tolist()]
    copies = [learner.queries[id].charge.copies for id in queried]
    charges = np.array(copies, dtype=bool).reshape(len(queried), len(learner.spending.charged))
    said = learner.state.said_of(queried)
    columns = answers.encoded, answers.uncertainty, answers.probability, answers.query, answers.at_random
    return Decisions(*columns, charges, said)


def as_present(X: ArrayLike, present: ArrayLike | None, many: int, dim: int | None) -> tuple[Floats, Bools]:
    """Return the inputs that are present, checked, and which of so many these are."""
    mask = np.ones(many, dtype=bool) if present is None else np.asarray(present, dtype=bool)
    if mask.shape != (many,):
        raise invalid("present", "Learner.replay", f"of shape ({many},), one per decision", mask.shape)
    count = np.count_nonzero(mask)
    rows = as_inputs(X, dim, "Learner.replay") if count else np.empty((0, dim or 0))
    if len(rows) != count:
        raise invalid("X", "Learner.replay", f"{count} rows, one per input that is present", len(rows))
    return rows, mask


def replay(
    learner: Learner,
    rows: Floats,
    names: Sequence[Id],
    decisions: Decisions,
    present: Bools,
    domains: Ints | None,
) -> None:
    """Take over decisions, checked; `rows` are those of the inputs that are present."""
    query, prediction, probability = decisions.query, decisions.prediction, decisions.probability
    charges = learner.spending.replay(decisions.uncertainty, query, decisions.charges, learner.rng, domains)
    queried = query.nonzero()[0]
    there = present[queried]
    wanted = queried[there]
    awaited = [names[row] for row in wanted.tolist()]
    if learner.model.weighs_purchases:
        learner.note_purchases(awaited, probability, wanted, decisions.at_random[there])
    model, state = learner.model, learner.state
    if decisions.said is not None:
        state.note_said(awaited, decisions.said[there])
    with state.unheard():
        _show(learner, rows, query[present], awaited)
    if model.loss_scale is None:
        largest_loss = np.array([state.largest_loss_one(each) for each in prediction.tolist()], dtype=float)
    else:
        largest_loss = model.largest_loss(prediction)
    learner.ledger.record(decisions.uncertainty, probability, query, largest_loss)
    numbers = (column[queried].tolist() for column in (prediction, probability, largest_loss))
    for row, made, here in zip(queried.tolist(), map(Query, *numbers, charges), there.tolist(), strict=True):
        if here:
            learner.queries[names[row]] = made
        else:
            learner.ledger.retract(made)


def _show(learner: Learner, rows: Floats, query: Bools, ids: Sequence[Id]) -> None:
    """Let the model have inputs of which it is known which are queried, and what those are called."""
    state = learner.state
    if len(rows) == 1:  # as `ask` does it, which takes a tenth of the time
        state.predict_next(rows[0], float(rows[0].dot(rows[0])))
        if ids:
            state.query(ids, rows)
        state.advance(1)
        return
    start, named, size = 0, 0, learner.block_size()
    while start < len(rows):
        look = state.look_ahead_unlabelled(rows[start : start + size.value])
        decided, effort = 0, Effort(0, 0, 0)
        while decided < len(look):
            count = look.rows_at_once or len(look) - decided
            effort += look.decide(Dictated(query[start + decided : start + decided + count]))
            decided += count
        here = ids[named : named + len(look.queried)]
        look.finish(here, NO_ARRIVALS)
        size.update(effort)
        start, named = start + decided, named + len(here)


class Dictated:
    """Terms on which just these rows are bought, whatever Δ is; who pays is settled elsewhere."""

    def __init__(self, query: Bools) -> None:
        self.lowest_threshold = np.where(query, ALWAYS, NEVER)
        self.thresholds = self.lowest_threshold[None]
        self.labels_left = np.array([np.inf])

    def buy(self, row: int, uncertainty: float) -> bool:
        """Buy a label; no other row is decided otherwise for that."""
        return False

    def record_purchases(self, rows: int | slice | Ints, paying: Bools) -> bool:
        """Let rows be paid for, as `buy` does."""
        return False
