"""Linear softmax classification: the model of the paper's image experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from qufur._internal.registry import class_named, name_of
from qufur.arrays import Bools, Floats, as_count, is_integer, set_fields
from qufur.errors import invalid
from qufur.models._regression import set_uncertainty
from qufur.models._softmax_state import FisherState, SoftmaxState
from qufur.models.base import Model, State, Tags
from qufur.models.capabilities import ExplainsUncertainty, Widens, cannot_widen
from qufur.models.labels import ClassNumbers, LabelCodec
from qufur.models.ridge import Ridge
from qufur.models.training.adam import PaperAdam
from qufur.models.training.base import Training
from qufur.models.training.converged import Converged
from qufur.pending import PendingQueries


@dataclass(frozen=True)
class Softmax(Model, ExplainsUncertainty, Widens):
    """Linear classifier argmax_k ⟨W_k, x⟩ with the Δ of `Ridge`: η̃² min(1, ‖x‖² in M⁻¹), M = λI + Σ x xᵀ.

    "The same query strategy as Algorithm 1", on raw features, with a linear classifier without intercept
    (section "Additional experimental details"). Labels are class numbers 0..classes − 1, the loss is 0-1.
    The authors' scripts use `training=PaperAdam()`, `cap=False` and `regularization` max‖x‖; the default
    trains to convergence instead, so that predictions do not depend on the order of labels. All labelled
    examples are stored, since training needs them. The other parameters are those of `Ridge` and affect Δ
    only.

    Parameters
    ----------
    dim
        d ≥ 1, the number of input columns.
    classes
        The number of classes, at least 2.
    training
        `Converged` or `PaperAdam`: the training method that labels trigger. It also sets the regularisation
        of the weights.

    Examples
    --------
    >>> state = Softmax(2, 3).start()
    >>> state.learn(np.eye(2), np.array([2.0, 1.0]))
    >>> state.predict(np.eye(2)), state.uncertainty(np.eye(2))
    (array([2., 1.]), array([0.5, 0.5]))
    """

    dim: int
    classes: int
    norm_bound: float = field(default=1.0, kw_only=True)
    regularization: float | None = field(default=None, kw_only=True)
    noise: float = field(default=1.0, kw_only=True)
    cap: bool = field(default=True, kw_only=True)
    training: Training = field(default=Converged(), kw_only=True)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if not is_integer(self.classes) or self.classes < 2:
            raise invalid("classes", owner, "an integer of at least 2", repr(self.classes))
        set_fields(
            self,
            dim=as_count(self.dim, "dim", owner),
            classes=int(self.classes),
            training=_as_training(self.training, owner),
        )
        set_uncertainty(self)

    @property
    def raw(self) -> Ridge:
        """Linear model with the same Δ; `FisherSoftmax` uses only its λ, noise scale and cap."""
        return Ridge(
            self.dim,
            norm_bound=self.norm_bound,
            regularization=self.regularization,
            noise=self.noise,
            cap=self.cap,
        )

    @cached_property
    def tags(self) -> Tags:  # type: ignore[override]
        """Properties of the model."""
        return Tags(label_free=True, monotone=True, bounded=False, order_independent=self.training.order_free)

    @cached_property
    def label_codec(self) -> LabelCodec:  # type: ignore[override]
        """Codec of class numbers."""
        return ClassNumbers(self.classes, type(self).__name__)

    def loss(self, prediction: Floats, label: Floats) -> Floats:
        """Return 1 where the class is wrong, 0 where it is right."""
        return np.asarray(prediction != label, dtype=np.float64)

    @property
    def loss_scale(self) -> float:
        return 1.0

    def squared_norms(self, X: Floats) -> Floats | None:
        return self.raw.squared_norms(X)

    def unexplained_share(self, size: Floats, uncertainty: Floats) -> Floats:
        return self.raw.unexplained_share(size, uncertainty)

    def capped(self, uncertainty: Floats) -> Bools:
        return self.raw.capped(uncertainty)

    def describe(self) -> dict[str, Any]:
        """Return the constructor arguments, with the training as its type name and options."""
        training = name_of(type(self.training), Training, "training", type(self).__name__)
        return super().describe() | {"training": {"kind": training, **vars(self.training)}}

    def start(self, pending: PendingQueries | None = None) -> State:
        return SoftmaxState(self, pending)

    def with_columns(self, state: State, constants: Floats) -> tuple[Model, State]:
        """Append columns that were 0 so far, if the training depends on the examples only."""
        from qufur.models._widen import with_zero_columns

        return with_zero_columns(self, state, constants)

    @classmethod
    def examples(cls, dim: int) -> Sequence[Softmax]:
        """Return small instances for the contract checks."""
        return [
            cls(dim, 3),
            cls(dim, 2, regularization=0.1, cap=False, noise=2.0, training=Converged(penalty=0.1)),
            cls(dim, 3, norm_bound=3.0, training=PaperAdam(batch=16)),
        ]


@dataclass(frozen=True)
class FisherSoftmax(Softmax):
    """`Softmax` with Δ from the Fisher information of the classifier instead of raw features.

    Δ = η̃² min(1, Σ_k p_k(1 − p_k) ‖x‖² in F_k⁻¹), F_k = λI + Σ p_k(1 − p_k) x xᵀ over queried inputs, with p
    the probabilities under the current weights. The F_k are the diagonal blocks of the Fisher information
    of all weights, one per class. Blocks between classes are omitted; with them, d in the hundreds would be
    infeasible. Inputs whose class is nearly certain have a small Δ, even far from all queries. Labels change
    the weights and with them Δ, so Δ is neither label-free nor monotone and rows are decided one by one.

    This model is not in the paper. Parameters are those of `Softmax`.

    Examples
    --------
    >>> FisherSoftmax(2, 2).start().uncertainty(np.eye(2))
    array([0.5, 0.5])
    """

    @cached_property
    def tags(self) -> Tags:  # type: ignore[override]
        """Properties of the model."""
        return replace(super().tags, label_free=False, monotone=False)

    def with_columns(self, state: State, constants: Floats) -> tuple[Model, State]:
        """Raise `InvalidError`: Δ of further columns depends on the order of labels."""
        raise cannot_widen(self)

    def squared_norms(self, X: Floats) -> None:
        return None

    def start(self, pending: PendingQueries | None = None) -> State:
        return FisherState(self, pending)


def _as_training(value: Any, owner: str) -> Training:
    if isinstance(value, Mapping):  # the form that `describe` returns
        options = dict(value)
        value = class_named(options.pop("kind", None), Training, "training", owner)(**options)
    if not isinstance(value, Training):
        raise invalid("training", owner, "Converged(...) or PaperAdam(...)", repr(value))
    return value
