"""Engines that decide blocks of inputs, each exactly as one by one; which one, is chosen here alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qufur.arrays import Floats
from qufur.models.engines.base import BlockEngine
from qufur.models.engines.compiled import CompiledEngine
from qufur.models.engines.covariance import CovarianceEngine
from qufur.models.gram.posterior import Posterior
from qufur.models.lookahead import Lookahead, OneRow, Reach
from qufur.tensors import on_host

if TYPE_CHECKING:
    from qufur.models.least_squares_state import LeastSquaresState

ENGINES: tuple[type[BlockEngine], ...] = (CompiledEngine, CovarianceEngine)
"""The fastest first. On a device of torch there is one only, `GpuEngine`."""


def engine_for(state: LeastSquaresState, X: Floats) -> Lookahead:
    """Return what decides these inputs, or as many of the first as can be taken together."""
    if state.device is not None and len(X) > 1:
        from qufur.models.engines.gpu import GpuEngine

        on_device = GpuEngine.on_device(state, X)
        if on_device is not None:
            return on_device
    X = on_host(X)
    posterior, rows = state.queried, state.model.features(X)
    squares = posterior.squares(rows)
    posterior.prepare_for(squares)
    if len(X) == 1:
        return OneRow(state, X)
    engine = next(engine for engine in ENGINES if engine.suits(posterior, rows, squares))
    return engine(state, rows)


def expect(state: LeastSquaresState, X: Any) -> None:
    """Let the state's device begin with a tensor that is likely to come next."""
    from qufur.models.engines.gpu import GpuEngine

    GpuEngine.expect(state, X)


def reach(posterior: Posterior, at_once: bool, dim_on_device: int | None) -> Reach:
    """Return how far it pays to look ahead, from a posterior or, on a device, for such a dimension."""
    if dim_on_device is not None:
        from qufur.models.engines.gpu import GpuEngine

        return GpuEngine.reach(dim_on_device, at_once)
    return Reach(next(engine.first_block_size for engine in ENGINES if engine.fits(posterior)))
