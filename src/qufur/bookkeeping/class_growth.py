"""Experts whose labels turn out to be classes, or to have more classes: nothing bought is lost."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

from qufur.estimates.query import Query
from qufur.learner import Learner
from qufur.models.base import Model

if TYPE_CHECKING:
    from qufur.models.experts import Experts
    from qufur.models.experts.state import CommitteeState


def with_classes(learner: Learner, classes: tuple[Any, ...]) -> Learner:
    """Return a learner with these classes that has bought, and learned, what another one has.

    Parameters
    ----------
    learner
        Of `Experts` that have classes, or neither labels nor a range of them. It is not used any more.
    classes
        All of them, those that it has first.

    Examples
    --------
    >>> from qufur import Experts, Steady
    >>> learner = Learner(Experts(1), Steady(4, 10))
    >>> ids = [id for id in range(10) if learner.ask([float(id)]).query]
    >>> learner = with_classes(learner, ("no", "yes"))
    >>> learner.tell_many(ids, ["yes" if id > 5 else "no" for id in ids])
    >>> learner.spent, learner.left
    (4, 0)
    """
    model: Model = dataclasses.replace(cast("Experts", learner.model), classes=classes)
    new = Learner(model, learner.rule, seed=learner.rng)
    new.dim, new.next_id, new.spending = learner.dim, learner.next_id, learner.spending
    values, arrays = learner.ledger.save()
    if learner.model.classifies:
        new.queries = learner.queries
    else:  # what was predicted was no class, so it counts as nothing known
        values |= {name: new.ledger.save()[0][name] for name in ("estimate", "begun")}
        new.queries = {
            id: Query(0.0, query.probability, 0.0, query.charge) for id, query in learner.queries.items()
        }
    new.ledger.restore(values, arrays)
    cast("CommitteeState", new.state).take_over(cast("CommitteeState", learner.state))
    return new
