"""Ridge regression whose intercept is free, from one that holds it down like the rest."""

from __future__ import annotations

import numpy as np

from qufur.arrays import Floats
from qufur.models import Ridge
from qufur.models.gram.gram import Gram

LEAST_SHARE = 1e-12
"""Below it there are no labels yet, or none that count beside λ: then the intercept stays held down."""


def scores_and_variances(model: Ridge, gram: Gram, X: Floats) -> tuple[Floats, Floats]:
    """Return ⟨θ̂, x⟩ and q = ‖x‖² in M⁻¹ of each row, without a penalty on the constant.

    Labels may be centred anywhere, so users expect an intercept that λ does not pull to 0. With e the
    constant's coordinate, M − λeeᵀ has the inverse M⁻¹ + λM⁻¹eeᵀM⁻¹/(1 − λeᵀM⁻¹e) (Sherman and Morrison):
    the same as scikit-learn's `Ridge`, which centres inputs and labels. O(d) per row beyond q.

    Examples
    --------
    >>> model = Ridge(1, intercept=True, clip=False)
    >>> gram = model.posterior()
    >>> gram.add(model.features(np.array([[-1.0], [1.0]])), np.array([99.0, 101.0]))
    >>> scores_and_variances(model, gram, np.array([[0.0]]))[0].round(6)
    array([100.])
    """
    rows = model.features(X)
    scores, variances = gram.scores(rows), gram.variance(rows)
    constant = np.zeros((1, rows.shape[1]))
    constant[0, -1] = model.intercept
    pull = gram.solve(constant)[0]
    share = 1.0 - model.penalty * pull[-1]
    if not model.intercept or share < LEAST_SHARE:
        return scores, variances
    across, factor = rows @ pull, model.penalty / share
    return scores + factor * gram.coef[-1] * across, variances + factor * across**2
