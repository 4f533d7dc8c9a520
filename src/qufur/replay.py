"""Recorded decisions; a log of them rebuilds a learner without deciding again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from qufur.answer import Answer, Answers
from qufur.arrays import Bools, Floats, Ints, as_inputs
from qufur.errors import invalid
from qufur.ids import Id
from qufur.models.capabilities import LearnsRange, Replayable
from qufur.models.lookahead import NO_ARRIVALS, BlockCost
from qufur.pending import Pending
from qufur.rules.thresholds import ALWAYS, NEVER

if TYPE_CHECKING:
    from qufur.learner import Learner


@dataclass(frozen=True)
class RecordedDecisions:
    """Decisions of a learner about consecutive inputs, the argument of `Learner.replay`.

    Attributes
    ----------
    prediction, uncertainty, probability, query
        One value per input; a predicted class is its index.
    at_random
        For each query, whether its uniform draw was below the rule's floor.
    charges
        For each query, which copies of the rule were charged: (queries, copies).
    expert_outputs
        For each query, the output of every expert and of the ensemble: (queries, experts + 1, outputs).
        None for models without experts.
    """

    prediction: Floats
    uncertainty: Floats
    probability: Floats
    query: Bools
    at_random: Bools
    charges: Bools
    expert_outputs: Floats | None

    def __len__(self) -> int:
        return len(self.query)


def record_decisions(learner: Learner, answers: Answer | Answers) -> RecordedDecisions:
    """Return the decisions behind answers; call it before any of their labels arrives.

    Raises
    ------
    InvalidError
        If the answers were not created by a learner.

    Examples
    --------
    >>> from qufur import Learner, QuFUR, Ridge
    >>> learner, twin = (Learner(Ridge(2), QuFUR(0.5), seed=3) for _ in range(2))
    >>> answers = learner.ask_many(np.eye(2))
    >>> twin.replay(np.eye(2), answers.id, record_decisions(learner, answers))
    >>> answers.query, twin.outstanding
    (array([ True,  True]), (0, 1))
    """
    if isinstance(answers, Answer):
        if answers.circumstances is None:
            raise invalid("answers", "record_decisions", "answers of a learner", repr(answers))
        answers = Answers.from_answer(answers, answers.circumstances)
    queries = [learner.pending[answers.id[row]] for row in answers.query.nonzero()[0].tolist()]
    copies = [query.charge.copies for query in queries]
    charges = np.array(copies, dtype=bool).reshape(len(queries), len(learner.spending.charged))
    outputs = [query.expert_outputs for query in queries]
    return RecordedDecisions(
        answers.encoded,
        answers.uncertainty,
        answers.probability,
        answers.query,
        answers.at_random,
        charges,
        np.array(outputs or np.empty((0, 0, 0))) if isinstance(learner.state, Replayable) else None,
    )


def as_present(X: ArrayLike, present: ArrayLike | None, count: int, dim: int | None) -> tuple[Floats, Bools]:
    """Validate the inputs that are present, and the mask of `count` values that marks them."""
    mask = np.ones(count, dtype=bool) if present is None else np.asarray(present, dtype=bool)
    if mask.shape != (count,):
        raise invalid("present", "Learner.replay", f"of shape ({count},), one per decision", mask.shape)
    n_present = np.count_nonzero(mask)
    rows = as_inputs(X, dim, "Learner.replay") if n_present else np.empty((0, dim or 0))
    if len(rows) != n_present:
        raise invalid("X", "Learner.replay", f"{n_present} rows, one per input that is present", len(rows))
    return rows, mask


def replay(
    learner: Learner,
    rows: Floats,
    names: Sequence[Id],
    decisions: RecordedDecisions,
    present: Bools,
    domains: Ints | None,
) -> None:
    """Apply validated decisions; `rows` are the inputs that are present."""
    query, prediction, probability = decisions.query, decisions.prediction, decisions.probability
    charges = learner.spending.replay(decisions.uncertainty, query, decisions.charges, learner.rng, domains)
    model, state = learner.model, learner.state
    if isinstance(state, LearnsRange) and model.loss_scale is None:
        largest_loss = np.array([state.largest_loss_one(value) for value in prediction.tolist()], dtype=float)
    else:
        largest_loss = model.largest_loss(prediction)
    queried = query.nonzero()[0]
    queries = [
        Pending(id, value, p, p, largest_loss=bound, charge=charge)
        for id, value, p, bound, charge in zip(
            [names[row] for row in queried.tolist()],
            *(column[queried].tolist() for column in (prediction, probability, largest_loss)),
            charges,
            strict=True,
        )
    ]
    if decisions.expert_outputs is not None:
        for record, outputs in zip(queries, decisions.expert_outputs, strict=True):
            record.expert_outputs = outputs
    is_present = present[queried]
    pending = list(compress(queries, is_present))
    if model.tags.uses_purchases:
        learner._set_purchase_terms(
            pending, probability, queried[is_present], decisions.at_random[is_present]
        )
    with state.without_predictions() if isinstance(state, Replayable) else nullcontext():
        _update_state(learner, rows, query[present], pending)
    learner.ledger.record(decisions.uncertainty, probability, query, largest_loss)
    for record in compress(queries, ~is_present):
        learner.ledger.retract(record)


def _update_state(learner: Learner, rows: Floats, query: Bools, queries: Sequence[Pending]) -> None:
    """Pass inputs with known decisions to the state; `queries` are those of the queried rows."""
    state = learner.state
    if len(rows) == 1:  # the path of `ask`, which takes a tenth of the time
        state.predict_next(rows[0], float(rows[0].dot(rows[0])))
        if queries:
            learner._record_queries(queries)
            state.query(queries, rows)
        state.advance(1)
        return
    size = learner._block_size()
    start = n_queried = 0
    while start < len(rows):
        look = state.look_ahead(rows[start : start + size.value], labels_may_arrive=False)
        decided, effort = 0, BlockCost(0, 0, 0)
        while decided < len(look):
            count = look.rows_at_once or len(look) - decided
            effort += look.decide(FixedTerms(query[start + decided : start + decided + count]))
            decided += count
        block_queries = queries[n_queried : n_queried + len(look.queried)]
        learner._record_queries(block_queries)
        look.finish(block_queries, NO_ARRIVALS)
        size.update(effort)
        start, n_queried = start + decided, n_queried + len(block_queries)


class FixedTerms:
    """Query terms that buy exactly the marked rows, whatever Δ is; the caller charges the rule."""

    def __init__(self, query: Bools) -> None:
        self.lowest_threshold = np.where(query, ALWAYS, NEVER)
        self.thresholds = self.lowest_threshold[None]
        self.labels_left = np.array([np.inf])

    def buy(self, row: int, uncertainty: float) -> bool:
        """Return False: a purchase changes no other decision."""
        return False

    def record_purchases(self, rows: int | slice | Ints, paying: Bools) -> bool:
        """Return False, as `buy`."""
        return False
