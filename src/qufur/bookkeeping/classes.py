"""Work whose labels turn out to be classes, or to have more classes: nothing bought is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from qufur import models
from qufur.bookkeeping.class_growth import with_classes
from qufur.errors import invalid
from qufur.learner import Learner
from qufur.tables.classes import listing
from qufur.workbook import Workbook

if TYPE_CHECKING:
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
    if more and not known:  # what was predicted before was no class
        book.closed = {
            id: terms._replace(prediction=0.0, largest_loss=0.0) for id, terms in book.closed.items()
        }


def takes_classes(learner: Learner) -> bool:
    """Return whether its labels can become classes: they are classes, or none came and nothing is known."""
    model = learner.model
    if not isinstance(model, models.Experts):
        return False
    fresh = model.label_range is None and not len(cast("CommitteeState", learner.state).labelled)
    return model.classifies or fresh
