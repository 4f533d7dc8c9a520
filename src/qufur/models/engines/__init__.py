"""Engines that decide blocks of inputs exactly as one by one, and the choice among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qufur._internal.tensors import on_host
from qufur.arrays import Floats
from qufur.models.engines.base import BlockEngine
from qufur.models.engines.compiled import CompiledEngine
from qufur.models.engines.covariance import CovarianceEngine
from qufur.models.gram.posterior import Posterior
from qufur.models.lookahead import BlockLimits, Lookahead, OneRow

if TYPE_CHECKING:
    from qufur.models._least_squares_state import LeastSquaresState

ENGINES: tuple[type[BlockEngine], ...] = (CompiledEngine, CovarianceEngine)
"""Engines on the host, fastest first. On a torch device the only engine is `GpuEngine`."""


def engine_for(state: LeastSquaresState, X: Floats) -> Lookahead:
    """Return the look-ahead over these inputs, or over the longest prefix that fits into one block."""
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


def block_limits(posterior: Posterior, at_once: bool, dim_on_device: int | None) -> BlockLimits:
    """Return the block limits for a posterior on the host or, on a device, for this dimension."""
    if dim_on_device is not None:
        from qufur.models.engines.gpu import GpuEngine

        return GpuEngine.block_limits(dim_on_device, at_once)
    return BlockLimits(next(engine.first_block_size for engine in ENGINES if engine.fits(posterior)))
