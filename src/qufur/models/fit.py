"""A verdict on a least-squares model from the errors of its labels."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log

from qufur.models.evidence import Evidence
from qufur.models.misfit import BEND, BIAS, DRIFT, SKEW, MisfitTests

ALARM = log(1000.0)
LARGE = 3.0


@dataclass(frozen=True)
class Fit:
    """What the labels say about the model.

    Attributes
    ----------
    labels
        How many there were; earlier ones count for less where the model forgets.
    noise
        σ, the standard deviation of labels about what can be learned, in the user's units; None where too
        few labels, or too many directions, leave it open.
    regularization, suggested
        λ as it is, and λ = σ²/τ² as the labels have it, for the next run; None where they do not say.
    misfit
        A sentence for each way in which the model was seen not to fit.
    """

    labels: float
    noise: float | None
    regularization: float
    suggested: float | None
    misfit: tuple[str, ...]


def judge(evidence: Evidence, tests: MisfitTests, regularization: float, *, unit: float) -> Fit:
    """Put together what evidence and tests say; `unit` is the size of a scaled label's 1 for the user."""
    noise, suggested = evidence.noise_and_penalty()
    # Errors made while learning too slowly hang together as those of a moving target do.
    slow = suggested is not None and regularization > LARGE * suggested
    misfit = _misfit(tests, slow)
    return Fit(evidence.count, None if noise is None else unit * noise, regularization, suggested, misfit)


def _misfit(tests: MisfitTests, slow: bool) -> tuple[str, ...]:
    peak, found = tests.peak, []
    if peak[DRIFT] > ALARM and not slow:
        found.append(
            f"Recent errors predict the next ones ({_odds(peak[DRIFT])}): the target may be moving, or differ"
            " from one part of the stream to the next; let the model forget, or tell the parts apart."
        )
    elif (bend := max(peak[BEND], peak[SKEW])) > ALARM:
        found.append(
            f"Errors bend with the prediction ({_odds(bend)}): the target may not be linear in these"
            " features; try KernelRidge, or more features."
        )
    if peak[BIAS] > ALARM:
        side = "above" if tests.sums[BIAS] > 0 else "below"
        found.append(
            f"Labels lie {side} the predictions more than chance allows ({_odds(peak[BIAS])}):"
            " try an intercept, or a label_range that is centred on the labels."
        )
    return tuple(found)


def _odds(peak: float) -> str:
    return f"1 in 10^{floor(peak / log(10))} by chance"
