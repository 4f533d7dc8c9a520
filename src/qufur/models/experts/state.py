"""What a committee of experts knows, with labels that come late, out of order, or never."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qufur.arrays import Axes, Floats, check_shapes, under
from qufur.errors import invalid
from qufur.models.base import Id, Purchases, State
from qufur.models.diagnostics.outliers import KnownRange
from qufur.models.diagnostics.standing import Standing
from qufur.models.experts.board import Board
from qufur.models.experts.fitting import Fitted, Fitting
from qufur.models.experts.label_range import LabelRange
from qufur.models.experts.labelled import FREE, Labelled, Terms
from qufur.models.experts.lookahead import DoubtLookahead, NoveltyLookahead, doubt
from qufur.models.experts.novelty import Novelty
from qufur.models.experts.scaling import Scaling
from qufur.models.lookahead import Lookahead, Reach

if TYPE_CHECKING:
    from qufur.models.experts.committee import Committee


AT_ONCE = 256
"""Rows at first, where no fit can come in between."""


class Said(NamedTuple):
    """What every expert and all together said of an input whose label was asked for.

    Attributes
    ----------
    terms
        On which the label was bought.
    labels
        How many labels had come then.
    """

    predictions: Floats
    output: Floats
    terms: Terms
    labels: int


class CommitteeState(State):
    """Inputs that give Δ, labelled rows, and experts that are fitted to them now and then.

    Attributes
    ----------
    labelled
        The rows whose labels came.
    said
        What was said of each pending query.
    scaling
        Of inputs, learned from all of them.
    novelty
        Δ of inputs, for models of numbers.
    labels
        The range of the labels.
    further
        How many columns came after the start.
    fits_elsewhere
        Whether experts are fitted by whoever asks for `due_fit`.
    """

    model: Committee

    def __init__(self, model: Committee) -> None:
        self.model = model
        self.pending: dict[Id, Floats] = {}
        self.said: dict[Id, Said] = {}
        self.labelled = Labelled()
        self.scaling = Scaling()
        self.novelty = Novelty(self.scaling, self._queried_rows)
        self.labels = LabelRange(model.label_range)
        self.further = 0
        self.fits_elsewhere = False
        self._board: Board | None = None
        self._terms: dict[Id, Terms] = {}
        self._noted: dict[Id, Floats] = {}
        self._unheard = False
        self._last: tuple[Floats, Floats, Floats] | None = None

    @property
    def board(self) -> Board:
        """The experts, which are there from the first input on."""
        if self._board is None:
            self._board = Board(self.model, self.scaling.units, self.labelled, self.further)
            if self.fits_elsewhere:
                self._board.fit_elsewhere(self.scaling.units)
        return self._board

    def reach(self, at_once: bool) -> Reach:
        """Return how far to look ahead: asking experts costs much, however few the rows are."""
        return Reach(AT_ONCE) if self.fits_elsewhere else super().reach(at_once)

    # What it says

    def predict(self, X: Floats) -> Floats:
        """Return the prediction for each row, from the labelled data alone."""
        return self.model.predictions(self.outputs(X))

    def outputs(self, X: Floats) -> Floats:
        """Return what the experts say together: a number, or a probability for each class."""
        if not self.scaling.dim:
            return np.tile(self.model.first_output(), (len(X), 1))
        return self.combine(self._consult(X))

    def ask_experts(self, X: Floats) -> Floats:
        """Return what each expert says about each row, within no bounds: (rows, experts, outputs)."""
        if self._unheard:
            return np.tile(self.model.first_output(), (len(X), len(self.board.names), 1))
        return self.board.ask(X)

    def combine(self, said: Floats) -> Floats:
        """Return what experts say together, of rows of what each says: (rows, experts, outputs)."""
        outputs = self.board.aggregation.combine(said)
        return self.labels.clip(outputs) if self.model.classes is None else outputs

    def probabilities(self, X: Floats) -> Floats:
        """Return the probability of each class, for each row."""
        return self.outputs(X)

    def uncertainty(self, X: Floats) -> Floats:
        """Return Δ of each row, given every query so far."""
        return self.novelty.uncertainty(X) if self.model.label_free else doubt(self.outputs(X))

    def predict_next(self, x: Floats, square: float) -> tuple[float, float]:
        """Return the prediction and Δ of the one input that is next in the stream."""
        self.prepare(x[None])
        said = self._consult(x[None])
        output = self.combine(said)
        self._last = x.copy(), said, output
        if self.model.label_free:
            delta = self.novelty.uncertainty_next(self.scaling.units.transform(x))
        else:
            delta = doubt(output).item()
        return self.model.predictions(output).item(), delta

    def largest_loss_one(self, prediction: float) -> float:
        """Return the largest loss that it may turn out to have, as far as is known; 0 where it is not."""
        return self.labels.largest_loss_one(prediction) if self.model.classes is None else 1.0

    def known_range(self) -> KnownRange | None:
        """Return the range of the labels so far; None for classes, and where one is given."""
        learns = self.model.classes is None and self.labels.given is None
        return KnownRange(self.labels.low, self.labels.high, len(self.labelled)) if learns else None

    def interval_bounds(self) -> tuple[float, float] | None:
        """Return the ends that prediction intervals are clipped to; None where no range is learned."""
        return self.labels.bounds if self.model.classes is None else None

    def standing(self) -> Standing:
        """Return how the experts are doing."""
        return self.model.standing(self)

    # What happens to it

    def look_ahead(self, X: Floats) -> Lookahead:
        """Look ahead over the rows of X up to where the scaling is set anew.

        Where labels matter to Δ, a row that is queried is the last one, and so is any while one is awaited.
        """
        if self.model.label_free:
            return NoveltyLookahead(self, X[: self.prepare(X)])
        rows = 1 if self.pending else len(X)
        return DoubtLookahead(self, X[: min(rows, self.prepare(X))], ends_with_query=True)

    def look_ahead_unlabelled(self, X: Floats) -> Lookahead:
        """Look ahead over rows during which no label comes."""
        if self.model.label_free:
            return self.look_ahead(X)
        return DoubtLookahead(self, X[: self.prepare(X)], ends_with_query=False)

    def prepare(self, X: Floats) -> int:
        """Set the scaling anew if it is time to; return how many rows come before it is time again."""
        ahead = self.scaling.ahead(X)
        if ahead:
            return ahead
        self.scaling.renew(X[0])
        self.novelty.outdate()
        self.board.fit_what_is_stale(self.scaling.units)
        return max(1, self.scaling.ahead(X))

    def note_purchases(self, ids: Sequence[Id], purchases: Purchases) -> None:
        """Note on what terms labels were bought that are queried next."""
        columns = (column.tolist() for column in purchases)
        self._terms.update(zip(ids, map(Terms, *columns), strict=True))

    def said_of(self, ids: Sequence[Id]) -> Floats:
        """Return what every expert and then all together said of pending queries."""
        said = [np.vstack(self.said[id][:2]) for id in ids]
        return np.array(said) if said else np.empty((0, 0, self.model.output_count))

    def note_said(self, ids: Sequence[Id], said: Floats) -> None:
        """Note what was said of inputs that are queried next."""
        self._noted.update(zip(ids, said, strict=True))

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """Ask no expert of inputs, which may take fits, as what they said is noted."""
        self._unheard = True
        try:
            yield
        finally:
            self._unheard = False

    def query(self, ids: Sequence[Id], X: Floats) -> None:
        """Note that the labels of these rows were asked for."""
        self.prepare(X)
        last = self._last
        if last is not None and np.array_equal(last[0][None], X):
            _, said, outputs = last
        else:
            said = self._consult(X)
            outputs = self.combine(said)
        if self.model.label_free:
            self.novelty.add(self.scaling.units.transform(X))
        self.await_labels(ids, X, said, outputs)

    def await_labels(self, ids: Sequence[Id], X: Floats, said: Floats, outputs: Floats) -> None:
        """Take ids among the pending ones, with what was said of their inputs."""
        for id, row, predictions, output in zip(ids, X, said, outputs, strict=True):
            self.await_label(id, row, predictions, output)

    def await_label(self, id: Id, x: Floats, said: Floats, output: Floats) -> None:
        """Take an id among the pending ones; arrays are copied, as they may be rows of larger ones."""
        self.pending[id] = x.copy()
        terms = self._terms.pop(id, FREE)
        if self._noted:
            noted = self._noted.pop(id)
            said, output = noted[:-1], noted[-1]
        self.said[id] = Said(said.copy(), output.copy(), terms, len(self.labelled))

    def label(self, ids: Sequence[Id], labels: Floats) -> None:
        """Learn the labels of pending queries, in this order."""
        board = self.board
        for id, label in zip(ids, labels.tolist(), strict=True):
            said = self.said.pop(id)
            board.take_in(said, label)
            self.labelled.add(self.pending.pop(id), label, said.terms)
            board.fit_what_is_due(self.scaling.units)
        self.labels.take_in(labels)

    def retract(self, id: Id) -> None:
        """Forget a pending query."""
        del self.pending[id], self.said[id]
        self.novelty.outdate()

    def learn(self, X: Floats, labels: Floats) -> None:
        """Learn labels that were not asked for; their inputs count for the scaling."""
        self._last = None
        start = 0
        while start < len(X):
            part = X[start : start + self.prepare(X[start:])]
            if self.model.label_free:
                self.novelty.add(self.scaling.units.transform(part))
            self.scaling.take_in(part)
            for row, label in zip(part, labels[start:].tolist(), strict=False):
                self.labelled.add(row.copy(), label, FREE)
            start += len(part)
        self._fit_to_more(labels)

    def learn_bought(self, X: Floats, labels: Floats, purchases: Purchases) -> None:
        """Learn labels on the terms of their purchase; the scaling has taken in their inputs before."""
        if self.model.label_free:
            self.novelty.add(self.scaling.units.transform(X))
        for row, label, *terms in zip(X, labels.tolist(), *(c.tolist() for c in purchases), strict=True):
            self.labelled.add(row.copy(), label, Terms(*terms))
        self._fit_to_more(labels)

    def _fit_to_more(self, labels: Floats) -> None:
        """Fit experts to labels that were added together."""
        self.labels.take_in(labels)
        if len(labels) > 1:  # what comes together is learned at once
            self.board.fit_all(self.scaling.units)
        elif len(labels):
            self.board.fit_what_is_due(self.scaling.units)

    def purchases_of(self, ids: Sequence[Id]) -> Purchases:
        """Return the terms of pending queries."""
        return _purchases(np.array([self.said[id].terms for id in ids], dtype=np.float64))

    def purchases_at(self, places: Sequence[int]) -> Purchases:
        """Return the terms of labelled rows, by their places in the order of labels."""
        return _purchases(self.labelled.first().terms[places])

    def relearn(self, rows: Floats, labels: Floats) -> None:
        """Let the labelled rows have had other labels; what was said of them is no longer known."""
        self.board.forget_record()
        self.labelled.relabel(labels.tolist())
        self.labels = LabelRange(self.model.label_range)
        self.labels.take_in(labels)
        self.board.fit_all(self.scaling.units)

    def fit_elsewhere(self) -> None:
        """Leave fits to whoever asks for `due_fit`, from now on."""
        self.fits_elsewhere = True
        if self._board is not None:
            self._board.fit_elsewhere(self.scaling.units)

    def due_fit(self) -> Fitting | None:
        """Return the fit that is due: to all labelled rows as they are scaled now."""
        return None if self._board is None else self._board.due_fit(self.scaling.units)

    def install_fit(self, fitted: Fitted) -> bool:
        """Go on with fitted experts, and return True, unless they have been overtaken."""
        if self._board is None:
            return False
        installed = self._board.install(fitted)
        self._board.fit_what_is_due(self.scaling.units)
        return installed

    def refit(self, values: Mapping[str, Any]) -> None:
        """Go on with the experts that the values of a fit describe; without an input there are none.

        Values without units mean the present ones.
        """
        if self._board is not None:
            units = self.scaling.units
            self._board.refit({"units": [units.mean, units.deviation]} | dict(values))
            self._board.fit_what_is_due(self.scaling.units)

    def as_pending(self, X: Floats) -> Floats:
        """Return inputs as they are."""
        return X

    def forget(self, places: Sequence[int], rows: Floats, labels: Floats) -> None:
        """Unlearn labelled rows by their places in the order of labels."""
        self.labelled.remove(places)
        self.relearn(rows, labels)
        self.novelty.outdate()

    def take_over(self, other: CommitteeState) -> None:
        """Go on from a state whose model has fewer classes, the first of these, or none and no label."""
        self.further, self.fits_elsewhere = other.further, other.fits_elsewhere
        self.scaling.restore(*other.scaling.save())
        self.labelled.restore(other.labelled.arrays(), self.scaling.dim)
        self.labels.take_in(self.labelled.first().y)
        if not self.scaling.dim:
            return
        board, former = self.board, other.board
        alike = other.model.classifies and board.names == former.names
        if alike:
            board.take_over(former)
        board.fit_all(self.scaling.units)
        nothing = np.tile(self.model.first_output(), (1, len(board.names), 1))
        for id, (predictions, _, terms, _) in other.said.items():
            more = self.model.output_count - predictions.shape[1]
            known = alike and (predictions != other.model.first_output()).any()
            padded = np.pad(predictions, ((0, 0), (0, more)))[None]
            said = self.model.bounded_outputs(padded, self.labels) if known else nothing
            self._terms[id] = terms
            self.await_labels([id], other.pending[id][None], said, self.combine(said))

    def advance(self, count: int) -> None:
        """Take note of the one input that was next; look-aheads do so themselves."""
        if self._last is not None:
            self.scaling.take_in(self._last[0][None])
            self._last = None

    def _consult(self, X: Floats) -> Floats:
        return self.model.bounded_outputs(self.ask_experts(X), self.labels)

    def _queried_rows(self) -> Floats:
        labelled = self.labelled.first().X
        return np.vstack([labelled.reshape(-1, self.scaling.dim), *self.pending.values()])

    # Files

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        values, scaling = self.scaling.save()
        low, high = self.labels.low, self.labels.high
        learned = self.model.label_range is None and low <= high
        values |= {"pending": list(self.pending), "range": [low, high] if learned else []}
        values["further"] = self.further
        fitted, board = ({}, {}) if self._board is None else self._board.save()
        values |= {"fitted_quick": 0, "fitted_slow": 0, "scikit_learn": ""} | fitted
        said, outputs, terms, labels = (
            zip(*self.said.values(), strict=True) if self.said else ((), (), (), ())
        )
        parts = {
            "labelled": self.labelled.arrays(),
            "scaling": scaling,
            "novelty": self.novelty.arrays(),
            "board": board,
            "pending": {
                "X": np.array(list(self.pending.values())).reshape(len(said), -1 if said else 0),
                "said": np.array(said).reshape(len(said), -1 if said else 0),
                "outputs": np.array(outputs).reshape(len(said), -1 if said else 0),
                "terms": np.array(terms, dtype=np.float64).reshape(-1, 3),
                "labels": np.array(labels, dtype=np.float64),
            },
        }
        return values, {f"{part}.{name}": array for part, own in parts.items() for name, array in own.items()}

    def recorded(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return all but M: labelled rows, what was said, weights and losses follow from what is recorded."""
        return {name: array for name, array in self.save()[1].items() if not name.startswith("novelty.")}

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over a state that `save` returned."""
        self.scaling.restore(values, under("scaling.", arrays))
        dim = self.scaling.dim
        self.further = values.get("further", 0)  # files of older versions do without
        columns = dim or self.model.dim or self.further + 1
        if not 0 <= self.further < columns:
            raise invalid("further", "a saved state", "fewer than its columns", self.further)
        self.novelty.restore(under("novelty.", arrays))
        self.labelled.restore(under("labelled.", arrays), dim)
        if values["range"]:
            low, high = values["range"]
            self.labels.set(low, high, len(self.labelled))
        board = under("board.", arrays)
        if board:
            self.board.restore(values, board)
        self._restore_pending(values["pending"], under("pending.", arrays), dim)

    def _restore_pending(self, ids: Sequence[Id], arrays: dict[str, np.ndarray[Any, Any]], dim: int) -> None:
        if not ids:
            return
        shape = len(self.board.names), self.model.output_count
        arrays = {"labels": np.full(len(ids), len(self.labelled)), **arrays}  # files of before leave it out
        axes: Axes = {"X": "nd", "said": "nw", "outputs": "no", "terms": ("n", 3), "labels": "n"}
        check_shapes(arrays, axes, d=dim, w=shape[0] * shape[1], o=shape[1])
        terms = [Terms(p, mean, bool(at_random)) for p, mean, at_random in arrays["terms"].tolist()]
        self.pending = dict(zip(ids, arrays["X"], strict=True))
        said = arrays["said"].reshape(-1, *shape)
        labels = map(int, arrays["labels"])
        self.said = dict(zip(ids, map(Said, said, arrays["outputs"], terms, labels), strict=True))


def _purchases(terms: Floats) -> Purchases:
    """Return terms that are rows of `Terms`."""
    probability, mean, at_random = terms.reshape(-1, 3).T
    return Purchases(probability, mean, at_random > 0)
