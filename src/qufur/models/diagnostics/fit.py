"""Diagnosis of a least-squares model from its prediction errors."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log

from qufur.models.diagnostics.evidence import Evidence
from qufur.models.diagnostics.misfit import BEND, BIAS, DRIFT, SKEW, MisfitTests

ALARM = log(1000.0)
"""log E above which a test reports a misfit."""
LARGE = 3.0
"""Ratio to the suggested λ above which learning is slow enough to look like drift."""


@dataclass(frozen=True)
class Fit:
    """Diagnosis of a model from its labels.

    Attributes
    ----------
    labels
        Number of labels; with forgetting, earlier ones are discounted.
    noise
        σ, the standard deviation of the noise, in the user's units; None with too few labels or too many
        directions.
    regularization, suggested
        Current λ, and the estimate λ = σ²/τ² for the next run; None if the labels do not determine it.
    misfit
        A message for each detected misfit.
    tested
        Number of labels tested: all but the first 16. Outliers among early labels mask later errors; the
        number is then the smaller, equivalent number of labels.

    Notes
    -----
    The cost is O(d³), or O(n³) with a kernel. Detection rate of `misfit`, in % of 200 runs, by number of
    labels, for inputs on the unit sphere, d = 10 and σ = 0.1, at the right λ and at ten times that:

    ========================================  ===  ===  ====  ===========
    target                                    100  300  1000  1000, λ·10
    ========================================  ===  ===  ====  ===========
    turns by 90° over the stream               18  100   100           87
    turns by 360°                               8  100   100          100
    jumps by 90° once, halfway                  1   92   100          100
    tanh(3⟨θ, x⟩)                              28  100   100          100
    3⟨θ, x⟩², no intercept                     50  100   100          100
    3⟨θ, x⟩², with intercept                    0   19    48           55
    |⟨θ, x⟩|, no intercept                    100  100   100          100
    |⟨θ, x⟩|, with intercept                    0   34    75           78
    ⟨θ, x⟩², x not centred, with intercept      6  100   100          100
    an intercept that the model lacks         100  100   100          100
    a θ for each of 5 domains, in sequence      0   99   100          100
    a θ for each of 5 domains, mixed            0    0     2            0
    ========================================  ===  ===  ====  ===========

    False alarms, where the model fits: 18 of 30,000 runs, and at most 6 of 3000 for each of ten types of
    noise, six of them with heavy tails or outliers: d from 2 to 20, 150 to 1500 labels, λ right and off by a
    factor of 10 in both directions.
    """

    labels: float
    noise: float | None
    regularization: float
    suggested: float | None
    misfit: tuple[str, ...]
    tested: int


def judge(evidence: Evidence, tests: MisfitTests, regularization: float, *, unit: float) -> Fit:
    """Combine evidence and tests; `unit` is one unit of the scaled labels in the user's units."""
    noise, suggested = evidence.noise_and_penalty()
    # Errors of a model that learns too slowly are correlated like those under drift.
    slow = suggested is not None and regularization > LARGE * suggested
    misfit = _misfit(tests, slow)
    sigma = None if noise is None else unit * noise
    return Fit(evidence.count, sigma, regularization, suggested, misfit, tests.tested)


def _misfit(tests: MisfitTests, slow: bool) -> tuple[str, ...]:
    peak, messages = tests.peak, []
    if peak[DRIFT] > ALARM and not slow:
        messages.append(
            f"Recent errors predict the next ones ({_odds(peak[DRIFT])}): the target may be drifting, or"
            " differ between parts of the stream; let the model forget (`half_life=`), or add a"
            " feature that distinguishes the parts."
        )
    elif (bend := max(peak[BEND], peak[SKEW])) > ALARM:
        messages.append(
            f"Errors depend nonlinearly on the prediction ({_odds(bend)}): the target may not be linear in"
            " these features; try `KernelRidge`, or more features."
        )
    if peak[BIAS] > ALARM:
        side = "above" if tests.sums[BIAS] > 0 else "below"
        messages.append(
            f"Labels lie {side} the predictions more than chance allows ({_odds(peak[BIAS])}):"
            " try an intercept, or a label_range that is centred on the labels."
        )
    return tuple(messages)


def _odds(peak: float) -> str:
    return f"1 in 10^{floor(peak / log(10))} by chance"
