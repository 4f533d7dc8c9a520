"""Work whose labels turn out to be classes, or to have more classes: nothing bought is lost."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from qufur import models
from qufur.errors import invalid
from qufur.estimates.query import Query
from qufur.learner import Learner
from qufur.models.base import Model
from qufur.tables.classes import listing
from qufur.workbook import Workbook

if TYPE_CHECKING:
    from qufur.models.experts import Experts
    from qufur.models.experts.state import CommitteeState


def name_classes(book: Workbook, classes: Sequence[str]) -> None:
    """Let labels be classes, or have more of them; what was asked for and told stays."""
    known = book.classes or ()
    if not takes_classes(book.learner):
        allowed = "left out where labels are numbers"
        received = f"{listing(classes)} beside {type(book.learner.model).__name__}"
        remedy = "`qufur ask --classes` with another state file starts with classes."
        raise invalid("--classes", "qufur", allowed, received, remedy)
    if not set(known) <= set(classes):
        allowed = f"those there are, {listing(known)}, and more"
        raise invalid("--classes", "qufur", allowed, listing(classes))
    more = [name for name in classes if name not in known]
    if more:
        book.learner = with_classes(book.learner, (*known, *more))


def takes_classes(learner: Learner) -> bool:
    """Return whether its labels can become classes: they are classes, or none came and nothing is known."""
    model = learner.model
    if not isinstance(model, models.Experts):
        return False
    fresh = model.label_range is None and not len(cast("CommitteeState", learner.state).labelled)
    return model.classifies or fresh


def with_classes(learner: Learner, classes: tuple[str, ...]) -> Learner:
    """Return a learner with these classes that has bought, and learned, what another one has.

    Parameters
    ----------
    learner
        One that `takes_classes`. It is not used any more.
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
