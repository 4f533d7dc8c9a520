"""Kernelised QuFUR against the effective dimension: Q·R = Õ((Σ √(d̃_u T_u))²) (Theorem 13)."""

from __future__ import annotations

from dataclasses import astuple
from functools import cache
from itertools import product

import numpy as np

from qufur.arrays import Floats
from qufur.experiments.base import Cell, Experiment, Figure, Row, Statement, Table, cells_of, judge_shares
from qufur.figures.style import plain_ticks, subplots
from qufur.models import KernelRidge
from qufur.models.gram.kernel import Kernel
from qufur.rules import QuFUR
from qufur.streams import Arrays
from qufur.sweep.grid import play as play_rule
from qufur.sweep.statistics import jackknife, per_seed, slope
from qufur.theory import Structure, effective_dimension, kernel_bounds

DURATIONS = (3_000, 9_000)
REGIONS = ((0.0, 1.0), (20.0, 24.0))
"""Two domains, a short and a long segment, far apart for every kernel."""

POINTS = 200
"""Distinct inputs per domain, evenly spaced. They repeat, so d̃ of thousands of inputs is cheap to compute."""

LENGTHS = (0.1, 0.3, 1.0, 3.0)
"""Length scales, over which Σ d̃_u falls by about ten."""

CENTRES = 20
NOISE = 1.0
ALPHAS = np.geomspace(0.3, 3.0, 5)
"""With T_u/d̃_u in the hundreds, Q/d̃_u ≈ √(2αT_u/d̃_u) is above 10 and √(αd̃_u/T_u) below 0.1."""


def cells(seeds: int) -> list[Cell]:
    """Run every α on the same streams, for every kernel."""
    return cells_of(seed=range(seeds), length=LENGTHS, alpha=ALPHAS.tolist())


def play(cell: Cell) -> Row:
    """Run kernelised QuFUR(α) on one draw of f*, order and noise."""
    kernel = rbf(cell["length"])
    model = KernelRidge(kernel, dim=1, noise=NOISE)
    totals = play_rule(model, QuFUR(cell["alpha"]), stream(kernel, cell["seed"]), cell["seed"]).totals
    return {"queries": totals.queries, "regret": totals.regret}


def rbf(length: float) -> Kernel:
    """Return k(x, x′) = exp(−(x − x′)²/(2 length²))."""
    from sklearn.gaussian_process.kernels import RBF

    kernel: Kernel = RBF(length)
    return kernel


def stream(kernel: Kernel, seed: int) -> Arrays:
    """Draw each domain's points in random order, labelled by a random f* of norm 1 in the RKHS."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.permutation(np.resize(points(u), (T_u, 1))) for u, T_u in enumerate(DURATIONS)])
    Z = np.concatenate([rng.choice(points(u), CENTRES) for u in range(len(REGIONS))])
    weights = rng.standard_normal(len(Z))
    truth = kernel(X, Z) @ weights / np.sqrt(weights @ kernel(Z) @ weights)
    return Arrays(X, truth + NOISE * rng.standard_normal(len(X)), truth=truth)


def points(domain: int) -> Floats:
    """Return the distinct inputs of a domain."""
    return np.linspace(*REGIONS[domain], POINTS)[:, None]


@cache
def structure(length: float) -> Structure:
    """Return (T_u, d̃_u) for a kernel.

    If s points occur T/s times each, the eigenvalues of the kernel matrix are T/s times those of the matrix
    of the s points, and zeros. So jλ ln T > Λ_j of the former is jλ′ ln s > Λ_j of the latter, with
    λ′ = λ (s ln T)/(T ln s).
    """
    kernel, s = rbf(length), POINTS
    dims = [
        effective_dimension(points(u), kernel, regularization=s * np.log(T_u) / (T_u * np.log(s)))
        for u, T_u in enumerate(DURATIONS)
    ]
    return Structure(DURATIONS, dims)


def judge(table: Table) -> list[Statement]:
    """Compare products and slopes across kernels."""
    Q, R = (per_seed(table, ["length", "alpha"], column) for column in ("queries", "regret"))
    dims = [sum(structure(length).dims) for length in LENGTHS]
    scaled = Q.mean(axis=0) * R.mean(axis=0) / squares()[:, None]
    settings = product(LENGTHS, ALPHAS)
    pairs = [astuple(kernel_bounds(structure(length), a, noise=NOISE, delta=None)) for length, a in settings]
    bounds = np.transpose(pairs).reshape(2, *scaled.shape)  # of Q and R, by kernel and α
    everywhere = "E[Q] and E[R] are below the bounds with constants, for every kernel and α"
    return [
        Statement(
            "Theorem 13",
            "Q·R/(Σ √(d̃_u T_u))² is the same, within a factor 4, for all kernels and α",
            f"{scaled.min():.2f} to {scaled.max():.2f}, for Σ d̃_u from {min(dims)} to {max(dims)}",
            bool(scaled.max() <= 4 * scaled.min()),
        ),
        judge_shares("Theorem 13", everywhere, np.mean([Q, R], axis=1) / bounds),
        _judge_slope("Q grows as α^0.5", Q, 0.5),
        _judge_slope("R falls as α^-0.5", R, -0.5),
        # The bound also has a term without α, which is not small at these T_u/d̃_u.
        _judge_slope("R falls with α as its bound with constants does", R, mean_slope(bounds[1:])),
    ]


def _judge_slope(claim: str, samples: Floats, expected: float) -> Statement:
    measured = jackknife(mean_slope, samples)
    each = [slope(ALPHAS, samples[:, i]) for i in range(len(LENGTHS))]
    return Statement(
        "Theorem 13",
        f"{claim}, within 0.1, on average over kernels",
        f"α^{measured} against α^{expected:.2f}; by kernel {min(each):.2f} to {max(each):.2f}",
        measured.within(expected - 0.1, expected + 0.1),
    )


def mean_slope(samples: Floats) -> float:
    """Return the slope against α, averaged over kernels."""
    return float(np.mean([slope(ALPHAS, samples[:, i]) for i in range(samples.shape[1])]))


def squares() -> Floats:
    """Return (Σ √(d̃_u T_u))² of each kernel."""
    return np.array([structure(length).root_sum ** 2 for length in LENGTHS])


def draw(table: Table) -> Figure:
    """Draw regret against queries, raw and in units of Σ √(d̃_u T_u)."""
    Q, R = (per_seed(table, ["length", "alpha"], column) for column in ("queries", "regret"))
    figure, (first, second) = subplots(1, 2)
    for i, (length, root) in enumerate(zip(LENGTHS, np.sqrt(squares()), strict=True)):
        label = f"length {length:g}, Σ d̃ = {sum(structure(length).dims)}"
        error = R[:, i].std(axis=0, ddof=1) / np.sqrt(len(R)) if len(R) > 1 else np.zeros(len(ALPHAS))
        for panel, unit in ((first, 1.0), (second, root)):
            queries, regret = Q[:, i].mean(axis=0) / unit, R[:, i].mean(axis=0) / unit
            panel.errorbar(queries, regret, yerr=error / unit, marker="o", ms=4, lw=1.2, label=label)
    reach = np.array(second.get_xlim())
    second.plot(reach, 1 / reach, color="0.5", lw=0.8, ls=":")
    first.set(xscale="log", yscale="log", xlabel="queries Q", ylabel="regret R", title="A curve per kernel")
    second.set(xscale="log", yscale="log", xlabel="Q / Σ √(d̃T)", ylabel="R / Σ √(d̃T)")
    second.set_title("In units of Σ √(d̃T); dotted: product 1")
    for panel in (first, second):
        plain_ticks(panel)
    second.legend(frameon=False, fontsize="small")
    return figure


EXPERIMENT = Experiment("kernel", "Kernel trade-off against effective dimension", cells, play, draw, judge)
