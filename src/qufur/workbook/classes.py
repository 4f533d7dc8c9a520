"""Adding classes to a workbook, and choosing its rule later; purchases and labels are kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from qufur import models
from qufur.errors import invalid
from qufur.ids import Id
from qufur.learner import Learner
from qufur.models.base import Model
from qufur.pending import Pending
from qufur.rules import QuFUR, Rule
from qufur.tables.labels import listing
from qufur.workbook.workbook import Workbook

if TYPE_CHECKING:
    from qufur.models.ensemble import Experts
    from qufur.models.ensemble.state import EnsembleState


def with_classes(learner: Learner, classes: tuple[Any, ...]) -> Learner:
    """Return a learner with these classes and the purchases and labels of another learner.

    Parameters
    ----------
    learner
        A learner of `Experts` that has classes, or neither labels nor a label range. Do not use it
        afterwards.
    classes
        All classes, the existing ones first.

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
    new.pending.update(learner.pending)
    values, arrays = learner.ledger.save()
    if not learner.model.label_codec.classifies:  # earlier predictions were numbers: their losses are unknown
        values |= {name: new.ledger.save()[0][name] for name in ("estimate", "begun")}
        _forget_decisions(new.pending)
    new.ledger.restore(values, arrays)
    cast("EnsembleState", new.state).load_from(cast("EnsembleState", learner.state))
    return new


def name_classes(workbook: Workbook, classes: Sequence[str]) -> None:
    """Turn labels into classes, or add classes; queries and labels stay."""
    existing = workbook.classes or ()
    if not takes_classes(workbook.learner):
        allowed = "left out where labels are numbers"
        received = f"{listing(classes)} beside {type(workbook.learner.model).__name__}"
        remedy = "Start another workbook with `classes=`."
        raise invalid("classes", "name_classes", allowed, received, remedy)
    if not set(existing) <= set(classes):
        allowed = f"the existing classes, {listing(existing)}, and any new ones"
        raise invalid("classes", "name_classes", allowed, listing(classes))
    added = [name for name in classes if name not in existing]
    if added:
        workbook.learner = with_classes(workbook.learner, (*existing, *added))
    if added and not existing:  # earlier predictions were numbers
        _forget_decisions(workbook.closed)


def _forget_decisions(queries: Mapping[Id, Pending]) -> None:
    for query in queries.values():
        query.prediction = query.largest_loss = 0.0


def takes_classes(learner: Learner) -> bool:
    """Return whether labels are classes, or can still become classes."""
    model = learner.model
    if not isinstance(model, models.Experts):
        return False
    has_labels = bool(len(cast("EnsembleState", learner.state).labelled))
    return model.label_codec.classifies or (model.label_range is None and not has_labels)


NONE_YET = QuFUR(1.0)
"""Placeholder for a rule that is chosen later; it never decides."""


def choose_rule(workbook: Workbook, rule: Rule) -> None:
    """Set the rule of a workbook that has processed no rows, so that no random draw was used."""
    before = workbook.learner
    workbook.learner = Learner(before.model, rule, seed=before.rng)
    workbook.learner.state, workbook.learner.dim = before.state, before.dim
    workbook.learner.pending = before.pending
    workbook.has_rule = True
