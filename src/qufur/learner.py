"""The learner: a model, a rule and a random generator, and everything that changes."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from qufur import snapshot
from qufur.answer import Answer, Answers, Circumstances, answer
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
    is_whole,
)
from qufur.blocks import Block, BlockSize, columns, decide
from qufur.errors import OutlierWarning, invalid
from qufur.estimates import intervals
from qufur.estimates.ledger import Ledger
from qufur.estimates.query import Query
from qufur.ids import as_ids, beyond, check_outstanding
from qufur.models.base import Id, Model, Purchases
from qufur.models.diagnostics.outliers import KnownRange, Outlier, first_outlier
from qufur.models.lookahead import NO_ARRIVALS, Arrivals, Lookahead, beyond_numbers
from qufur.operation import Operation
from qufur.rules.base import Rule
from qufur.tensors import is_tensor, on_host

if TYPE_CHECKING:
    from qufur.decisions import Decisions
    from qufur.estimates.report import Report
    from qufur.models.experts.fitting import Fitted, Fitting


class Learner:
    """Predicts on a stream and decides which labels to buy.

    A learner is for one thread at a time. An interrupt, such as Ctrl-C, waits until a call has done all of
    its work; a second one does not, and leaves a learner that refuses to go on.

    Parameters
    ----------
    model
        What is learned. It is a description: the learner keeps the state, so it can be shared.
    rule
        When a label is bought; a description as well.
    seed
        An int means `numpy.random.default_rng(seed)`; a Generator is used as it is.
    device
        Where blocks are decided: "cpu" is NumPy; "cuda", "cuda:1" and so on are GPUs, through torch; "auto"
        takes a GPU if there is one, and where that pays. Decisions are the same, and predictions to rounding.
        A `torch.device` is taken as it is. `Ridge` has a path on GPUs; what has none runs on the CPU, with
        a `DeviceWarning`.

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
        if not isinstance(seed, np.random.Generator) and not (is_whole(seed) and seed >= 0):
            raise invalid("seed", "Learner", "an integer of at least 0 or a numpy Generator", repr(seed))
        self.model = model
        self.rule = rule
        self.rng = np.random.default_rng(seed)
        self.state = model.start()
        self.spending = rule.start()
        self.dim = model.dim
        self.next_id = 0
        self.queries: dict[Id, Query] = {}
        self.ledger = Ledger(model, _typical_probability(rule))
        self._operation = Operation()
        self._place(device)

    def __repr__(self) -> str:
        """Say what it is made of, and how it stands.

        >>> from qufur import QuFUR, Ridge
        >>> Learner(Ridge(2), QuFUR(4.0, budget=9))
        Learner(Ridge(...dim=2...), QuFUR(alpha=4.0...budget=9...), spent=0, left=9, outstanding=0)
        """
        parts = f"{self.model!r}, {self.rule!r}"
        return f"Learner({parts}, spent={self.spent}, left={self.left}, outstanding={len(self.outstanding)})"

    @property
    def device(self) -> Any:
        """The device of torch on which blocks are decided; None is the CPU, by NumPy."""
        return self.state.device

    def _place(self, device: Any) -> None:
        if device != "cpu":
            from qufur.models.device import place

            place(self.state, self.model, device)

    def ask(self, x: ArrayLike, *, id: Id | None = None, domain: int | None = None) -> Answer:
        """Predict on one input and decide whether its label is wanted.

        Parameters
        ----------
        x
            The input, of shape (dim,).
        id
            A name for `tell` to refer to; by default the smallest number above all used so far.
        domain
            The domain, for rules that are told it.
        """
        with self._operation:
            row, square = as_input_one(x, self.dim, "Learner")
            name = self.next_id if id is None else as_ids([id], 1, self.next_id, self.queries)[0]
            domains = None if domain is None else as_whole_numbers([domain], 1, "domain", "Learner")
            if self.rule.told_domain:
                self.rule.check_domain(domains)
            return self._ask(row, square, name, domains)

    def _ask(self, row: Floats, square: float, name: Id, domains: Ints | None) -> Answer:
        model, state, spending = self.model, self.state, self.spending
        prediction, uncertainty = state.predict_next(row, square)
        if not math.isfinite(prediction + uncertainty):
            raise beyond_numbers(prediction, uncertainty)
        spending.enter(domains)
        spent, left = spending.spent, spending.left
        query, probability, charge, at_random = spending.decide_one(uncertainty, self.rng, domains)
        known = model.loss_scale is not None
        largest_loss = (model if known else state).largest_loss_one(prediction)
        self.dim = len(row)
        self.next_id = self.next_id + 1 if name == self.next_id else beyond([name], self.next_id)
        if query:
            self.queries[name] = Query(prediction, probability, largest_loss, charge)
            if model.weighs_purchases:
                self.note_purchases([name], np.array([probability]), [0], np.array([at_random]))
            state.query([name], row[None])
        state.advance(1)
        self.ledger.record_one(uncertainty, probability, query, largest_loss)
        case = model, model.size_one(row, square), spent, left, prediction, at_random
        shown = model.decode_prediction_one(prediction)
        return answer((name, shown, uncertainty, probability, query), case)

    def ask_many(
        self, X: ArrayLike, *, ids: Sequence[Id] | None = None, domain: ArrayLike | None = None
    ) -> Answers:
        """Answer a batch of inputs whose labels come later: the same as `ask` one by one, but in blocks."""
        with self._operation:
            rows = self._inputs(X)
            names = as_ids(ids, len(rows), self.next_id, self.queries)
            domains = None if domain is None else as_whole_numbers(domain, len(rows), "domain", "Learner")
            if len(rows):
                self.rule.check_domain(domains)
            return self._ask_many(rows, names, domains)

    def _inputs(self, X: Any) -> Floats:
        """Return inputs, checked; a tensor stays where it is, if blocks are decided on its device."""
        if self.device is not None and is_tensor(X) and X.device.type == self.device.type:
            return as_tensor_inputs(X, self.dim, "Learner")  # type: ignore[no-any-return]
        return as_inputs(X, self.dim, "Learner")

    def _ask_many(self, rows: Floats, names: Sequence[Id], domains: Ints | None) -> Answers:
        sizes = self.model.sizes(rows)
        if sizes is not None and not np.isfinite(sizes).all():  # before the first of them is paid for
            received = f"{sizes.max()} at row {sizes.argmax()}"
            raise invalid("‖x‖²", "Learner", "finite", received, "Scale the inputs.")
        if len(rows) == 1:
            rows = on_host(rows)
            made = self._ask(rows[0], float(rows[0].dot(rows[0])), names[0], domains)
            return Answers.of_one(made, cast(Circumstances, made.circumstances))
        blocks, predictions = [], [np.empty(0)]
        start, size = 0, self.block_size()
        while start < len(rows):
            part = slice(start, start + size.value)
            here = None if domains is None else domains[part]
            look = self.state.look_ahead_unlabelled(rows[part])
            block = self._decide(look, rows.shape[1], names[part], here)
            prediction = self._finish(block, NO_ARRIVALS)
            blocks.append(block)
            predictions.append(prediction)
            size.update(block.effort)
            start += len(block)
        encoded = np.concatenate(predictions)
        shown = self.model.decode_predictions(encoded)
        return Answers(names, shown, model=self.model, size=sizes, encoded=encoded, **columns(blocks))

    def replay(
        self,
        X: ArrayLike,
        ids: Sequence[Id],
        decisions: Decisions,
        domain: ArrayLike | None = None,
        *,
        present: ArrayLike | None = None,
    ) -> None:
        """Take over what was decided about inputs, by a learner that had gone the same way.

        Nothing is decided again: predictions, Δ and probabilities are as recorded, whatever this machine
        would compute. The generator moves on as it did, so that what is asked next is decided alike.

        Parameters
        ----------
        X
            The inputs that are present.
        ids, domain
            Of all of them.
        decisions
            What `qufur.decisions.decisions_of` returned.
        present
            Which inputs are present, by default all. The others count as decided and paid for, but the model
            learns nothing of them, and their labels never come.
        """
        from qufur.decisions import as_present, replay

        with self._operation:
            rows, mask = as_present(X, present, len(decisions), self.dim)
            names = as_ids(ids, len(decisions), self.next_id, self.queries)
            domains = None if domain is None else as_whole_numbers(domain, len(names), "domain", "Learner")
            if names:
                self.rule.check_domain(domains)
            replay(self, rows, names, decisions, mask, domains)
            self.dim = rows.shape[1] if len(rows) else self.dim
            self.next_id = beyond(names, self.next_id)

    def tell(self, id: Id, label: float) -> None:
        """Give the label of an outstanding query.

        One that lies more than ten times the label range outside it may be a mistake: it is learned with an
        `OutlierWarning`. A range that is learned has to rest on 20 labels for that.
        """
        with self._operation:
            self._tell([id], as_label_one(self.model.encode_labels(label), "Learner"))

    def tell_many(self, ids: Sequence[Id], labels: ArrayLike) -> None:
        """Give the labels of several outstanding queries at once."""
        with self._operation:
            y = as_labels(self.model.encode_labels(labels), len(ids), "Learner")
            if len(ids):
                self._tell(ids, y)

    def _tell(self, ids: Sequence[Id], labels: Floats) -> None:
        check_outstanding(ids, self.queries)
        self.model.check_labels(labels)
        self._warn_of(self.outlier(ids, labels), level=4)
        self.state.label(ids, labels)
        self.ledger.tell([self.queries.pop(id) for id in ids], labels)

    def retract(self, id: Id) -> None:
        """Say that the label of an outstanding query will never come; its cost is refunded."""
        self.retract_many([id])

    def retract_many(self, ids: Sequence[Id]) -> None:
        """Say that the labels of several outstanding queries will never come."""
        with self._operation:
            check_outstanding(ids, self.queries)
            for id in ids:
                self.state.retract(id)
                query = self.queries.pop(id)
                self.ledger.retract(query)
                self.spending.refund(query.charge)

    def add_budget(self, labels: int, rows: int | None = None) -> None:
        """Let the rule buy more labels; what it has spent and decided stays.

        Parameters
        ----------
        labels
            How many more, at least 1. A rule whose budget is a share, or that has none, refuses.
        rows
            For rules with a horizon: over how many examples from now on what is left is spent. By default
            those up to the horizon, or beyond it as many as keep the pace.

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
        """Learn from labels that were free: they cost no budget and no coin."""
        with self._operation:
            rows = as_inputs(X, self.dim, "Learner")
            labels = as_labels(self.model.encode_labels(y), len(rows), "Learner")
            self.model.check_labels(labels)
            self._warn_of(self.outlier(range(len(rows)), labels))
            self.state.learn(rows, labels)
            self.dim = rows.shape[1]

    def widen(self, constants: ArrayLike) -> None:
        """Let inputs have further columns at the end, from now on.

        All is as if the columns had been there from the first input on, with these values: the same
        decisions, and predictions that are equal to rounding. Labels that are outstanding stay so.

        Parameters
        ----------
        constants
            What each new column was in all inputs so far. Any finite numbers for `Experts` and `Refit`, whose
            learner is then the one that was widened before its first input; 0 for `Ridge` and `KernelRidge`,
            and for a `Softmax` that trains to convergence, whose learner is that of a model of so many
            columns. Other models refuse.

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
                remedy = "Widen it after the first input, or give the model its dim."
                raise invalid("dim", "Learner.widen", "known", "None", remedy)
            device = self.device
            self.model, self.state = self.model.widened(self.state, values)
            self.state.device = device
            self.dim += len(values)

    def fit_elsewhere(self) -> None:
        """Let no call wait for a fit of experts, from now on: `due_fit` says what is to be fitted.

        It is for whoever has another thread or process for that, where BLAS keeps to one thread: otherwise
        bits may depend on what runs at the same time. Until a fit is installed experts go on as they were,
        also where labels were replaced or taken back. Files do not say that fits are elsewhere.
        Of a learner that was loaded, or went through `refit`, slow experts are due as they were fitted, to
        as many labels, as these are now; quick ones speak for them until then. Quick experts are still waited
        for by the next prediction: of such a learner, and after `widen`.

        Examples
        --------
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> from sklearn.linear_model import LinearRegression
        >>> from qufur import Refit, Uniform
        >>> learner = Learner(Refit(LinearRegression(), label_range=(0, 10)), Uniform(0.5))
        >>> learner.fit_elsewhere()
        >>> learner.learn([[0.0], [1.0]], [5.0, 7.0])
        >>> fitting = learner.due_fit()
        >>> fitting.values
        {'speed': 'slow', 'labels': 2, 'units': [[0.5], [0.5]]}
        >>> with ThreadPoolExecutor() as others:
        ...     fitted = others.submit(fitting.run)
        >>> learner.predict([[2.0]]), learner.install_fit(fitted.result()), learner.predict([[2.0]])
        (array([5.]), True, array([9.]))
        """
        with self._operation:
            self.state.fit_elsewhere()

    def due_fit(self) -> Fitting | None:
        """Return the fit that is due, or None; it stays due until it is installed.

        Its `run` may be called in any thread, and shares nothing that this learner changes. Its `values` are
        what `refit` needs. Quick experts come first. Models without experts have no fits.
        """
        self._operation.check_idle()
        return self.state.due_fit()

    def install_fit(self, fitted: Fitted) -> bool:
        """Go on with experts that were fitted, and return True: predictions are theirs from now on.

        Those that were overtaken are discarded, and False is returned: by labels that were replaced or taken
        back, by `widen` or a new class since the fit was due, or by a later fit. What is still due, or due
        again as more labels came, `due_fit` says.
        """
        with self._operation:
            return self.state.install_fit(fitted)

    def refit(self, values: Mapping[str, Any]) -> None:
        """Go on with experts fitted as those were that another learner installed at this point.

        For one with fits elsewhere that goes through the same calls once more. It fits at the next prediction
        what is needed then, unless `fit_elsewhere` comes before; on the same machine that is the same to the
        last bit.

        Parameters
        ----------
        values
            What the fit had as its `values`; without `units`, it has those of the inputs so far. Where fewer
            labels came this time, it is fitted to all of them; before the first input there is nothing to
            fit.
        """
        with self._operation:
            self.state.refit(values)

    @overload
    def predict(self, X: ArrayLike, interval: None = None) -> Floats: ...

    @overload
    def predict(self, X: ArrayLike, interval: float) -> tuple[Floats, Floats, Floats]: ...

    def predict(self, X: ArrayLike, interval: float | None = None) -> Floats | tuple[Floats, Floats, Floats]:
        """Return the prediction for each row, from the labelled data alone.

        Parameters
        ----------
        X
            The inputs.
        interval
            The share of labels that are to lie in intervals about the predictions, such as 0.9. Then
            predictions, lower and upper ends are returned. The ends come from the errors of the labels that
            were bought; `qufur.estimates.intervals` has what is guaranteed, and under which assumption.
            Where labels are too few they are ±∞, or the ends of the label range if that is given. Where the
            range is learned, intervals end where predictions do, somewhat beyond the labels so far, and never
            beyond 0 while all labels have been on one side of it.

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
            return cast(Floats, self.model.decode_predictions(prediction))
        intervals.check_level(self.model, interval)
        error, bounds = self.ledger.likely_error(interval), self.state.interval_bounds()
        return prediction, *intervals.ends(prediction, error, self.model, bounds)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probability of each class for each row, in the order of the model's classes.

        Models without classes refuse.

        Examples
        --------
        >>> from qufur import Softmax, Uniform
        >>> Learner(Softmax(2, 4), Uniform(0.5)).predict_proba([[1.0, 0.0]])
        array([[0.25, 0.25, 0.25, 0.25]])
        """
        self._operation.check_idle()
        if not self.model.classifies:
            allowed = "one with classes, such as Softmax or Experts(classes=[...])"
            received, remedy = type(self.model).__name__, "predict(X) has its predictions."
            raise invalid("model", "Learner.predict_proba", allowed, received, remedy)
        return self.state.probabilities(as_inputs(X, self.dim, "Learner"))

    def uncertainty(self, X: ArrayLike) -> Floats:
        """Return Δ for each row, given every query so far."""
        self._operation.check_idle()
        return self.state.uncertainty(as_inputs(X, self.dim, "Learner"))

    @property
    def outstanding(self) -> tuple[Id, ...]:
        """Ids whose label was asked for and has not come."""
        return tuple(self.queries)

    @property
    def spent(self) -> int:
        """Labels bought, outstanding ones included."""
        return self.spending.spent

    @property
    def left(self) -> int | None:
        """Labels that may still be bought, or None without a budget."""
        return self.spending.left

    def report(self, inputs: ArrayLike | None = None) -> Report:
        """Say how it is going: the loss over all examples, noise, fit and shifts. It changes nothing.

        Parameters
        ----------
        inputs
            The inputs asked about so far, for a comparison with labels bought at random; the learner does not
            keep them.

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
        """Write the whole learner to a file, random generator and outstanding queries included.

        The file is replaced as a whole: a crash leaves the old one, and so does anything that `load` would
        refuse.
        """
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
        """Read a learner back; on the same kind of device it goes on bit for bit as if it had not stopped.

        Files that `save` did not write, or that changed since, are refused with a `ValueError`.

        Parameters
        ----------
        path
            What `save` wrote.
        estimators
            By the names of their classes, estimators of `Experts` or `Refit` that are not scikit-learn's own:
            a file can name those and not bring them.
        device
            Where blocks are decided from now on; files do not say where they were.
        """
        learner = snapshot.load(cls, path, estimators or {})
        learner._place(device)
        return learner

    def block_size(self, fixed: int | None = None) -> BlockSize:
        """Return how far to look ahead at most; how far that can go is the state's affair."""
        return BlockSize(self.state.reach(at_once=self.spending.ahead is None), fixed)

    def play(
        self,
        X: Floats,
        domain: Ints | None,
        exchange: Callable[[Block], Arrivals],
        ahead: Callable[[Block], Any] | None = None,
    ) -> tuple[Block, Floats]:
        """Answer the next inputs, or as many of them as can be taken together, with labels that arrive.

        For loops that know the labels, such as `run`.

        Parameters
        ----------
        X
            Inputs, checked.
        domain
            Their domains, for rules that are told them.
        exchange
            Takes the block once its queries are decided, and returns the labels that arrive by its end.
        ahead
            Takes it then, and returns the tensor that is likely to be played next, or None. A device begins
            with that while the host keeps its books.

        Returns
        -------
        tuple
            The block, and its predictions as labels arrive.
        """
        odd: list[Outlier | None] = []

        def noted(block: Block) -> Arrivals:
            arrivals = exchange(block)
            odd.append(self.outlier(arrivals.ids, arrivals.labels))
            return arrivals

        with self._operation:
            self.rule.check_domain(domain)
            look = self.state.look_ahead(X)
            block = self._decide(look, X.shape[1], range(self.next_id, self.next_id + len(look)), domain)
            played = block, self._finish(block, noted(block), ahead)
        # Not in the middle of a block: where warnings are errors, the learner is to be found after it.
        self._warn_of(odd[0])
        return played

    def _decide(self, look: Lookahead, dim: int, names: Sequence[Id], domain: Ints | None) -> Block:
        self.dim = dim
        block = decide(look, names, self.spending, self.rng, domain)
        self.next_id = beyond(names[: len(block)], self.next_id)
        return block

    def _finish(
        self, block: Block, arrivals: Arrivals, ahead: Callable[[Block], Any] | None = None
    ) -> Floats:
        if self.model.weighs_purchases:
            self.note_purchases(block.queried, block.probability, block.query, block.at_random)
        prediction = block.look.finish(block.queried, arrivals)
        coming = None if ahead is None else ahead(block)
        if coming is not None:
            self.state.expect(coming)
        largest_loss = block.look.largest_loss
        if largest_loss is None:
            largest_loss = self.model.largest_loss(prediction)
        self.ledger.record(block.uncertainty, block.probability, block.query, largest_loss)
        rows = block.look.queried
        asked = prediction[rows], block.probability[rows], largest_loss[rows]
        if arrivals.ids is block.queried:  # all is paid for and answered
            self.ledger.answer(*asked, arrivals.labels)
        else:
            queries = map(Query, *(column.tolist() for column in asked), block.charges)
            self.queries.update(zip(block.queried, queries, strict=True))
            self.ledger.tell([self.queries.pop(id) for id in arrivals.ids], arrivals.labels)
        return prediction

    def outlier(self, names: Sequence[object], labels: Floats) -> Outlier | None:
        """Return the first label that lies far out of the range known so far, by name; None if none does."""
        given = self.model.given_range
        known = self.state.known_range() if given is None else KnownRange(*given)
        return None if known is None else first_outlier(known, names, labels)

    def _warn_of(self, outlier: Outlier | None, level: int = 3) -> None:
        """Warn of a label; `level` frames up is who brought it."""
        if outlier is not None:
            warnings.warn(str(outlier), OutlierWarning, stacklevel=level)

    def note_purchases(
        self, ids: Sequence[Id], probability: Floats, queried: Bools | Ints | Sequence[int], at_random: Bools
    ) -> None:
        """Tell a model that weighs purchases on what terms labels are bought.

        For what decides in place of the learner; `probability` is that of all examples, bought or not.
        """
        mean = self.ledger.mean_probability(probability)
        self.state.note_purchases(ids, Purchases(probability[queried], mean[queried], at_random))


def _typical_probability(rule: Rule) -> float:
    """Return about what most probabilities will be: rules that choose have them below the mean."""
    return max(rule.floor, (rule.share or 0.1) / 2)
