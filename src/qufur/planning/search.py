"""What a budget would buy, known before a label is bought."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Floats, Ints, as_count, as_inputs, as_noise, as_number, is_whole
from qufur.errors import invalid
from qufur.learner import Learner
from qufur.models import Model, Ridge
from qufur.planning.outcome import Forecast, Part, Plan, Spread
from qufur.planning.pilot import Pilot
from qufur.planning.simulated import Drawn, Unlabelled, draw_parameters, fitting_noise
from qufur.rules import QuFUR, Rule, Steady
from qufur.rules.from_budget import labels_within
from qufur.run import run
from qufur.streams import Arrays, Stream

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The budgets of a forecast, as multiples of the one asked for."""


def plan(
    model: Model,
    inputs: Stream | ArrayLike,
    budget: int | float | str,
    *,
    noise: float | None = None,
    norm: float | None = None,
    parts: int = 10,
    seeds: Sequence[int] = range(20),
    steady: bool = False,
    pilot: Pilot | None = None,
) -> Plan:
    """Say what a budget would buy on a stream, from its inputs alone.

    Δ of a label-free model depends on inputs and coins only, so runs of QuFUR(α) without labels show which α
    spends the budget, and when. For `Ridge` the runs also learn, from labels that are drawn: one θ* and one
    noise for each seed. Given the queries, the regret at x_t is in expectation

        σ² xᵀM⁻¹(M − λI)M⁻¹x + λ² τ² ‖M⁻¹x‖²,

    with τ² = ‖θ*‖²/d; it is σ²‖x‖² in M⁻¹ where λ = σ²/τ². The runs average this over the coins, and the
    clipping of predictions is in them. Cost: some 10 to 20 runs for each seed.

    Parameters
    ----------
    model
        A label-free model.
    inputs
        A stream, whose labels change nothing, or a matrix of one row per example. A stream is played anew for
        every run: `Arrays.of(stream)` holds one in memory that takes time to read or draw.
    budget
        B, a count of labels or a share of the examples: 150, 0.05 or "5%".
    noise
        σ ≥ 0, the deviation of the labels' noise in the user's units, for the regret of `Ridge`. None takes
        the one at which the model's λ = σ²/τ² is the best choice: a guess.
    norm
        ‖θ*‖ for labels mapped to [−1, 1]; None takes the model's C. Directions are random, and the norm is
        reduced where |⟨θ*, x_t⟩| would exceed 1.
    parts
        Into how many equal parts the stream is cut to count labels.
    seeds
        Of coins and drawn labels: one simulated run for each. Ranges of 90 % take at least 19.
    steady
        Whether `Steady` spends the budget, which it always does: there is no α to find then, and no forecast
        but where the labels go.
    pilot
        Labels that are there already: they tell the error to expect, in their own units.

    Examples
    --------
    >>> from qufur import Ridge, streams
    >>> stream = streams.HiddenDomains([100, 100], [6, 2])
    >>> found = plan(Ridge(stream.dim), stream, 40, noise=0.1)
    >>> round(found.alpha, 2), str(found.spend), str(found.forecast[2].regret)
    (0.67, '39.2 (31.1–47)', '3.74 (2.59–5.08)')
    """
    stream = _as_stream(inputs, model)
    labels = labels_within(budget, stream.horizon, "plan")
    count = min(as_count(parts, "parts", "plan"), stream.horizon)
    _check_seeds(seeds)
    streams, noise_used, norm_used = _draw(model, stream, noise, norm, seeds)
    edges = np.linspace(0, stream.horizon, count + 1).astype(np.int64)

    @cache
    def trial(alpha: float | None) -> _Trial:
        rule = Steady(labels, stream.horizon) if alpha is None else QuFUR(alpha)
        return _try(model.without_fits(), streams, rule, edges, seeds)

    alpha = None if steady else _alpha(trial, labels, 1.0)
    asked = trial(alpha)
    return Plan(
        budget=labels,
        horizon=stream.horizon,
        alpha=alpha,
        spend=Spread.of(asked.queries),
        parts=_parts(asked, edges),
        forecast=() if alpha is None else tuple(_forecast(trial, alpha, labels, stream.horizon)),
        noise=noise_used,
        norm=norm_used,
        guessed=noise is None and noise_used is not None,
        expected=() if pilot is None else pilot.expect(model, _budgets(labels, stream.horizon)),
    )


class _Trial(NamedTuple):
    """Runs of a rule, one for each seed."""

    queries: Floats
    expected: float
    regret: Floats
    parts: Floats


def _try(model: Model, streams: Sequence[Stream], rule: Rule, edges: Ints, seeds: Sequence[int]) -> _Trial:
    rows = []
    for stream, seed in zip(streams, seeds, strict=True):
        trace = run(Learner(model, rule, seed=seed), stream)
        labels = np.add.reduceat(trace.query.astype(float), edges[:-1])
        rows.append([trace.queries, trace.probability.sum(), trace.total_regret, *labels])
    queries, chances, regret, *parts = np.array(rows).T
    # Both means are that of Q. Coins that buy more now leave less to buy: their errors partly cancel.
    return _Trial(queries, float(queries.mean() + chances.mean()) / 2, regret, np.array(parts).T)


def _parts(trial: _Trial, edges: Ints) -> tuple[Part, ...]:
    pairs = pairwise(edges.tolist())
    return tuple(Part(*ends, Spread.of(labels)) for ends, labels in zip(pairs, trial.parts.T, strict=True))


def _forecast(
    trial: Callable[[float], _Trial], alpha: float, budget: int, horizon: int
) -> Iterator[Forecast]:
    for other in _budgets(budget, horizon):
        at = alpha if other == budget else _alpha(trial, other, alpha * (other / budget) ** 2)
        found = trial(at)
        regret = None if np.isnan(found.regret).any() else Spread.of(found.regret)
        yield Forecast(other, at, Spread.of(found.queries), regret)


def _budgets(budget: int, horizon: int) -> list[int]:
    return sorted({min(max(1, round(factor * budget)), horizon) for factor in FACTORS})


def _alpha(trial: Callable[[float], _Trial], budget: int, guess: float) -> float:
    """Return an α whose expected spend is the budget to half a percent, or the nearest there is."""
    low, high, tried = 0.0, math.inf, []
    while high > 1.001 * low and guess < 1e12:
        spent = trial(guess).expected
        if abs(spent / budget - 1) < 0.005:
            return guess
        low, high = (guess, high) if spent < budget else (low, guess)
        tried.append((guess, spent))
        aim = guess * (budget / spent) ** _power(tried[-2:]) if spent else math.inf
        guess = aim if low < aim < high else _inside(low, high)
    return min(guess, 1e12)


def _power(tried: Sequence[tuple[float, float]]) -> float:
    """Return by which power of the spend α grows: 2 by Theorem 1, or what the last two trials say."""
    (first, few), (last, many) = tried[0], tried[-1]
    if first == last or few == many or few * many == 0:
        return 2.0
    return min(max(1.0, math.log(last / first) / math.log(many / few)), 20.0)


def _draw(
    model: Model, stream: Stream, noise: float | None, norm: float | None, seeds: Sequence[int]
) -> tuple[list[Stream], float | None, float | None]:
    if not isinstance(model, Ridge):
        if noise is not None or norm is not None:
            remedy = "Leave noise and norm out."
            raise invalid("model", "plan", "a Ridge to forecast regret", repr(model), remedy)
        return [Unlabelled(stream, model)] * len(seeds), None, None
    norm = model.norm_bound if norm is None else as_number(norm, "norm", "plan", low=0)
    theta = draw_parameters(model, stream, norm, seeds)
    noise = fitting_noise(model, theta) if noise is None else as_noise(noise, "plan")
    drawn: list[Stream] = [
        Drawn(stream, model, row, noise, seed) for row, seed in zip(theta, seeds, strict=True)
    ]
    return drawn, noise, float(np.linalg.norm(theta, axis=1).mean())


def _as_stream(inputs: Stream | ArrayLike, model: Model) -> Stream:
    if not model.label_free:
        remedy = "What this model would query depends on the labels."
        raise invalid("model", "plan", "label-free", repr(model), remedy)
    if isinstance(inputs, Stream):
        return inputs
    X = as_inputs(inputs, model.dim, "plan")
    if 0 in X.shape:
        raise invalid("inputs", "plan", "of at least one row and one column", f"shape {X.shape}")
    return Arrays(X, np.zeros(len(X)))


def _check_seeds(seeds: Sequence[int]) -> None:
    if not len(seeds) or not all(is_whole(seed) and seed >= 0 for seed in seeds):
        raise invalid("seeds", "plan", "one or more integers of at least 0", repr(seeds))


def matching_parameter(
    rule_of: Callable[[float], Rule], model: Model, stream: Stream, *, seed: int = 0
) -> float:
    """Return a parameter at which a rule just spends its whole budget on a stream, and 1 % less would not do.

    The spend of a label-free model depends on inputs and coins only, so it is known without buying a label.
    Where nothing spends the budget, the parameter is above 10¹².

    Parameters
    ----------
    rule_of
        Makes a rule with a budget from a number above 0; a larger number must spend more.
    model
        A label-free model.
    stream
        Its inputs count; its labels change nothing.
    seed
        Of the coins.

    Examples
    --------
    >>> from qufur import QuFUR, Ridge, streams
    >>> stream = streams.HiddenDomains([100, 100], [6, 2])
    >>> alpha = matching_parameter(lambda alpha: QuFUR(alpha, budget=40), Ridge(stream.dim), stream)
    >>> round(alpha, 2), run(Learner(Ridge(stream.dim), QuFUR(alpha)), stream).queries
    (0.79, 40)
    """
    if not model.label_free:
        raise invalid("model", "matching_parameter", "label-free", repr(model))
    if rule_of(1.0).budget is None:
        raise invalid("rule_of", "matching_parameter", "a maker of rules with a budget", "rules without")
    model = model.without_fits()
    low, guess, high = 0.0, 1.0, math.inf
    while high > 1.01 * low and guess < 1e12:
        learner = Learner(model, rule_of(guess), seed=seed)
        spent = run(learner, stream).queries
        low, high = (low, guess) if learner.left == 0 else (guess, high)
        # Queries grow about as the square root of α (Theorem 1): a first guess inside the bracket.
        aim = guess * (learner.rule.budget or 1) ** 2 / max(spent, 1) ** 2
        guess = aim * 1.02 if low < aim * 1.02 < high else _inside(low, high)
    return guess if high == math.inf else high


def _inside(low: float, high: float) -> float:
    if high == math.inf:
        return 4 * low
    return high / 4 if low == 0 else math.sqrt(low * high)
