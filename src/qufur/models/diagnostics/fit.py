"""A verdict on a least-squares model from the errors of its labels."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log

from qufur.models.diagnostics.evidence import Evidence
from qufur.models.diagnostics.misfit import BEND, BIAS, DRIFT, SKEW, MisfitTests

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
    tested
        On how many labels' errors that rests: all but the first 16. Outliers among the early ones hide much
        of the rest, which then counts as the fewer labels that would say as much.

    Notes
    -----
    It takes O(d³), or O(n³) with a kernel. How often `misfit` spoke, in % of 200 runs with so many labels of
    inputs on the unit sphere, d = 10 and σ = 0.1, at the right λ and at ten times that:

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

    Where the model fits, it spoke in 18 of 30,000 runs, and in 6 of 3000 at most for any of ten kinds of
    noise, of which six have heavy tails or outliers: d from 2 to 20, 150 to 1500 labels, λ right and off by
    10 both ways.
    """

    labels: float
    noise: float | None
    regularization: float
    suggested: float | None
    misfit: tuple[str, ...]
    tested: int


def judge(evidence: Evidence, tests: MisfitTests, regularization: float, *, unit: float) -> Fit:
    """Put together what evidence and tests say; `unit` is the size of a scaled label's 1 for the user."""
    noise, suggested = evidence.noise_and_penalty()
    # Errors made while learning too slowly hang together as those of a moving target do.
    slow = suggested is not None and regularization > LARGE * suggested
    misfit = _misfit(tests, slow)
    sigma = None if noise is None else unit * noise
    return Fit(evidence.count, sigma, regularization, suggested, misfit, tests.tested)


def _misfit(tests: MisfitTests, slow: bool) -> tuple[str, ...]:
    peak, found = tests.peak, []
    if peak[DRIFT] > ALARM and not slow:
        found.append(
            f"Recent errors predict the next ones ({_odds(peak[DRIFT])}): the target may be moving, or differ"
            " from one part of the stream to the next; let the model forget (half_life, --half-life), or tell"
            " the parts apart."
        )
    elif (bend := max(peak[BEND], peak[SKEW])) > ALARM:
        found.append(
            f"Errors bend with the prediction ({_odds(bend)}): the target may not be linear in these"
            " features; try KernelRidge (--model kernel), or more features."
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
