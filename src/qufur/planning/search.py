"""Search for the rule that spends a budget, by runs on the inputs with simulated linear labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Floats, Ints, as_count, as_inputs, as_noise, as_number, is_integer
from qufur.errors import invalid
from qufur.learner import Learner
from qufur.models import Model, Ridge
from qufur.models.capabilities import HasExperts
from qufur.planning.outcome import Forecast, Part, Plan, Spread
from qufur.planning.pilot import Pilot
from qufur.rules import QuFUR, Rule, Steady
from qufur.rules.from_budget import labels_within
from qufur.run import rows_at_once, run
from qufur.streams import Arrays, Chunk, Stream

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The budgets of a forecast, as multiples of the requested budget."""


class Unlabelled(Stream):
    """The inputs of a stream with a constant label: the middle of the given label range, or 0."""

    def __init__(self, stream: Stream, model: Model) -> None:
        self._stream, self._label = stream, sum(model.label_codec.bounds or (0.0,)) / 2
        self.dim, self.horizon = stream.dim, stream.horizon

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yield the inputs of the wrapped stream."""
        for chunk in self._stream.chunks(size):
            yield Chunk(chunk.X, np.full(len(chunk), self._label), None, chunk.domain)


class Drawn(Stream):
    """The inputs of a stream with simulated labels y = ⟨θ, x⟩ + ξ, ξ ~ N(0, σ²), in the units of a model.

    Parameters
    ----------
    stream
        Source of the inputs; its labels are ignored.
    model
        Model whose label range defines the units, and whose intercept adds a constant input.
    theta
        θ, for labels mapped to [−1, 1].
    noise
        σ ≥ 0, in the units of the labels.
    seed
        Seed of ξ.

    Examples
    --------
    >>> from qufur.streams import Arrays
    >>> stream = Drawn(Arrays([[1.0], [0.5]], [0.0, 0.0]), Ridge(1, label_range=(0, 10)), np.ones(1), 0.0, 0)
    >>> next(stream.chunks(2)).y
    array([10. , 7.5])
    """

    def __init__(self, stream: Stream, model: Ridge, theta: Floats, noise: float, seed: int) -> None:
        self._stream, self._model, self._theta = stream, model, theta
        self._noise, self._seed = noise, seed
        self.dim, self.horizon = stream.dim, stream.horizon

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yield the inputs of the wrapped stream with drawn labels."""
        noise = np.random.default_rng([self._seed, 1])
        middle, half = _centre(self._model)
        for chunk in self._stream.chunks(size):
            truth = middle + half * (with_constant(chunk.X, self._model) @ self._theta)
            yield replace(chunk, y=truth + self._noise * noise.standard_normal(len(chunk)), truth=truth)


def draw_parameters(model: Ridge, stream: Stream, norm: float, seeds: Sequence[int]) -> Floats:
    """Return θ for each seed: a random direction with a norm that keeps labels in their range.

    The norm is `norm`, or the smaller one at which max |⟨θ, x_t⟩| = 1: the paper assumes |f*| ≤ 1.
    """
    width = stream.dim + model.intercept
    theta = np.array([np.random.default_rng([seed, 2]).standard_normal(width) for seed in seeds])
    theta *= norm / np.linalg.norm(theta, axis=1, keepdims=True)
    largest = np.ones(len(seeds))
    for chunk in stream.chunks(rows_at_once(stream.dim)):
        largest = np.maximum(largest, np.abs(with_constant(chunk.X, model) @ theta.T).max(axis=0))
    return np.asarray(theta / largest[:, None])


def with_constant(X: Floats, model: Ridge) -> Floats:
    """Return inputs, with a 1 appended if the model has an intercept.

    The θ of the intercept is drawn like the others, whatever its penalty.
    """
    return np.column_stack([X, np.ones(len(X))]) if model.intercept else X


def fitting_noise(model: Ridge, theta: Floats) -> float:
    """Return the σ at which λ = σ²/τ² of the model is optimal, with τ² the mean square of θ.

    >>> fitting_noise(Ridge(4), np.full((1, 4), 0.5))
    0.5
    """
    _, half = _centre(model)
    return half * math.sqrt(model.penalty * float(np.mean(theta**2)))


def _centre(model: Ridge) -> tuple[float, float]:
    """Return the middle and half the width of the label range."""
    low, high = model.label_range
    return (low + high) / 2, (high - low) / 2


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
    """Forecast the effect of a budget on a stream, from its inputs alone.

    The Δ of a label-free model depends on inputs and random draws only, so runs of QuFUR(α) without labels
    show which α spends the budget, and when. For `Ridge` the runs also learn from simulated labels, with one
    θ* and one noise sequence per seed. Given the queries, the expected regret at x_t is

        σ² xᵀM⁻¹(M − λI)M⁻¹x + λ² τ² ‖M⁻¹x‖²,

    with τ² = ‖θ*‖²/d; it equals σ² xᵀM⁻¹x if λ = σ²/τ². The runs average it over the draws and include the
    clipping of predictions. Cost: about 10 to 20 runs per seed.

    Parameters
    ----------
    model
        A label-free model.
    inputs
        A stream, whose labels are ignored, or a matrix with one row per example. A stream is read again for
        every run; use `Arrays.of(stream)` to hold a slow one in memory.
    budget
        B, a count of labels or a share of the examples: 150, 0.05 or "5%".
    noise
        σ ≥ 0, the standard deviation of the label noise in the units of the labels, for the regret of
        `Ridge`. None uses the value at which λ = σ²/τ² of the model is optimal: a guess.
    norm
        ‖θ*‖ for labels mapped to [−1, 1]; None uses C of the model. Directions are random, and the norm is
        reduced if |⟨θ*, x_t⟩| would exceed 1.
    parts
        Number of equal parts of the stream for which labels are counted.
    seeds
        Seeds of the draws and labels, one simulated run each. The 90 % intervals need at least 19.
    steady
        Whether to use `Steady`, which always spends the budget: the plan then has no α and only counts the
        labels in each part.
    pilot
        Existing labels, from which the expected error is estimated, in the units of the labels.

    Returns
    -------
    Plan
        The forecast; `Plan.rule` is the rule to use.

    Raises
    ------
    InvalidError
        If Δ of the model depends on labels, the budget does not fit the stream, `noise` or `norm` is given
        for a model other than `Ridge`, the pilot has fewer than 24 labels, or a number is out of range.

    Examples
    --------
    >>> from qufur import Ridge, streams
    >>> stream = streams.HiddenDomains([100, 100], [6, 2])
    >>> result = plan(Ridge(stream.dim), stream, 40, noise=0.1)
    >>> round(result.alpha, 2), str(result.spend), str(result.forecast[2].regret)
    (0.67, '39.2 (31.1–47)', '3.74 (2.59–5.08)')
    """
    stream = _as_stream(inputs, model)
    labels = labels_within(budget, stream.horizon, "plan")
    count = min(as_count(parts, "parts", "plan"), stream.horizon)
    if not len(seeds) or not all(is_integer(seed) and seed >= 0 for seed in seeds):
        raise invalid("seeds", "plan", "one or more integers of at least 0", repr(seeds))
    streams, noise_used, norm_used = _draw(model, stream, noise, norm, seeds)
    edges = np.linspace(0, stream.horizon, count + 1).astype(np.int64)

    @cache
    def trial(alpha: float | None) -> _Trial:
        rule = Steady(labels, stream.horizon) if alpha is None else QuFUR(alpha)
        return _try(_fast_model(model), streams, rule, edges, seeds)

    alpha = None if steady else _alpha(trial, labels, 1.0)
    runs = trial(alpha)
    return Plan(
        budget=labels,
        horizon=stream.horizon,
        alpha=alpha,
        spend=Spread.of(runs.queries),
        parts=tuple(
            Part(*ends, Spread.of(counts))
            for ends, counts in zip(pairwise(edges.tolist()), runs.parts.T, strict=True)
        ),
        forecast=() if alpha is None else tuple(_forecast(trial, alpha, labels, stream.horizon)),
        noise=noise_used,
        norm=norm_used,
        guessed=noise is None and noise_used is not None,
        expected=() if pilot is None else pilot.expect(model, _budgets(labels, stream.horizon)),
    )


class _Trial(NamedTuple):
    """Simulated runs of a rule, one per seed.

    Attributes
    ----------
    queries, regret
        Labels bought and regret of each run.
    expected
        Estimated mean number of labels.
    parts
        Labels by run and part of the stream.
    """

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
    queries, probabilities, regret, *parts = np.array(rows).T
    # Both means estimate E[Q]. Draws that query more now leave less to query later: errors partly cancel.
    return _Trial(queries, float(queries.mean() + probabilities.mean()) / 2, regret, np.array(parts).T)


def _forecast(
    trial: Callable[[float], _Trial], alpha: float, budget: int, horizon: int
) -> Iterator[Forecast]:
    for other in _budgets(budget, horizon):
        other_alpha = alpha if other == budget else _alpha(trial, other, alpha * (other / budget) ** 2)
        runs = trial(other_alpha)
        regret = None if np.isnan(runs.regret).any() else Spread.of(runs.regret)
        yield Forecast(other, other_alpha, Spread.of(runs.queries), regret)


def _budgets(budget: int, horizon: int) -> list[int]:
    return sorted({min(max(1, round(factor * budget)), horizon) for factor in FACTORS})


def _alpha(trial: Callable[[float], _Trial], budget: int, guess: float) -> float:
    """Return an α whose expected spend is within 0.5 % of the budget, or the nearest one."""
    low, high, trials = 0.0, math.inf, []
    while high > 1.001 * low and guess < 1e12:
        spent = trial(guess).expected
        if abs(spent / budget - 1) < 0.005:
            return guess
        low, high = (guess, high) if spent < budget else (low, guess)
        trials.append((guess, spent))
        aim = guess * (budget / spent) ** _power(trials[-2:]) if spent else math.inf
        guess = aim if low < aim < high else _inside(low, high)
    return min(guess, 1e12)


def _power(trials: Sequence[tuple[float, float]]) -> float:
    """Return the exponent of α as a power of the spend: 2 by Theorem 1, or a fit to the last two trials."""
    (first, first_spend), (last, last_spend) = trials[0], trials[-1]
    if first == last or first_spend == last_spend or first_spend * last_spend == 0:
        return 2.0
    return min(max(1.0, math.log(last / first) / math.log(last_spend / first_spend)), 20.0)


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
    if not model.tags.label_free:
        remedy = "The queries of this model depend on the labels."
        raise invalid("model", "plan", "label-free", repr(model), remedy)
    if isinstance(inputs, Stream):
        return inputs
    X = as_inputs(inputs, model.dim, "plan")
    if 0 in X.shape:
        raise invalid("inputs", "plan", "of at least one row and one column", f"shape {X.shape}")
    return Arrays(X, np.zeros(len(X)))


def _fast_model(model: Model) -> Model:
    """Return a model with the same queries that learns fast."""
    return model.without_experts() if isinstance(model, HasExperts) else model


def matching_parameter(
    rule_of: Callable[[float], Rule], model: Model, stream: Stream, *, seed: int = 0
) -> float:
    """Return the smallest parameter, to 1 %, at which a rule spends its whole budget on a stream.

    The spend of a label-free model depends on inputs and random draws only, so no label is needed. If no
    parameter spends the budget, the result is above 10¹².

    Parameters
    ----------
    rule_of
        Function from a number above 0 to a rule with a budget; a larger number must spend more.
    model
        A label-free model.
    stream
        Source of the inputs; its labels are ignored.
    seed
        Seed of the draws.

    Raises
    ------
    InvalidError
        If Δ of the model depends on labels, or the rules have no budget.

    Examples
    --------
    >>> from qufur import QuFUR, Ridge, streams
    >>> stream = streams.HiddenDomains([100, 100], [6, 2])
    >>> alpha = matching_parameter(lambda alpha: QuFUR(alpha, budget=40), Ridge(stream.dim), stream)
    >>> round(alpha, 2), run(Learner(Ridge(stream.dim), QuFUR(alpha)), stream).queries
    (0.79, 40)
    """
    if not model.tags.label_free:
        raise invalid("model", "matching_parameter", "label-free", repr(model))
    if rule_of(1.0).budget is None:
        allowed = "a function that returns rules with a budget"
        raise invalid("rule_of", "matching_parameter", allowed, "rules without one")
    model = _fast_model(model)
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
    """Return the next guess between two bounds, of which the lower may be 0 and the upper infinite."""
    if high == math.inf:
        return 4 * low
    return high / 4 if low == 0 else math.sqrt(low * high)
