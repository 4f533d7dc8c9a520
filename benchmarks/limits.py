"""Limits of the machine: BLAS on matrices of the measured sizes, and memory bandwidth."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from scipy.linalg import blas

from benchmarks.text import Progress, Table
from benchmarks.timing import Timing, interleaved

ROWS = 128
DIMS = (88, 768, 4096)
ROUNDS = 7
NUMBERS = 2**23
"""Elements of each array of 64 MB, which exceeds the caches."""


def measure(quick: bool, progress: Progress) -> dict[str, Any]:
    """Measure matrix products at every dimension, and copies and sums of large vectors."""
    progress.say("limits")
    rounds, dims = (1, DIMS[:2]) if quick else (ROUNDS, DIMS)
    numbers = NUMBERS // 64 if quick else NUMBERS
    x, y = np.ones(numbers), np.ones(numbers)
    vectors = {"copy": lambda: np.copyto(y, x), "daxpy": lambda: blas.daxpy(x, y, a=1e-9)}
    speeds = {name: 1 / timing.median for name, timing in interleaved(vectors, 1, rounds).items()}
    bounds = {dim: of(dim, rounds) for dim in dims}
    return {
        "products": [
            {
                "dim": dim,
                "microseconds": {name: asdict(timing) for name, timing in bound.items()},
                "gigaflops": gigaflops(bound["gemm"], dim),
                # Only one triangle is read; the two vectors are negligible.
                "gigabytes": 4e-3 * dim * (dim + 1) / bound["dsymv"].median,
            }
            for dim, bound in bounds.items()
        ],
        # In GB/s: a copy reads and writes, y + ax reads twice and writes.
        "copy": 16e-3 * numbers * speeds["copy"],
        "daxpy": 24e-3 * numbers * speeds["daxpy"],
    }


def of(dim: int, rounds: int) -> dict[str, Timing]:
    """Return the cost of a row in a matrix product with M⁻¹, and of one `dsymv` with it."""
    rng = np.random.default_rng(0)
    inverse = np.asfortranarray(np.eye(dim))
    X, out, x = rng.standard_normal((ROWS, dim)), np.empty((ROWS, dim)), rng.standard_normal(dim)
    products = max(1, int(2e8 / (2 * ROWS * dim**2)))
    vectors = max(5, min(500, int(2e8 / dim**2)))
    gemm = {"gemm": lambda: [np.matmul(X, inverse, out=out) for _ in range(products)]}
    dsymv = {"dsymv": lambda: [blas.dsymv(1.0, inverse, x) for _ in range(vectors)]}
    return interleaved(gemm, products * ROWS, rounds) | interleaved(dsymv, vectors, rounds)


def gigaflops(gemm: Timing, dim: int) -> float:
    """Return the speed of the matrix product."""
    return 2e-3 * dim**2 / gemm.median


def tables(results: dict[str, Any]) -> list[Table]:
    """Return the products, with the bandwidth below."""
    rows = [
        [
            f"d = {r['dim']}",
            str(Timing(**r["microseconds"]["gemm"])),
            f"{r['gigaflops']:.0f}",
            str(Timing(**r["microseconds"]["dsymv"])),
            f"{r['gigabytes']:.0f}",
        ]
        for r in results["products"]
    ]
    header = ["limits", "GEMM, µs per row", "GFLOP/s", "dsymv, µs", "GB/s"]
    title = f"Speed of BLAS on one thread, with {ROWS} rows and one row at a time"
    copy, daxpy = results["copy"], results["daxpy"]
    note = f"Large vectors: {copy:.1f} GB/s to copy, {daxpy:.1f} GB/s for y + ax (daxpy)."
    return [Table(title, header, rows, note)]
