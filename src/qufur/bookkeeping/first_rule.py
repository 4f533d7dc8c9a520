"""Work that began with labels: the rule that buys more of them is chosen when somebody first asks."""

from __future__ import annotations

from qufur.learner import Learner
from qufur.rules import QuFUR, Rule
from qufur.workbook import Workbook

NONE_YET = QuFUR(1.0)
"""Takes the place of a rule that is to be chosen; it never decides anything."""


def choose_rule(book: Workbook, rule: Rule) -> None:
    """Let a rule buy labels from now on; nothing was asked about before, so that no coin was tossed."""
    book.learner, before = Learner(book.learner.model, rule, seed=book.learner.rng), book.learner
    book.learner.state, book.learner.dim = before.state, before.dim
    book.has_rule = True
