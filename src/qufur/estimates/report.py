"""The truth about the error: what `Learner.report` says, and how it prints."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qufur.arrays import Floats
from qufur.counts import counted
from qufur.errors import invalid
from qufur.estimates.headline import CONFIDENCE, Headline
from qufur.estimates.random_baseline import summed_uncertainty
from qufur.models.diagnostics.evidence import Evidence
from qufur.models.diagnostics.fit import Fit
from qufur.models.diagnostics.standing import ERRORS

if TYPE_CHECKING:
    from qufur.learner import Learner
    from qufur.models.diagnostics.standing import Standing
    from qufur.models.experts.class_errors import ClassError

COPIES = 5
SHOWN = 8
"""New domains that are shown, of many the last; and classes, of many the rarest."""

_WIDTH, _INDENT = 100, 14


@dataclass(frozen=True)
class Report:
    """How a learner is doing, as far as anyone can know.

    Attributes
    ----------
    examples, labels, outstanding, retracted, left
        Examples answered; labels bought, those of them that have not come, queries taken back, and labels
        left, or None without a budget.
    horizon
        How many examples the rule was told would come, if it was.
    loss
        The mean loss over the covered examples, estimated from the labels that came, NaN before the first.
        Where the estimate without bias lies outside the interval, as rare labels with small probabilities
        can make it, this is the nearer end: that is closer to the truth whenever the interval is right.
    interval
        Contains the mean loss at all moments together, with probability `confidence`. Its ends are NaN while
        nothing is known: until an example comes after two labels that differ, where no range is given.
    confidence
        0.95.
    covered
        The share of the examples that had a chance to be labelled, which is what `loss` is about.
    labelled_loss
        The mean loss of the labelled examples alone, which is no estimate of the loss over all.
    beyond
        Labels outside the label range by so much that their loss counts as the largest one in range.
    uncertainty
        Σ Δ over the examples.
    uncertainty_at_random
        What Σ Δ would be for copies of the model that buy as many labels at random; empty unless the inputs
        were given.
    fit
        What the labels say about noise, λ and whether the model fits; None for models without residuals.
    shifts
        Where new domains seem to begin.
    standing
        The losses and weights of experts, for a committee of them; None for other models.
    squared
        Whether the loss is a squared error, so that its root has the units of the labels.
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
    standing: Standing | None = None
    squared: bool = True

    @property
    def headline(self) -> Headline:
        """The error that every page and command shows."""
        return Headline.of_loss(self.loss, self.interval, self.covered, squared=self.squared)

    @property
    def saved(self) -> float | None:
        """How much lower Σ Δ is than with labels bought at random, as a share; None if that is not known."""
        if not self.uncertainty_at_random:
            return None
        mean = sum(self.uncertainty_at_random) / len(self.uncertainty_at_random)
        return 1 - self.uncertainty / mean if mean else 0.0

    def __str__(self) -> str:
        return self.text()

    def text(self, leave_out: Collection[str] = ()) -> str:
        """Return the report in sentences, without the sections of these names."""
        return "\n".join(
            textwrap.fill(text, _WIDTH, initial_indent=f"{name:{_INDENT}}", subsequent_indent=" " * _INDENT)
            for section, sentences in _sections(self)
            if section not in leave_out
            for name, text in zip([section] + [""] * len(sentences), sentences, strict=False)
        )


def report(learner: Learner, X: Floats | None) -> Report:
    """Return the report of a learner; X are the inputs it was asked about, for the copies at random."""
    ledger = learner.ledger
    answered = ledger.answered
    loss, interval, covered = ledger.mean_loss(learner.queries.values())
    return Report(
        ledger.examples,
        learner.spent,
        len(learner.queries),
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
        learner.state.standing(),
        not learner.model.classifies,
    )


def _at_random(learner: Learner, X: Floats) -> tuple[float, ...]:
    if not learner.model.label_free:
        name = type(learner.model).__name__
        raise invalid("inputs", "Learner.report", f"left out: Δ of {name} depends on labels", "inputs")
    if len(X) != learner.ledger.examples:
        allowed = f"the {learner.ledger.examples} that the learner was asked about"
        raise invalid("inputs", "Learner.report", allowed, f"{len(X)} rows")
    return tuple(summed_uncertainty(learner.model, X, learner.spent, seed) for seed in range(COPIES))


def _sections(found: Report) -> Iterator[tuple[str, Sequence[str]]]:
    yield "labels", list(_labels(found))
    classes = found.standing is not None and not found.standing.squared
    yield "error rate" if classes else "mean loss", list(_loss(found))
    if found.saved is not None:
        yield "random?", list(_against_random(found, found.saved))
    if found.fit is not None:
        yield "noise", [_noise(found.fit)]
        yield "λ", [_penalty(found.fit)]
        yield "fit", found.fit.misfit or [_fits(found.fit)]
    if found.standing is not None:
        early = ["too early to say: nothing was asked for since the first label came"]
        yield "experts", list(_experts(found.standing)) if found.standing.labels else early
        if found.standing.labels and found.standing.class_errors:
            yield "classes", list(_classes(found.standing.class_errors))
    yield "new domains", [_shifts(found.shifts)]


def _labels(found: Report) -> Iterator[str]:
    left = "no budget" if found.left is None else f"{found.left} left"
    taken_back = f", {found.retracted} taken back" if found.retracted else ""
    examples = counted(found.examples, "example")
    yield f"{found.labels} of {examples}, {found.outstanding} outstanding{taken_back}; {left}"
    if found.horizon is not None and found.examples > found.horizon:
        yield f"the stream goes on beyond the {counted(found.horizon, 'example')} that the rule was told of"


def _loss(found: Report) -> Iterator[str]:
    if not found.covered > 0:
        early = "all examples came before the labels had a range, which takes two that differ"
        why = early if math.isnan(found.interval[1]) else "no example had a chance to be labelled"
        yield f"unknown: {why}"
        return
    known = not math.isnan(found.loss)
    value = _number(found.loss) if known else "unknown until a label comes"
    yield f"{value}, in {_ends(found.interval)} at all times with {100 * found.confidence:g} % confidence"
    if known and found.squared:
        low, root, high = map(math.sqrt, (found.interval[0], found.loss, found.interval[1]))
        out = "leaves out how far labels are out of range"
        says = out if found.beyond else "has the units of the labels"
        yield f"its root, {_number(root)} in {_ends((low, high))}, {says}"
    if known and found.outstanding:
        waiting = counted(found.outstanding, "label that is", "labels that are")
        them = "it" if found.outstanding == 1 else "them"
        yield f"without the {waiting} outstanding; the interval allows for {them}"
    if found.covered < 1:
        rest = f"{100 * (1 - found.covered):.2g} % of the examples"
        yield f"nothing is known of {rest}: they had no chance of a label"
    if not math.isnan(found.labelled_loss):
        alone = _number(found.labelled_loss)
        yield f"{alone} on the labelled examples alone, which is not the loss over all"
    if found.beyond:
        labels = "1 label is" if found.beyond == 1 else f"{found.beyond} labels are"
        yield f"{labels} so far out of range that the largest loss in it counts, less than the true one"


def _against_random(found: Report, saved: float) -> Iterator[str]:
    least, most = min(found.uncertainty_at_random), max(found.uncertainty_at_random)
    share = f"{100 * abs(saved):.0f} % {'less' if saved >= 0 else 'more'}"
    labels = counted(found.labels, "label")
    yield f"summed uncertainty {found.uncertainty:.4g}, {share} than with {labels} at random"
    yield f"(copies have {least:.4g} to {most:.4g}; this trusts the model: uncertainty is not error)"


def _noise(fit: Fit) -> str:
    if fit.noise is None:
        return "the labels do not say"
    return f"{fit.noise:.3g}, the standard deviation of labels about what can be learned"


def _penalty(fit: Fit) -> str:
    if fit.suggested is None:
        return f"{fit.regularization:.3g}; the labels do not say what would be better"
    suggested = f"σ²/τ² = {fit.suggested:.3g} (--regularization)"
    return f"{fit.regularization:.3g}; for the next run the labels suggest {suggested}"


def _fits(fit: Fit) -> str:
    if fit.tested < Evidence.fewest:
        return "too few labels to say" if fit.labels < 100 else "large errors of the first labels hide it"
    return f"nothing speaks against the model; this rests on {counted(fit.tested, 'label')}"


def _experts(standing: Standing) -> Iterator[str]:
    def said(expert: int) -> str:
        return _number(standing.in_units(standing.losses[expert]))

    best, mean = standing.best, _number(standing.in_units(standing.loss))
    labels = "1 label" if standing.labels == 1 else f"{standing.labels} labels"
    yield f"compared on {labels}: together {mean}, best expert {said(best)} ({standing.names[best]})"
    constant, at_random = standing.best_constant, standing.best_at_random
    if constant is not None:
        yield f"a constant has {said(constant)}"
    if at_random is not None:
        half = f"{100 * standing.share_at_random:.0f} %"
        yield f"with {half} of the labels, at random: {said(at_random)} ({standing.names[at_random]})"
        yield _if_all_were_at_random(standing)
    heaviest = (f"{standing.weights[e]:.2f} {standing.names[e]}" for e in standing.heaviest)
    yield f"weights: {'; '.join(heaviest)}"
    if standing.is_worse_than(constant):
        yield (
            "worse than a constant: buy more labels, give inputs that say more, "
            "or add a model of your own with Experts(also=[...]), at the command line --also"
        )
    if standing.random_would_do:
        yield (
            "random labels would do better: for the next run the rule Uniform(rate), "
            "at the command line --at-random"
        )


def _if_all_were_at_random(standing: Standing) -> str:
    if standing.all_at_random is None:
        return "that expert with all labels at random: too few labels to say"
    loss, error, _ = standing.all_at_random
    low, middle, high = (standing.in_units(max(loss + side * ERRORS * error, 0.0)) for side in (-1, 0, 1))
    return f"that expert with all labels at random: about {_number(middle)}, likely in {_ends((low, high))}"


def _classes(found: Sequence[ClassError]) -> Iterator[str]:
    for each in sorted(found, key=lambda one: one.share)[:SHOWN]:
        labels = counted(each.labels, "label")
        wrong = (
            f"{_number(each.error)} wrong, in {_ends((each.low, each.high))}" if each.labels else "unknown"
        )
        yield f"{each.name}: {wrong}; {labels}, {100 * each.share:.2g} % of the examples"


def _shifts(times: Sequence[int]) -> str:
    if not times:
        return "none seems to have begun"
    begun = "1 seems to have begun" if len(times) == 1 else f"{len(times)} seem to have begun"
    last = "the last " if len(times) > SHOWN else ""
    return f"{begun}, {last}after {', '.join(map(str, times[-SHOWN:]))} examples"


def _ends(interval: tuple[float, float]) -> str:
    low, high = map(_number, interval)
    return f"[{low}, {high}]"


def _number(value: float) -> str:
    """Return three digits; squares of large labels are to be read without exponents."""
    return f"{float(f'{value:.3g}'):g}"
