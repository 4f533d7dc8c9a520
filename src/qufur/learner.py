"""The learner: a model, a rule, a random generator and their state."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from qufur._internal.operation import Operation
from qufur._internal.tensors import is_tensor, on_host
from qufur.answer import Answer, AnswerContext, Answers, answer
from qufur.arrays import (
    Bools,
    Floats,
    Ints,
    as_count,
    as_input_one,
    as_inputs,
    as_label_one,
    as_labels,
    as_tensor_inputs,
    as_whole_numbers,
    is_integer,
)
from qufur.blocks import Block, BlockSize, columns, decide
from qufur.errors import OutlierWarning, invalid
from qufur.estimates import intervals
from qufur.estimates.ledger import Ledger
from qufur.ids import Id, as_ids, check_outstanding, next_free_id
from qufur.models.base import Model
from qufur.models.capabilities import (
    ExplainsUncertainty,
    FitsInBackground,
    LearnsRange,
    OnDevice,
    Probabilistic,
    Widens,
    cannot_widen,
    interval_bounds,
)
from qufur.models.diagnostics.outliers import ObservedRange, Outlier, first_outlier
from qufur.models.lookahead import NO_ARRIVALS, Arrivals, not_finite_error
from qufur.pending import Pending, PendingQueries
from qufur.rules.base import Rule

if TYPE_CHECKING:
    from qufur.background_fits import BackgroundFits
    from qufur.estimates.report import Report
    from qufur.replay import RecordedDecisions


class Learner:
    """Online learner that predicts on a stream and decides which labels to buy.

    A learner is not thread-safe. While Python's own handler of Ctrl-C is installed, Ctrl-C is deferred until
    the current call is complete. A second Ctrl-C is not deferred; it leaves a learner that raises on every
    further call.

    Parameters
    ----------
    model
        The model. It is immutable and holds no state, so several learners can share it.
    rule
        The rule that decides which labels to buy; immutable as well.
    seed
        An int for `numpy.random.default_rng(seed)`, or a `Generator`, which is used directly.
    device
        Where blocks are decided: "cpu" uses NumPy; "cuda", "cuda:1" or a `torch.device` use a GPU through
        torch; "auto" uses a GPU if one is available and faster. Decisions do not depend on the device, and
        predictions differ by rounding only. Only `Ridge` has a GPU implementation; other models run on the
        CPU and emit a `DeviceWarning`.

    Raises
    ------
    InvalidError
        If a parameter has the wrong type or is out of range.

    Examples
    --------
    >>> from qufur import QuFUR, Ridge
    >>> learner = Learner(Ridge(2), QuFUR(alpha=4.0), seed=0)
    >>> answer = learner.ask([1.0, 0.0])
    >>> answer.query, answer.prediction
    (True, 0.0)
    >>> learner.tell(answer.id, 1.0)
    >>> round(learner.ask([1.0, 0.0]).prediction, 6)
    0.5
    """

    def __init__(
        self, model: Model, rule: Rule, *, seed: int | np.random.Generator = 0, device: Any = "cpu"
    ) -> None:
        if not (isinstance(model, Model) and isinstance(rule, Rule)):
            received = f"{type(model).__name__} and {type(rule).__name__}"
            raise invalid("model and rule", "Learner", "a Model and a Rule, in this order", received)
        if not isinstance(seed, np.random.Generator) and not (is_integer(seed) and seed >= 0):
            raise invalid("seed", "Learner", "an integer of at least 0 or a numpy Generator", repr(seed))
        self.model = model
        self.rule = rule
        self.rng = np.random.default_rng(seed)
        self.pending: PendingQueries = {}
        self.state = model.start(self.pending)
        self.spending = rule.start()
        self.dim = model.dim
        self.next_id = 0
        self.ledger = Ledger(model, _typical_probability(rule))
        self._operation = Operation()
        self._choose_device(device)

    def __repr__(self) -> str:
        """Return model, rule, and the number of spent, remaining and outstanding labels.

        >>> from qufur import QuFUR, Ridge
        >>> Learner(Ridge(2), QuFUR(4.0, budget=9))
        Learner(Ridge(...dim=2...), QuFUR(alpha=4.0...budget=9...), spent=0, left=9, outstanding=0)
        """
        parts = f"{self.model!r}, {self.rule!r}"
        return f"Learner({parts}, spent={self.spent}, left={self.left}, outstanding={len(self.outstanding)})"

    @property
    def device(self) -> Any:
        """The torch device that decides blocks; None for NumPy on the CPU."""
        return getattr(self.state, "device", None)

    def _choose_device(self, device: Any) -> None:
        if device != "cpu":
            from qufur.models._device import choose_device

            choose_device(self.state, self.model, device)

    def ask(self, x: ArrayLike, *, id: Id | None = None, domain: int | None = None) -> Answer:
        """Predict on one input and decide whether to query its label.

        Parameters
        ----------
        x
            The input, of shape (dim,).
        id
            An id to pass to `tell`; by default the smallest number above all used so far.
        domain
            The domain, for rules that require it.

        Returns
        -------
        Answer
            Prediction, uncertainty, query probability and decision.

        Raises
        ------
        InvalidError
            If the input, the id or the domain is invalid. The learner does not change.
        """
        with self._operation:
            row, squared_norm = as_input_one(x, self.dim, "Learner")
            name = self.next_id if id is None else as_ids([id], 1, self.next_id, self.pending)[0]
            domains = None if domain is None else as_whole_numbers([domain], 1, "domain", "Learner")
            if self.rule.told_domain:
                self.rule.check_domain(domains)
            return self._ask(row, squared_norm, name, domains)

    def _ask(self, row: Floats, squared_norm: float, name: Id, domains: Ints | None) -> Answer:
        model, state, spending = self.model, self.state, self.spending
        prediction, uncertainty = state.predict_next(row, squared_norm)
        if not math.isfinite(prediction + uncertainty):
            raise not_finite_error(prediction, uncertainty)
        spending.enter(domains)
        spent, left = spending.spent, spending.left
        query, probability, charge, at_random = spending.decide_one(uncertainty, self.rng, domains)
        # Only the state knows the loss bound of a model that learns its label range.
        bounds_loss = cast(LearnsRange, state) if model.loss_scale is None else model
        largest_loss = bounds_loss.largest_loss_one(prediction)
        self.dim = len(row)
        self.next_id = self.next_id + 1 if name == self.next_id else next_free_id([name], self.next_id)
        if query:
            record = Pending(name, prediction, probability, probability, False, largest_loss, charge)
            if model.tags.uses_purchases:
                self._set_purchase_terms([record], np.array([probability]), [0], np.array([at_random]))
            self._record_queries([record])
            state.query([record], row[None])
        state.advance(1)
        self.ledger.record_one(uncertainty, probability, query, largest_loss)
        size = model.squared_norm(row, squared_norm) if isinstance(model, ExplainsUncertainty) else None
        context = model, size, spent, left, prediction, at_random
        decoded = model.label_codec.decode_one(prediction)
        return answer((name, decoded, uncertainty, probability, query), context)

    def ask_many(
        self, X: ArrayLike, *, ids: Sequence[Id] | None = None, domain: ArrayLike | None = None
    ) -> Answers:
        """Predict and decide on a batch of inputs whose labels arrive later.

        Decisions equal those of consecutive calls to `ask`; blocks make them faster.

        Parameters
        ----------
        X
            The inputs, of shape (n, dim).
        ids
            One id per input; by default consecutive numbers.
        domain
            One domain per input, for rules that require it.

        Returns
        -------
        Answers
            Predictions and decisions as columns.

        Raises
        ------
        InvalidError
            If an input, an id or a domain is invalid. The learner does not change.
        """
        with self._operation:
            rows = self._inputs(X)
            names = as_ids(ids, len(rows), self.next_id, self.pending)
            return self._ask_many(rows, names, self._domains(domain, len(rows)))

    def _inputs(self, X: Any) -> Floats:
        """Validate inputs; a tensor stays on its device if blocks are decided there."""
        if self.device is not None and is_tensor(X) and X.device.type == self.device.type:
            return as_tensor_inputs(X, self.dim, "Learner")  # type: ignore[no-any-return]
        return as_inputs(X, self.dim, "Learner")

    def _domains(self, domain: ArrayLike | None, count: int) -> Ints | None:
        domains = None if domain is None else as_whole_numbers(domain, count, "domain", "Learner")
        if count:
            self.rule.check_domain(domains)
        return domains

    def _ask_many(self, rows: Floats, names: Sequence[Id], domains: Ints | None) -> Answers:
        model = self.model
        sizes = model.squared_norms(rows) if isinstance(model, ExplainsUncertainty) else None
        if sizes is not None and not np.isfinite(sizes).all():  # before any row is charged
            received = f"{sizes.max()} at row {sizes.argmax()}"
            raise invalid("‖x‖²", "Learner", "finite", received, "Scale the inputs.")
        if len(rows) == 1:
            rows = on_host(rows)
            single = self._ask(rows[0], float(rows[0].dot(rows[0])), names[0], domains)
            return Answers.from_answer(single, cast(AnswerContext, single.circumstances))
        blocks, predictions = [], [np.empty(0)]
        start, size = 0, self._block_size()
        while start < len(rows):
            window = slice(start, start + size.value)
            block_domains = None if domains is None else domains[window]
            block = self._decide(rows[window], names[window], block_domains, labels_may_arrive=False)
            predictions.append(self._finish(block, NO_ARRIVALS))
            blocks.append(block)
            size.update(block.effort)
            start += len(block)
        encoded = np.concatenate(predictions)
        decoded = model.label_codec.decode(encoded)
        return Answers(names, decoded, model=model, size=sizes, encoded=encoded, **columns(blocks))

    def replay(
        self,
        X: ArrayLike,
        ids: Sequence[Id],
        decisions: RecordedDecisions,
        domain: ArrayLike | None = None,
        *,
        present: ArrayLike | None = None,
    ) -> None:
        """Apply recorded decisions of a learner that had the same history.

        Nothing is decided again: predictions, Δ and probabilities are as recorded, whatever this machine
        would compute. The generator advances as it did, so that subsequent decisions agree.

        Parameters
        ----------
        X
            The inputs that are present.
        ids, domain
            Ids and domains of all inputs, present or not.
        decisions
            The result of `qufur.replay.record_decisions`.
        present
            Boolean mask of the inputs that are present, by default all. Missing inputs count as decided and
            charged, but the model does not see them, and their queries are retracted.

        Raises
        ------
        InvalidError
            If the arguments have different lengths, or an input or id is invalid.
        """
        from qufur.replay import as_present, replay

        with self._operation:
            rows, mask = as_present(X, present, len(decisions), self.dim)
            names = as_ids(ids, len(decisions), self.next_id, self.pending)
            replay(self, rows, names, decisions, mask, self._domains(domain, len(names)))
            self.dim = rows.shape[1] if len(rows) else self.dim
            self.next_id = next_free_id(names, self.next_id)

    def tell(self, id: Id, label: float) -> None:
        """Learn the label of an outstanding query.

        Parameters
        ----------
        id
            The id of the query.
        label
            The label. One that lies outside the label range by more than ten times its width may be a
            mistake; it is learned with an `OutlierWarning`. A learned range is checked only once it is
            based on 20 labels.

        Raises
        ------
        InvalidError
            If the id is not outstanding or the label is invalid. The learner does not change.
        """
        with self._operation:
            self._tell([id], as_label_one(self.model.label_codec.encode(label), "Learner"))

    def tell_many(self, ids: Sequence[Id], labels: ArrayLike) -> None:
        """Learn the labels of several outstanding queries in one batch, all of them or none; see `tell`."""
        with self._operation:
            y = as_labels(self.model.label_codec.encode(labels), len(ids), "Learner")
            if len(ids):
                self._tell(ids, y)

    def _tell(self, ids: Sequence[Id], labels: Floats) -> None:
        check_outstanding(ids, self.pending)
        self.model.label_codec.check(labels)
        self._warn_about(self._first_outlier(ids, labels), level=4)
        queries = [self.pending.pop(id) for id in ids]
        self.state.label(queries, labels)
        self.ledger.tell(queries, labels)

    def retract(self, id: Id) -> None:
        """Retract an outstanding query whose label will never arrive, and refund its cost.

        Raises
        ------
        InvalidError
            If the id is not outstanding. The learner does not change.
        """
        self.retract_many([id])

    def retract_many(self, ids: Sequence[Id]) -> None:
        """Retract several outstanding queries, all of them or none, and refund their cost; see `retract`."""
        with self._operation:
            check_outstanding(ids, self.pending)
            for id in ids:
                query = self.pending.pop(id)
                self.state.retract(query)
                self.ledger.retract(query)
                self.spending.refund(query.charge)

    def add_budget(self, labels: int, rows: int | None = None) -> None:
        """Add labels to the budget of the rule; past spending and decisions do not change.

        Parameters
        ----------
        labels
            The number of labels to add, at least 1.
        rows
            For rules with a horizon: the number of further examples over which the remaining budget is
            spent. By default those up to the horizon; after it, as many as keep the rate.

        Raises
        ------
        InvalidError
            If the rule's budget is a share of the examples, or the rule has no budget.

        Examples
        --------
        >>> from qufur import Greedy, Ridge
        >>> learner = Learner(Ridge(1), Greedy(2))
        >>> learner.ask_many([[1.0], [1.0], [1.0]]).query
        array([ True,  True, False])
        >>> learner.add_budget(1)
        >>> learner.left, learner.ask([1.0]).query
        (1, True)
        """
        with self._operation:
            labels = as_count(labels, "labels", "Learner.add_budget")
            self.spending.add(labels, None if rows is None else as_count(rows, "rows", "Learner.add_budget"))
            self.rule = self.spending.rule
            self.ledger.expect(_typical_probability(self.rule))

    def learn(self, X: ArrayLike, y: ArrayLike) -> None:
        """Learn from free labels. They charge no budget and use no random draws.

        A label far outside the label range is learned with an `OutlierWarning`, as in `tell`.

        Parameters
        ----------
        X
            The inputs, of shape (n, dim).
        y
            One label per input.

        Raises
        ------
        InvalidError
            If an input or a label is invalid. The learner does not change.
        """
        with self._operation:
            rows = as_inputs(X, self.dim, "Learner")
            labels = as_labels(self.model.label_codec.encode(y), len(rows), "Learner")
            self.model.label_codec.check(labels)
            self._warn_about(self._first_outlier(range(len(rows)), labels))
            self.state.learn(rows, labels)
            self.dim = rows.shape[1]

    def widen(self, constants: ArrayLike) -> None:
        """Append columns to the inputs.

        The result is a learner whose inputs had these columns, with constant values, from the beginning:
        the same decisions, and predictions that are equal up to rounding. Outstanding queries stay
        outstanding.

        Parameters
        ----------
        constants
            The value of each new column in all inputs so far. `Experts` and `Refit` accept any finite
            numbers; the learner then equals one that was widened before its first input. `Ridge`,
            `KernelRidge` and a `Softmax` that trains to convergence accept zeros only; the learner then
            equals one whose model was created with that many columns.

        Raises
        ------
        InvalidError
            If the model accepts no further columns or not these values, or if the number of columns is not
            known yet. The learner does not change.

        Examples
        --------
        >>> from qufur import QuFUR, Ridge
        >>> learner = Learner(Ridge(1), QuFUR(4.0))
        >>> learner.learn([[1.0]], [1.0])
        >>> learner.widen([0.0])
        >>> learner.model.dim, learner.predict([[1.0, 0.0]]), learner.uncertainty(np.eye(2))
        (2, array([0.5]), array([0.5, 1. ]))
        """
        with self._operation:
            values = as_labels(constants, np.size(constants), "Learner.widen", "constants")
            if self.dim is None:
                remedy = "Call it after the first input, or pass dim to the model."
                raise invalid("dim", "Learner.widen", "known", "None", remedy)
            if not isinstance(self.model, Widens):
                raise cannot_widen(self.model)
            device = self.device
            self.model, self.state = self.model.with_columns(self.state, values)
            if device is not None:
                cast(OnDevice, self.state).device = device
            self.dim += len(values)

    @property
    def background_fits(self) -> BackgroundFits | None:
        """Fits of experts in another thread or process; None for models that learn each label immediately."""
        if not isinstance(self.state, FitsInBackground):
            return None
        from qufur.background_fits import BackgroundFits

        return BackgroundFits(self, self._operation)

    @overload
    def predict(self, X: ArrayLike, interval: None = None) -> Floats: ...

    @overload
    def predict(self, X: ArrayLike, interval: float) -> tuple[Floats, Floats, Floats]: ...

    def predict(self, X: ArrayLike, interval: float | None = None) -> Floats | tuple[Floats, Floats, Floats]:
        """Predict each row from the labels received so far; nothing changes.

        Parameters
        ----------
        X
            The inputs, of shape (n, dim).
        interval
            The level of prediction intervals, such as 0.9. The ends are computed from the errors on
            purchased labels; `qufur.estimates.intervals` states the guarantee and its assumption. With too
            few labels they are ±∞, or the ends of the label range if the model was given one. If the model
            learns its range, intervals are clipped like predictions: somewhat beyond the labels so far, and
            at 0 while all labels have the same sign.

        Returns
        -------
        array or tuple
            Predictions; with `interval`, predictions, lower ends and upper ends.

        Raises
        ------
        InvalidError
            If an input or the level is invalid, or the labels are classes and `interval` is given.

        Examples
        --------
        >>> from qufur import Ridge, Uniform, run, streams
        >>> stream = streams.HiddenDomains([1000], [3], noise=0.1, seed=1)
        >>> learner = Learner(Ridge(3), Uniform(0.2))
        >>> learner.predict(np.eye(3)[:1], interval=0.9)
        (array([0.]), array([-1.]), array([1.]))
        >>> trace = run(learner, stream)
        >>> prediction, low, high = learner.predict(np.eye(3)[:1], interval=0.9)
        >>> (high - low).round(2)
        array([0.41])
        """
        self._operation.check_idle()
        prediction = self.state.predict(as_inputs(X, self.dim, "Learner"))
        if interval is None:
            return cast(Floats, self.model.label_codec.decode(prediction))
        intervals.check_level(self.model, interval)
        error = self.ledger.likely_error(interval)
        return prediction, *intervals.ends(prediction, error, self.model, interval_bounds(self.state))

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probability of each class for each row, in the order of the model's classes.

        Raises
        ------
        InvalidError
            If the model has no classes.

        Examples
        --------
        >>> from qufur import Softmax, Uniform
        >>> Learner(Softmax(2, 4), Uniform(0.5)).predict_proba([[1.0, 0.0]])
        array([[0.25, 0.25, 0.25, 0.25]])
        """
        self._operation.check_idle()
        if not self.model.label_codec.classifies:
            allowed = "one with classes, such as Softmax or Experts(classes=[...])"
            received, remedy = type(self.model).__name__, "Use predict(X) instead."
            raise invalid("model", "Learner.predict_proba", allowed, received, remedy)
        return cast(Probabilistic, self.state).probabilities(as_inputs(X, self.dim, "Learner"))

    def uncertainty(self, X: ArrayLike) -> Floats:
        """Return Δ for each row, given every query so far."""
        self._operation.check_idle()
        return self.state.uncertainty(as_inputs(X, self.dim, "Learner"))

    @property
    def outstanding(self) -> tuple[Id, ...]:
        """Ids of queries whose labels have not arrived."""
        return tuple(self.pending)

    @property
    def spent(self) -> int:
        """Number of labels bought, outstanding ones included."""
        return self.spending.spent

    @property
    def left(self) -> int | None:
        """Number of labels that may still be bought; None without a budget."""
        return self.spending.left

    def report(self, inputs: ArrayLike | None = None) -> Report:
        """Report the estimated loss over all examples, noise, fit and shifts; nothing changes.

        Parameters
        ----------
        inputs
            All inputs so far, for a comparison with uniformly sampled labels; the learner does not store
            them.

        Returns
        -------
        Report
            The estimates; `str(report)` is readable text.

        Examples
        --------
        >>> from qufur import Paced, Ridge, run, streams
        >>> stream = streams.HiddenDomains([500, 500], [4, 2], seed=1)
        >>> learner = Learner(Ridge(6), Paced(200, 1000, floor=0.05))
        >>> trace = run(learner, stream)
        >>> low, high = learner.report().interval
        >>> bool(low < trace.loss.mean() < high)
        True
        """
        self._operation.check_idle()
        X = None if inputs is None else as_inputs(inputs, self.dim, "Learner")
        from qufur.estimates.report import report

        return report(self, X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the whole learner to a file, including random generator and outstanding queries.

        The file is replaced atomically: a crash leaves the old file, and so does a learner that `load`
        could not read back.

        Raises
        ------
        InvalidError
            If the random generator is not one of NumPy's bit generators, or a class has no importable name.
        """
        from qufur import snapshot

        self._operation.check_idle()
        snapshot.save(self, path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        estimators: Mapping[str, Any] | None = None,
        device: Any = "cpu",
    ) -> Learner:
        """Load a learner from a file. On the same type of device it continues bit for bit.

        Parameters
        ----------
        path
            A file written by `save`.
        estimators
            Third-party estimators of `Experts` or `Refit`, by class name; a file stores only their names.
        device
            Where blocks are decided; files do not store the device.

        Raises
        ------
        InvalidError
            If `save` did not write the file, a later version of the package did, or it was modified since.
        """
        from qufur import snapshot

        learner = snapshot.load(cls, path, estimators or {})
        learner._choose_device(device)
        return learner

    def _block_size(self, fixed: int | None = None) -> BlockSize:
        """Return the adaptive block size within the limits of the state."""
        return BlockSize(self.state.block_limits(at_once=self.spending.ahead is None), fixed)

    def _run_block(
        self,
        X: Floats,
        domain: Ints | None,
        exchange: Callable[[Block], Arrivals],
        ahead: Callable[[Block], Any] | None = None,
    ) -> tuple[Block, Floats]:
        """Decide the next inputs, or as many of them as one block allows, and learn the labels that arrive.

        For loops with simulated label delivery, such as `run`.

        Parameters
        ----------
        X
            Validated inputs.
        domain
            Their domains, for rules that require them.
        exchange
            Called with the block after its queries are decided; returns the labels that arrive by its end.
        ahead
            Called with the block after that; returns the tensor that the next block probably starts with, or
            None. The device starts on it while the host updates the ledger.

        Returns
        -------
        tuple
            The block, and its predictions with the labels that arrive within it.
        """
        with self._operation:
            self.rule.check_domain(domain)
            names = range(self.next_id, self.next_id + len(X))
            block = self._decide(X, names, domain, labels_may_arrive=True)
            arrivals = exchange(block)
            outlier = self._first_outlier(arrivals.queries, arrivals.labels)
            prediction = self._finish(block, arrivals, ahead)
        # After the block, so that the learner is complete even if warnings are errors.
        if outlier is not None:
            self._warn_about(outlier._replace(name=cast(Pending, outlier.name).id))
        return block, prediction

    def _decide(
        self, X: Floats, names: Sequence[Id], domain: Ints | None, *, labels_may_arrive: bool
    ) -> Block:
        look = self.state.look_ahead(X, labels_may_arrive=labels_may_arrive)
        self.dim = X.shape[1]
        block = decide(look, names, self.spending, self.rng, domain)
        self.next_id = next_free_id(names[: len(block)], self.next_id)
        if self.model.tags.uses_purchases:
            self._set_purchase_terms(block.queries, block.probability, look.queried, block.at_random)
        return block

    def _finish(
        self, block: Block, arrivals: Arrivals, ahead: Callable[[Block], Any] | None = None
    ) -> Floats:
        answered = arrivals.queries is block.queries  # then no query is pending at the block's end
        if not answered:
            self._record_queries(block.queries)
            for query in arrivals.queries:
                del self.pending[query.id]
        prediction = block.look.finish(block.queries, arrivals)
        next_inputs = None if ahead is None else ahead(block)
        if next_inputs is not None:
            cast(OnDevice, self.state).prefetch(next_inputs)
        largest_loss = block.look.largest_loss
        if largest_loss is None:
            largest_loss = self.model.largest_loss(prediction)
        self.ledger.record(block.uncertainty, block.probability, block.query, largest_loss)
        rows = block.look.queried
        decided = prediction[rows], block.probability[rows], largest_loss[rows]
        if answered:
            self.ledger.answer(*decided, arrivals.labels)
        else:
            for query, value, _, bound in zip(block.queries, *(c.tolist() for c in decided), strict=True):
                query.prediction, query.largest_loss = value, bound
            self.ledger.tell(arrivals.queries, arrivals.labels)
        return prediction

    def _first_outlier(self, names: Sequence[object], labels: Floats) -> Outlier | None:
        """Return the first label far outside the given or observed label range, if any."""
        bounds, state = self.model.label_codec.bounds, self.state
        if bounds is not None:
            return first_outlier(ObservedRange(*bounds), names, labels)
        observed = state.observed_range() if isinstance(state, LearnsRange) else None
        return None if observed is None else first_outlier(observed, names, labels)

    def _warn_about(self, outlier: Outlier | None, level: int = 3) -> None:
        """Emit an `OutlierWarning`; the caller of the library is `level` frames up."""
        if outlier is not None:
            warnings.warn(str(outlier), OutlierWarning, stacklevel=level)

    def _set_purchase_terms(
        self, queries: Sequence[Pending], probability: Floats, rows: Sequence[int] | Ints, at_random: Bools
    ) -> None:
        """Set the terms for models that use them, before the ledger records the examples.

        `probability` covers all examples, queried or not, and `rows` are the indices of the queries.
        """
        mean = self.ledger.mean_probability(probability)[rows]
        for query, value, flag in zip(queries, mean.tolist(), at_random.tolist(), strict=True):
            query.mean_probability, query.at_random = value, flag

    def _record_queries(self, queries: Iterable[Pending]) -> None:
        """Add decided queries to `pending`; the state records their inputs next."""
        for query in queries:
            self.pending[query.id] = query


def _typical_probability(rule: Rule) -> float:
    """Return an estimate of the median query probability; for selective rules it is below the mean."""
    return max(rule.floor, (rule.share or 0.1) / 2)
