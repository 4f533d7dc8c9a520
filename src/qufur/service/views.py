"""Read-only views of a stream: status, series and report, computed from a copy outside the writer thread."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy, deepcopy
from typing import Any

from qufur._internal.operation import Operation
from qufur.estimates.timeline import error_at_random
from qufur.models.capabilities import FreezesDiagnostics, ReportsExperts, ensemble_report
from qufur.models.diagnostics.fit import Fit
from qufur.models.ensemble.report import EnsembleReport
from qufur.service.responses import Expert, Headline, Model, Report, Series, State
from qufur.service.stream import Stream
from qufur.workbook import Workbook
from qufur.workbook.summary import Advice, shifts_of, summary

ADVICE = Advice(
    waiting="on the page, or over HTTP",
    constant="or with a larger budget",
    at_random="create the next stream with the rule `uniform`",
    spent="add labels to the budget; predictions need none",
    go_on="send the next examples",
)


def status(stream: Stream, *, digest: bool = False) -> State:
    """Return the status of a stream: configuration, rows, spend and events."""
    config, learner = stream.config, stream.workbook.learner
    share = learner.rule.share
    return State(
        name=stream.name,
        dim=config.dim,
        columns=config.columns,
        classes=config.classes,
        label_range=config.label_range,
        model=config.model,
        rule=type(learner.rule).__name__.lower(),
        budget=share if learner.rule.limit is None else learner.rule.limit,
        rows=stream.workbook.rows,
        spent=learner.spent,
        left=learner.left,
        outstanding=len(stream.waiting),
        told=len(stream.workbook.labels),
        events=stream.seq,
        digest=stream.digest() if digest else None,
    )


def series_of(stream: Stream) -> Series:
    """Return time series: labels bought over rows, and errors over labels."""
    workbook = stream.workbook
    timeline, rule = workbook.monitor.timeline, workbook.learner.rule
    rows, spent = timeline.spending()
    share = rule.share
    limit = math.inf if rule.limit is None else rule.limit
    points = timeline.points_until_now(workbook.learner)
    return Series(
        rows=rows,
        spent=spent,
        plan=None if share is None else [min(limit, share * row) for row in rows],
        at=[point.rows for point in points],
        error=[point.error for point in points],
        low=[point.low for point in points],
        high=[point.high for point in points],
        at_random=[point.at_random for point in points],
        constant=[point.constant for point in points],
        weights=[point.weights for point in points],
        shifts=[shift.row for shift in shifts_of(workbook)],
        unit=_unit(stream),
    )


def report_of(stream: Stream) -> Report:
    """Return the report: summary text, headline numbers and experts."""
    workbook = stream.workbook
    report = workbook.learner.report()
    ensemble, at_random = report.ensemble_report, None
    if ensemble is not None:
        at_random = error_at_random(report.headline, ensemble)
    text = dict(summary(workbook, report, shifts_of(workbook), ADVICE))
    headline = Headline(*report.headline, at_random, report.confidence, _unit(stream))
    return Report(**text, headline=headline, experts=experts_of(stream))


def _unit(stream: Stream) -> str:
    return "root mean squared error" if stream.workbook.classes is None else "share of wrong classes"


def model_of(stream: Stream) -> Model:
    """Return the model: its type, number of inputs and labels, and its experts."""
    workbook, model = stream.workbook, stream.workbook.learner.model
    return Model(type(model).__name__, workbook.encoding.dim, len(workbook.labels), experts_of(stream))


def experts_of(stream: Stream) -> list[Expert] | None:
    """Return names, weights and errors of experts; None for other models."""
    report = ensemble_report(stream.workbook.learner.state)
    if report is None:
        return None
    losses = [report.in_units(loss) for loss in report.losses] if report.labels else report.losses
    errors = [loss if math.isfinite(loss) else None for loss in losses]
    return list(map(Expert, report.names, report.weights, errors))


class FrozenDiagnostics(ReportsExperts):
    """Diagnostics of a model's state, a stand-in for the state in a copy."""

    def __init__(self, experts: EnsembleReport | None, fit: Callable[[], Fit | None]) -> None:
        self.experts, self.fit = experts, fit

    def ensemble_report(self) -> EnsembleReport | None:
        """Return the report of the experts."""
        return self.experts


def copy_for_predictions(stream: Stream) -> Workbook:
    """Return a copy of the workbook that only predicts; called in the writer thread."""
    workbook, learner = copy(stream.workbook), copy(stream.workbook.learner)
    learner.state, learner._operation = learner.state.frozen(), Operation()
    workbook.learner = learner
    return workbook


def copy_for_reports(stream: Stream) -> Stream:
    """Return a copy for reports, without predictions; called in the writer thread.

    Everything copied has bounded size except the pending queries, which take 20 ns each.
    """
    view, workbook, learner = copy(stream), copy(stream.workbook), stream.workbook.learner
    shared: dict[int, Any] = {id(part): part for part in (learner.model, learner.rule, learner.rng)}
    shared[id(learner.pending)] = dict(learner.pending)
    state = learner.state
    fit = state.fit_later() if isinstance(state, FreezesDiagnostics) else state.fit
    shared[id(state)] = FrozenDiagnostics(ensemble_report(state), fit)
    workbook.learner, workbook.monitor = deepcopy(learner, shared), deepcopy(workbook.monitor)
    view.workbook = workbook
    return view
