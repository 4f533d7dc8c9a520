"""What the machine itself can do: the speed of BLAS on matrices of the size at hand."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas

from benchmarks.timing import Timing, interleaved

ROWS = 128


def measure(dim: int, rounds: int) -> dict[str, Timing]:
    """Return the cost of a row in a matrix product with M⁻¹, and of one `dsymv` with it."""
    rng = np.random.default_rng(0)
    inverse = np.asfortranarray(np.eye(dim))
    X, out, x = rng.standard_normal((ROWS, dim)), np.empty((ROWS, dim)), rng.standard_normal(dim)
    repeats = max(1, int(2e8 / (2 * ROWS * dim**2)))
    gemm = {"gemm": lambda: [np.matmul(X, inverse, out=out) for _ in range(repeats)]}
    dsymv = {"dsymv": lambda: [blas.dsymv(1.0, inverse, x) for _ in range(500)]}
    return interleaved(gemm, repeats * ROWS, rounds) | interleaved(dsymv, 500, rounds)


def gigaflops(gemm: Timing, dim: int) -> float:
    """Return the speed of the matrix product."""
    return 2e-3 * dim**2 / gemm.median
