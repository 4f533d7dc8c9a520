"""Engines that decide blocks of inputs, each exactly as one by one; which one, is chosen here alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qufur.arrays import Floats
from qufur.models.engines.base import BlockEngine
from qufur.models.engines.compiled import CompiledEngine
from qufur.models.engines.covariance import CovarianceEngine
from qufur.models.gram.posterior import Posterior
from qufur.models.lookahead import Lookahead, OneRow

if TYPE_CHECKING:
    from qufur.models.least_squares_state import LeastSquaresState

ENGINES: tuple[type[BlockEngine], ...] = (CompiledEngine, CovarianceEngine)
"""The fastest first."""


def engine_for(state: LeastSquaresState, X: Floats) -> Lookahead:
    """Return what decides these inputs, or as many of the first as can be taken together."""
    posterior, rows = state.queried, state.model.features(X)
    squares = posterior.squares(rows)
    posterior.prepare_for(squares)
    if len(X) == 1:
        return OneRow(state, X)
    engine = next(engine for engine in ENGINES if engine.suits(posterior, rows, squares))
    return engine(state, rows)


def first_block_size(posterior: Posterior) -> int:
    """Return over how many inputs it pays to look ahead at first."""
    return next(engine.first_block_size for engine in ENGINES if engine.fits(posterior))
