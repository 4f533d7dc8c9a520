"""The report of a learner, its text, and the comparison with uniformly sampled labels."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qufur._internal.counts import counted
from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.estimates.headline import CONFIDENCE, Headline
from qufur.models.base import Model
from qufur.models.capabilities import ensemble_report
from qufur.models.diagnostics.evidence import Evidence
from qufur.models.diagnostics.fit import Fit
from qufur.models.ensemble.report import ERRORS
from qufur.models.lookahead import NO_ARRIVALS
from qufur.pending import Pending
from qufur.rules import Uniform
from qufur.rules.spending import BlockOffer

if TYPE_CHECKING:
    from qufur.learner import Learner
    from qufur.models.ensemble.losses import ClassError
    from qufur.models.ensemble.report import EnsembleReport


BLOCK = 256
"""Rows per look-ahead of the copies on random labels."""
COPIES = 5
"""Copies of the model that sample labels uniformly, each with another seed."""
SHOWN = 8
"""Maximum number of new domains (the last ones) and of classes (the rarest ones) in the text."""

_WIDTH, _INDENT = 100, 14


def summed_uncertainty(model: Model, X: Floats, labels: int, seed: int) -> float:
    """Return Σ Δ over a stream of which `labels` examples, drawn without replacement, are queried.

    Δ of a label-free model does not depend on label values, so no labels are needed.

    >>> from qufur import Ridge
    >>> [summed_uncertainty(Ridge(1), np.ones((4, 1)), labels, seed=0) for labels in (0, 4)]
    [4.0, 2.083333333333333]
    """
    draws = np.ones((1, len(X)))
    draws[:, np.random.default_rng(seed).choice(len(X), labels, replace=False)] = 0.0
    state, spending = model.start(), Uniform(0.5).start()  # which buys the rows with draws of 0 alone
    total, start = 0.0, 0
    while start < len(X):
        look = state.look_ahead(X[start : start + BLOCK])
        look.decide(BlockOffer(spending, draws[:, start : start + len(look)], None))
        total += float(look.uncertainty.sum())
        queries = [Pending(start + row) for row in look.queried.tolist()]
        state.pending.update((query.id, query) for query in queries)
        look.finish(queries, NO_ARRIVALS)
        start += len(look)
    return total


@dataclass(frozen=True)
class Report:
    """Estimates of a learner's error, with counts and diagnostics.

    Attributes
    ----------
    examples, labels, outstanding, retracted, left
        Number of examples, of labels bought, of outstanding labels and of retracted queries, and labels left
        in the budget (None without a budget).
    horizon
        The number of examples that the rule expects, if it has a horizon.
    loss
        The mean loss over the covered examples, estimated from their labels; NaN until one is labelled.
        If the unbiased estimate lies outside the interval, as rare labels with small probabilities
        can cause, this is the nearer end: it is closer to the truth whenever the interval is right.
    interval
        An interval that contains the mean loss at all times simultaneously, with probability `confidence`.
        Its ends are NaN before an example follows two different labels, if no label range is given.
    confidence
        0.95.
    covered
        The share of examples with a positive query probability; `loss` is the mean over them.
    labelled_loss
        The mean loss of the labelled examples alone; it does not estimate the loss over all examples.
    beyond
        Number of labels so far outside the label range that their loss is capped at the largest in range.
    uncertainty
        Σ Δ over the examples.
    uncertainty_at_random
        Σ Δ of copies of the model that sample as many labels uniformly; empty unless inputs were passed.
    fit
        Estimates of noise and λ, and tests of the fit; None for models without residuals.
    shifts
        Positions at which new domains appear to begin.
    ensemble_report
        Losses and weights of the experts of an ensemble; None for other models.
    squared
        Whether the loss is a squared error, whose root has the units of the labels.
    """

    examples: int
    labels: int
    outstanding: int
    retracted: int
    left: int | None
    horizon: int | None
    loss: float
    interval: tuple[float, float]
    confidence: float
    covered: float
    labelled_loss: float
    beyond: int
    uncertainty: float
    uncertainty_at_random: tuple[float, ...]
    fit: Fit | None
    shifts: tuple[int, ...]
    ensemble_report: EnsembleReport | None = None
    squared: bool = True

    @property
    def headline(self) -> Headline:
        """The error that all pages and commands show."""
        return Headline.of_loss(self.loss, self.interval, self.covered, squared=self.squared)

    @property
    def saved(self) -> float | None:
        """The relative reduction of Σ Δ against uniformly sampled labels; None unless inputs were passed."""
        if not self.uncertainty_at_random:
            return None
        mean = sum(self.uncertainty_at_random) / len(self.uncertainty_at_random)
        return 1 - self.uncertainty / mean if mean else 0.0

    def __str__(self) -> str:
        return self.text()

    def text(self, leave_out: Collection[str] = ()) -> str:
        """Return the report as text, without the sections named in `leave_out`."""
        return "\n".join(
            textwrap.fill(text, _WIDTH, initial_indent=f"{name:{_INDENT}}", subsequent_indent=" " * _INDENT)
            for section, sentences in _sections(self)
            if section not in leave_out
            for name, text in zip([section] + [""] * len(sentences), sentences, strict=False)
        )


def report(learner: Learner, X: Floats | None) -> Report:
    """Return the report of a learner; X has all its inputs, for the comparison with uniform sampling."""
    ledger = learner.ledger
    answered = ledger.answered
    loss, interval, covered = ledger.mean_loss(learner.pending.values())
    return Report(
        ledger.examples,
        learner.spent,
        len(learner.pending),
        ledger.retracted,
        learner.left,
        getattr(learner.rule, "horizon", None),
        loss,
        interval,
        CONFIDENCE,
        covered,
        ledger.loss_seen / answered if answered else math.nan,
        ledger.beyond,
        ledger.uncertainty,
        () if X is None else _at_random(learner, X),
        learner.state.fit(),
        tuple(ledger.shifts.times),
        ensemble_report(learner.state),
        not learner.model.label_codec.classifies,
    )


def _at_random(learner: Learner, X: Floats) -> tuple[float, ...]:
    if not learner.model.tags.label_free:
        name = type(learner.model).__name__
        raise invalid(
            "inputs", "Learner.report", f"left out: the uncertainty of {name} depends on labels", "inputs"
        )
    if len(X) != learner.ledger.examples:
        allowed = f"all {learner.ledger.examples} inputs of the learner"
        raise invalid("inputs", "Learner.report", allowed, f"{len(X)} rows")
    return tuple(summed_uncertainty(learner.model, X, learner.spent, seed) for seed in range(COPIES))


def _sections(report: Report) -> Iterator[tuple[str, Sequence[str]]]:
    yield "labels", list(_labels(report))
    classes = report.ensemble_report is not None and not report.ensemble_report.squared
    yield "error rate" if classes else "mean loss", list(_loss(report))
    if report.saved is not None:
        yield "random?", list(_against_random(report, report.saved))
    if report.fit is not None:
        yield "noise", [_noise(report.fit)]
        yield "λ", [_penalty(report.fit)]
        yield "fit", report.fit.misfit or [_fits(report.fit)]
    if report.ensemble_report is not None:
        early = ["not known yet: no label was queried after the first label arrived"]
        yield "experts", list(_experts(report.ensemble_report)) if report.ensemble_report.labels else early
        if report.ensemble_report.labels and report.ensemble_report.class_errors:
            yield "classes", list(_classes(report.ensemble_report.class_errors))
    yield "new domains", [_shifts(report.shifts)]


def _labels(report: Report) -> Iterator[str]:
    left = "no budget" if report.left is None else f"{report.left} left"
    retracted = f", {report.retracted} retracted" if report.retracted else ""
    examples = counted(report.examples, "example")
    yield f"{report.labels} of {examples}, {report.outstanding} outstanding{retracted}; {left}"
    if report.horizon is not None and report.examples > report.horizon:
        yield f"the stream is longer than the rule's horizon of {counted(report.horizon, 'example')}"


def _loss(report: Report) -> Iterator[str]:
    if not report.covered > 0:
        early = "no example arrived after two different labels, which define the label range"
        cause = early if math.isnan(report.interval[1]) else "no example had a positive query probability"
        yield f"unknown: {cause}"
        return
    has_labels = not math.isnan(report.loss)
    if has_labels:
        confidence = f"{100 * report.confidence:g} % confidence interval"
        value = _number(report.loss)
        yield f"{value}, {confidence} {_ends(report.interval)}, valid at all times simultaneously"
    else:
        ends = _ends(report.interval)
        yield f"unknown until a covered example is labelled: any value in {ends} is possible"
    if has_labels and report.squared:
        low, root, high = map(math.sqrt, (report.interval[0], report.loss, report.interval[1]))
        limit = "labels outside the label range are capped" if report.beyond else "in the units of the labels"
        yield f"root mean squared error: {_number(root)}, interval {_ends((low, high))}, {limit}"
    if has_labels and report.outstanding:
        labels = counted(report.outstanding, "outstanding label")
        yield f"the estimate excludes {labels}; the interval allows for any value of them"
    if report.covered < 1:
        uncovered = f"{100 * (1 - report.covered):.2g} % of the examples"
        yield f"the estimate excludes {uncovered}, which had query probability 0"
    if not math.isnan(report.labelled_loss):
        yield f"labelled examples alone: {_number(report.labelled_loss)}, not an estimate for all examples"
    if report.beyond:
        labels = "1 label is" if report.beyond == 1 else f"{report.beyond} labels are"
        yield f"{labels} so far outside the label range that the loss is capped, so the true loss is larger"


def _against_random(report: Report, saved: float) -> Iterator[str]:
    lowest, highest = min(report.uncertainty_at_random), max(report.uncertainty_at_random)
    share = f"{100 * abs(saved):.0f} % {'less' if saved >= 0 else 'more'}"
    labels = counted(report.labels, "random label")
    yield f"total uncertainty {report.uncertainty:.4g}, {share} than with {labels}"
    yield f"(random: {lowest:.4g} to {highest:.4g}; uncertainty depends on the model and is not error)"


def _noise(fit: Fit) -> str:
    if fit.noise is None:
        return "cannot be estimated from these labels"
    return f"{fit.noise:.3g}, the standard deviation of the labels around the best linear prediction"


def _penalty(fit: Fit) -> str:
    if fit.suggested is None:
        return f"{fit.regularization:.3g}; these labels do not suggest a better value"
    suggested = f"σ²/τ² = {fit.suggested:.3g} (`regularization=`)"
    return f"{fit.regularization:.3g}; for the next run the labels suggest {suggested}"


def _fits(fit: Fit) -> str:
    if fit.tested < Evidence.min_labels:
        early = "unknown: large errors on the first labels mask the test"
        return "unknown: too few labels" if fit.labels < 100 else early
    return f"no misfit detected, based on {counted(fit.tested, 'label')}"


def _experts(ensemble: EnsembleReport) -> Iterator[str]:
    def error(expert: int) -> str:
        return _number(ensemble.in_units(ensemble.losses[expert]))

    best, total = ensemble.best, _number(ensemble.in_units(ensemble.loss))
    labels = counted(ensemble.labels, "label")
    yield f"compared on {labels}: ensemble {total}, best expert {error(best)} ({ensemble.names[best]})"
    constant, at_random = ensemble.best_constant, ensemble.best_at_random
    if constant is not None:
        yield f"constant prediction: {error(constant)}"
    if at_random is not None:
        share = f"{100 * ensemble.share_at_random:.0f} %"
        yield f"trained on a random {share} of the labels: {error(at_random)} ({ensemble.names[at_random]})"
        yield _if_all_random(ensemble)
    weights = (f"{ensemble.weights[e]:.2f} {ensemble.names[e]}" for e in ensemble.heaviest)
    yield f"weights: {'; '.join(weights)}"
    if ensemble.is_worse_than(constant):
        yield (
            "worse than a constant prediction: buy more labels, add more informative inputs, "
            "or add a model with `Experts(also=[...])`"
        )
    if ensemble.random_would_do:
        yield "random labels would do better: use `Uniform(rate)` for the next run"


def _if_all_random(ensemble: EnsembleReport) -> str:
    if ensemble.all_at_random is None:
        return "the same expert if all labels were random: unknown, too few labels"
    loss, error, _ = ensemble.all_at_random
    low, middle, high = (ensemble.in_units(max(loss + side * ERRORS * error, 0.0)) for side in (-1, 0, 1))
    return (
        f"the same expert if all labels were random: about {_number(middle)}, likely in {_ends((low, high))}"
    )


def _classes(errors: Sequence[ClassError]) -> Iterator[str]:
    for error in sorted(errors, key=lambda error: error.share)[:SHOWN]:
        labels = counted(error.labels, "label")
        interval = _ends((error.low, error.high))
        rate = f"{_number(error.error)} wrong, in {interval}" if error.labels else "unknown"
        yield f"{error.name}: {rate}; {labels}, {100 * error.share:.2g} % of the examples"


def _shifts(times: Sequence[int]) -> str:
    if not times:
        return "none detected"
    last = "the last " if len(times) > SHOWN else ""
    return f"{len(times)} detected, {last}after {', '.join(map(str, times[-SHOWN:]))} examples"


def _ends(interval: tuple[float, float]) -> str:
    low, high = map(_number, interval)
    return f"[{low}, {high}]"


def _number(value: float) -> str:
    """Format three significant digits, without an exponent below 10⁶: squares of labels may be large."""
    return f"{float(f'{value:.3g}'):g}"
