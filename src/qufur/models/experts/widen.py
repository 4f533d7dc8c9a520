"""What a committee knows, moved to inputs with further columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats
from qufur.models.experts.state import CommitteeState

if TYPE_CHECKING:
    from qufur.models.experts.committee import Committee

IN_EVERY_ROW = {"labelled.X", "pending.X", "scaling.part", "scaling.expected", "scaling.range"}
IN_FIRST_ROW = {"scaling.units", "scaling.moments", "board.units"}
"""Whose other rows are deviations and the like, which are 0."""


def wider_committee(state: CommitteeState, model: Committee, constants: Floats) -> CommitteeState:
    """Return the state of a model with further columns, which were constants in all inputs so far.

    Ridge regressions are fitted again, and M is built anew from the queried rows, when they are needed. The
    estimators go on, so the state before is not to be used any more.
    """
    values, arrays = state.save()
    known = {name: array for name, array in arrays.items() if not name.startswith("novelty.")}
    moved = model.start()
    further = {"further": state.further + len(constants)}
    moved.restore(values | further, {name: _wider(name, array, constants) for name, array in known.items()})
    if state.fits_elsewhere:
        moved.fit_elsewhere()
    if "board.units" in known:
        moved.board.take_over_slow(state.board)
    return moved


def _wider(name: str, array: Floats, constants: Floats) -> Floats:
    if name not in IN_EVERY_ROW | IN_FIRST_ROW:
        return array
    new = np.tile(constants, (len(array), 1))
    if name in IN_FIRST_ROW:
        new[1:] = 0.0
    return np.hstack([array, new])
