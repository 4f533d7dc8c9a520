"""What a committee of experts knows, with labels that come late, out of order, or never."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qufur.arrays import Floats, check_shapes, under
from qufur.models.base import Id, Purchases, State
from qufur.models.diagnostics.standing import Standing
from qufur.models.experts.aggregation import Aggregation
from qufur.models.experts.label_range import LabelRange
from qufur.models.experts.labelled import FREE, Labelled, Terms
from qufur.models.experts.lookahead import CommitteeLookahead
from qufur.models.experts.novelty import Novelty
from qufur.models.experts.panel import Panel
from qufur.models.experts.track_record import TrackRecord
from qufur.models.lookahead import Lookahead
from qufur.models.outliers import KnownRange

if TYPE_CHECKING:
    from qufur.models.experts.committee import Committee

GROWTH, ESTIMATOR_GROWTH = 0.1, 0.15
"""Experts are fitted anew when there are so many more labels, as a share; and with every new scaling."""


class Said(NamedTuple):
    """What every expert said of an input whose label was asked for, and on which terms that was."""

    predictions: Floats
    terms: Terms
    combined: Floats


class CommitteeState(State):
    """Labelled rows, experts that are fitted to them now and then, and the weights of the experts.

    Attributes
    ----------
    labelled
        The rows whose labels came.
    said
        What was said of each pending query.
    novelty
        Δ and the scaling, which know inputs alone.
    fitted, estimators_fitted
        To how many of the labelled rows the experts are fitted.
    """

    def __init__(self, model: Committee) -> None:
        self.model = model
        self.pending: dict[Id, Floats] = {}
        self.said: dict[Id, Said] = {}
        self.labelled = Labelled()
        self.novelty = Novelty(self._queried_rows)
        self.labels = LabelRange(model.label_range)
        self.aggregation = Aggregation(model.prior())
        self.record = TrackRecord(len(model.prior()))
        self.fitted = self.estimators_fitted = 0
        self._panel: Panel | None = None
        self._terms: dict[Id, Terms] = {}
        self._last: tuple[Floats, Floats] | None = None

    @property
    def panel(self) -> Panel:
        """The experts, which are there from the first input on."""
        if self._panel is None:
            self._panel = self.model.panel(self.novelty.dim)
        return self._panel

    # What it says

    def predict(self, X: Floats) -> Floats:
        """Return the prediction for each row, from the labelled data alone."""
        return self.model.predictions(self.outputs(X))

    def outputs(self, X: Floats) -> Floats:
        """Return the weighted mean of what the experts say: a number, or a probability for each class."""
        if not self.novelty.dim:
            return np.tile(self.model.first_output(), (len(X), 1))
        return self.combine(self._consult(X, self.novelty.scaling.transform(X)))

    def probabilities(self, X: Floats) -> Floats:
        """Return the probability of each class, for each row."""
        return self.outputs(X) if self.model.classifies else super().probabilities(X)

    def combine(self, said: Floats) -> Floats:
        """Return the weighted mean of what the experts say."""
        return np.asarray(np.einsum("e,reo->ro", self.aggregation.weights, said))

    def uncertainty(self, X: Floats) -> Floats:
        """Return Δ of each row, given every query so far."""
        return self.novelty.uncertainty(X)

    def predict_next(self, x: Floats, square: float) -> tuple[float, float]:
        """Return the prediction and Δ of the one input that is next in the stream."""
        self._prepare(x[None])
        z = self.novelty.scaling.transform(x[None])
        said = self._consult(x[None], z)
        self._last = x.copy(), said[0]
        return self.model.predictions(self.combine(said)).item(), self.novelty.uncertainty_next(z[0])

    def largest_loss_one(self, prediction: float) -> float:
        """Return the largest loss that it may turn out to have, as far as is known; 0 where it is not."""
        return float(self.model.largest_loss_within(np.array([prediction]), self.labels)[0])

    def known_range(self) -> KnownRange | None:
        """Return the range of labels: given, or that of the labels so far; None for classes."""
        if self.model.classifies or self.labels.given is not None:
            return super().known_range()
        return KnownRange(self.labels.low, self.labels.high, len(self.labelled))

    # What happens to it

    def look_ahead(self, X: Floats) -> Lookahead:
        """Look ahead over the rows of X up to where the scaling is set anew."""
        return CommitteeLookahead(self, X[: self._prepare(X)])

    def note_purchases(self, ids: Sequence[Id], purchases: Purchases) -> None:
        """Note on what terms labels were bought that are queried next."""
        columns = (column.tolist() for column in purchases)
        self._terms.update(zip(ids, map(Terms, *columns), strict=True))

    def query(self, ids: Sequence[Id], X: Floats) -> None:
        """Note that the labels of these rows were asked for."""
        self._prepare(X)
        Z = self.novelty.scaling.transform(X)
        known = self._last is not None and np.array_equal(self._last[0][None], X)
        said = self._last[1][None] if self._last is not None and known else self._consult(X, Z)
        self.novelty.add(Z)
        self.await_labels(ids, X, said)

    def await_labels(self, ids: Sequence[Id], X: Floats, said: Floats) -> None:
        """Take ids among the pending ones, with what was said of their inputs."""
        for id, row, *saying in zip(ids, X, said, self.combine(said), strict=True):
            self.pending[id] = row.copy()
            self.said[id] = Said(saying[0], self._terms.pop(id, FREE), saying[1])

    def label(self, ids: Sequence[Id], labels: Floats) -> None:
        """Learn the labels of pending queries, in this order."""
        for id, label in zip(ids, labels.tolist(), strict=True):
            predictions, terms, combined = self.said.pop(id)
            everyone = self.model.predictions(np.vstack([predictions, combined]))
            self.record.take_in(self.model.loss(everyone, np.full(len(everyone), label)), terms.probability)
            self.labels.take_in(np.array([label]))
            losses = self.model.expert_losses(predictions, label, self.labels)
            self.aggregation.update(losses, terms.mean_probability / terms.probability)
            self.labelled.add(self.pending.pop(id), label, terms)
            self._fit_if_due()

    def retract(self, id: Id) -> None:
        """Forget a pending query."""
        del self.pending[id], self.said[id]
        self.novelty.outdate()

    def learn(self, X: Floats, labels: Floats) -> None:
        """Learn labels that were not asked for; their inputs count for the scaling."""
        self._last = None
        start = 0
        while start < len(X):
            part = X[start : start + self._prepare(X[start:])]
            self.novelty.add(self.novelty.scaling.transform(part))
            self.novelty.scaling.take_in(part)
            for row, label in zip(part, labels[start:].tolist(), strict=False):
                self.labelled.add(row.copy(), label, FREE)
            start += len(part)
        self.labels.take_in(labels)
        self._fit_if_due()

    def relearn(self, rows: Floats, labels: Floats) -> None:
        """Let the labelled rows have had other labels; what was said of them is no longer known."""
        self.record = TrackRecord(len(self.model.prior()))
        self.labelled.relabel(labels)
        self.labels = LabelRange(self.model.label_range)
        self.labels.take_in(labels)
        self.fit_ridges()
        self.fit_estimators()

    def standing(self) -> Standing:
        """Return how the experts are doing."""
        names = self.panel.names if self.novelty.dim else []
        *losses, loss = self.record.means().tolist()
        terms = self.labelled.first().terms
        bought = terms[terms[:, 0] < 1]
        return Standing(
            self.record.labels,
            loss,
            tuple(names),
            tuple(losses),
            tuple(self.aggregation.weights.tolist()),
            tuple(self.record.standard_errors().tolist()),
            tuple(place for place, name in enumerate(names) if name.startswith("constant")),
            tuple(place for place, name in enumerate(names) if "labels at random" in name),
            float(bought[:, 2].mean()) if len(bought) else 1.0,
            not self.model.classifies,
        )

    def advance(self, count: int) -> None:
        """Take note of the one input that was next; look-aheads do so themselves."""
        if self._last is not None:
            self.novelty.scaling.take_in(self._last[0][None])
            self._last = None

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays; estimators are fitted again instead."""
        values, arrays = self.novelty.save()
        low, high = self.labels.low, self.labels.high
        values |= {
            "pending": list(self.pending),
            "fitted": self.fitted,
            "estimators_fitted": self.estimators_fitted,
            "range": [low, high] if low <= high and self.model.label_range is None else [],
        }
        said = [saying.predictions for saying in self.said.values()]
        parts = {
            "labelled": self.labelled.arrays(),
            "panel": {} if self._panel is None else self._panel.arrays(),
            "aggregation": self.aggregation.arrays(),
            "record": self.record.arrays(),
            "pending": {
                "X": np.array(list(self.pending.values())).reshape(len(said), -1 if said else 0),
                "said": np.array(said).reshape(len(said), -1 if said else 0),
                "terms": np.array(
                    [saying.terms for saying in self.said.values()], dtype=np.float64
                ).reshape(-1, 3),
                "combined": np.array([saying.combined for saying in self.said.values()]).reshape(
                    len(said), -1 if said else 0
                ),
            },
        }
        flat = {f"{part}.{name}": array for part, own in parts.items() for name, array in own.items()}
        return values, {f"novelty.{name}": array for name, array in arrays.items()} | flat

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over a state that `save` returned."""
        dim = len(arrays["novelty.mean"])
        self.novelty.restore(values, under("novelty.", arrays), dim)
        self.labelled.restore(under("labelled.", arrays), dim)
        self.aggregation.restore(under("aggregation.", arrays))
        self.record.restore(under("record.", arrays))
        if values["range"]:
            self.labels.low, self.labels.high = values["range"]
        self._restore_pending(values["pending"], under("pending.", arrays), dim)
        self.fitted = values["fitted"]
        coefficients = under("panel.", arrays)
        if coefficients:
            self.panel.restore(coefficients)
        if values["estimators_fitted"]:
            self.fit_estimators(values["estimators_fitted"])

    def _restore_pending(
        self, ids: Sequence[Id], arrays: dict[str, np.ndarray[Any, Any]], dim: int
    ) -> None:
        if ids:
            shape = len(self.model.prior()), self.model.output_count
            axes = {"X": "nd", "said": "nw", "terms": ("n", 3), "combined": "no"}
            check_shapes(arrays, axes, d=dim, w=shape[0] * shape[1], o=shape[1])
            said = arrays["said"].reshape(-1, *shape)
            self.pending = dict(zip(ids, arrays["X"], strict=True))
            terms = [Terms(p, mean, bool(at_random)) for p, mean, at_random in arrays["terms"].tolist()]
            self.said = dict(zip(ids, map(Said, said, terms, arrays["combined"]), strict=True))

    # Fitting

    def next_fit(self) -> int:
        """Return at how many labels some expert is fitted next."""
        due = [_due(self.fitted, GROWTH)]
        if self.panel.estimators:
            due.append(_due(self.estimators_fitted, ESTIMATOR_GROWTH))
        return min(due)

    def fit_ridges(self) -> None:
        """Fit the ridge regressions to all labelled rows."""
        sample = self.labelled.first()
        self.fitted = len(sample.y)
        if self.fitted:
            self.panel.fit_ridges(self.novelty.scaling.transform(sample.X), self.model.targets(sample.y), sample)

    def fit_estimators(self, count: int | None = None) -> None:
        """Fit the estimators to the first so many labelled rows, by default all."""
        sample = self.labelled.first(count)
        self.estimators_fitted = len(sample.y)
        if self.estimators_fitted:
            self.panel.fit_estimators(sample, self.model.targets(sample.y))

    def _fit_if_due(self) -> None:
        count = len(self.labelled)
        if count >= _due(self.fitted, GROWTH):
            self.fit_ridges()
        if count >= _due(self.estimators_fitted, ESTIMATOR_GROWTH):
            self.fit_estimators()

    def _consult(self, X: Floats, Z: Floats) -> Floats:
        return self.model.bounded_outputs(self.panel.predict(X, Z), self.labels)

    def _prepare(self, X: Floats) -> int:
        """Set the scaling anew if it is time to; return how many rows come before it is time again."""
        if not self.novelty.scaling.ahead(X):
            self.novelty.renew(X[0])
            self.fit_ridges()
            if self.estimators_fitted < len(self.labelled):
                self.fit_estimators()
        return max(1, self.novelty.scaling.ahead(X))

    def _queried_rows(self) -> list[Floats]:
        return [*self.labelled.rows(), *self.pending.values()]


def _due(fitted: int, growth: float) -> int:
    return fitted + max(1, int(growth * fitted))
