"""How a stream stands, for pages and programs: nothing of it changes anything."""

from __future__ import annotations

import math
from typing import Any

from qufur.bookkeeping.shifts import shifts_of
from qufur.bookkeeping.summary import Advice, summary
from qufur.estimates.course import error_at_random
from qufur.estimates.report import Report
from qufur.service.stream import Stream

ADVICE = Advice(
    waiting="on the page, or send them",
    constant="or a larger budget",
    at_random="create the next stream with the rule `uniform`",
    spent="more can be added to it",
    go_on="send the next examples",
)


def state_of(stream: Stream, *, digest: bool = False) -> dict[str, Any]:
    """Return a stream in numbers."""
    description, learner = stream.description, stream.book.learner
    share = learner.rule.share
    return {
        "name": stream.name,
        "dim": description.dim,
        "columns": description.columns,
        "classes": description.classes,
        "label_range": description.label_range,
        "model": description.model,
        "rule": type(learner.rule).__name__.lower(),
        "budget": share if learner.rule.limit is None else learner.rule.limit,
        "rows": stream.book.rows,
        "spent": learner.spent,
        "left": learner.left,
        "outstanding": len(stream.waiting),
        "told": len(stream.book.told),
        "events": stream.seq,
        "digest": stream.digest() if digest else None,
    }


def series_of(stream: Stream) -> dict[str, Any]:
    """Return how the work went: labels bought as rows came, and errors as labels came."""
    book = stream.book
    course, rule = book.watch.course, book.learner.rule
    rows, spent = course.spending()
    share = rule.share
    points = course.points_until_now(book.learner)
    return {
        "rows": rows,
        "spent": spent,
        "plan": None if share is None else [_planned(share, row, rule.limit) for row in rows],
        "at": [point.rows for point in points],
        "error": [point.error for point in points],
        "low": [point.low for point in points],
        "high": [point.high for point in points],
        "at_random": [point.at_random for point in points],
        "constant": [point.constant for point in points],
        "weights": [point.weights for point in points],
        "shifts": [shift.row for shift in shifts_of(book)],
        "unit": _unit(stream),
    }


def report_of(stream: Stream) -> dict[str, Any]:
    """Return how it is going, in sentences, and how the experts are doing."""
    book = stream.book
    report = book.learner.report()
    said: dict[str, Any] = dict(summary(book, report, shifts_of(book), ADVICE))
    return said | {"headline": _headline(stream, report), "experts": experts_of(stream)}


def _headline(stream: Stream, report: Report) -> dict[str, Any]:
    at_random = None if report.standing is None else error_at_random(report.headline, report.standing)
    named = {"at_random": at_random, "confidence": report.confidence, "unit": _unit(stream)}
    return report.headline._asdict() | named


def _unit(stream: Stream) -> str:
    return "root mean squared error" if stream.book.classes is None else "share of wrong classes"


def experts_of(stream: Stream) -> list[dict[str, Any]] | None:
    """Return names, weights and errors of experts; None for other models."""
    standing = stream.book.learner.state.standing()
    if standing is None:
        return None
    errors = [standing.in_units(loss) for loss in standing.losses] if standing.labels else standing.losses
    return [
        {"name": name, "weight": weight, "error": error if math.isfinite(error) else None}
        for name, weight, error in zip(standing.names, standing.weights, errors, strict=True)
    ]


def _planned(share: float, row: int, limit: int | None) -> float:
    return share * row if limit is None else min(limit, share * row)
