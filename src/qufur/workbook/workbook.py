"""The workbook: a learner with the encoding, ids, labels and pending rows of a user's tables."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from qufur import snapshot
from qufur.answer import Answers
from qufur.arrays import Bools, Floats, Ints, as_labels, strip_prefix
from qufur.errors import InvalidError, OutlierWarning, invalid
from qufur.estimates.monitor import Monitor
from qufur.ids import Id
from qufur.learner import Learner
from qufur.models.capabilities import Relabels
from qufur.pending import Pending, closed_queries, decisions, feature_rows, purchase_terms
from qufur.rules.per_period import UNKNOWN, PerPeriod
from qufur.storage import container
from qufur.storage.container import Content
from qufur.storage.versions import History
from qufur.tables import Batch, Encoding, ids, labels
from qufur.tables.cells import category, clean_texts
from qufur.tables.formats.dialect import Dialect
from qufur.tables.labels import check_once, class_labels, class_name
from qufur.tables.number_formats import label_numbers
from qufur.tables.periods import Periods
from qufur.tables.writers import column_heading, unescaped, unused_name
from qufur.workbook.labels import Labels
from qufur.workbook.pending_rows import PendingRows, restore_lines
from qufur.workbook.seen_ids import SeenIds

if TYPE_CHECKING:
    from qufur.replay import RecordedDecisions


VERSION = 2
"""Version 1 had the cells and times of pending rows as lines of its own; now the learner has them."""
PLAIN_FIELDS = {
    "id": "id",
    "target": "target",
    "rows": "rows",
    "tables": "tables",
    "headers": "pending_headers",
    "has_rule": "has_rule",
    "unit": "unit",
    "unfinished": "partial_tables",
    "start_options": "start_options",
}
"""Attributes that a file stores unchanged, by name in the file; older files lack some of them."""
OPTIONAL_FIELDS = "unfinished", "start_options"
"""Fields that a file omits if they are empty."""


@dataclass(frozen=True)
class TellResult:
    """Number of new labels, of labels already stored, and of stored labels that were replaced."""

    new: int
    known: int
    replaced: int


class EncodingVersion(NamedTuple):
    """Number of entries of the encoding from a table and a row on; both count from 0."""

    tables: int
    rows: int
    entries: int


@dataclass
class Workbook:
    """A learner, and everything that must be consistent from one table to the next.

    Attributes
    ----------
    learner
        The learner.
    encoding
        The conversion of rows to inputs; the first table defines it, and later tables extend it.
    id
        The id column; None if rows are numbered consecutively through all tables.
    target
        The label column.
    labels
        The received labels by id, with the rows needed to relearn them.
    rows
        Number of rows processed.
    tables
        Digests of the tables processed.
    seen_ids
        Ids of the rows processed, if there is an id column.
    encoding_versions
        Tables and rows processed at each extension of the encoding.
    pending_headers
        Headers of the outstanding rows as annotators see them; see `pending_rows`.
    history
        The command that wrote this state, and the states before it.
    periods
        The period of a row, for a budget per period.
    has_rule
        Whether a budget is set; a workbook that starts with labels may get one later.
    dialect
        CSV dialect of the first table, or of a later one for which the user set it; None before.
    unit
        The currency or % sign of the labels.
    monitor
        Statistics of the inputs and of progress.
    partial_tables
        Rows processed of tables that are processed in several calls, by digest.
    closed
        Terms of queries that were retracted or whose labels were removed, by id. A label that arrives
        later is learned, and counts for the error, on these terms.
    start_options
        Options of the first call of a command, by name; empty in files of version 0.1.0 and in streams.
    """

    learner: Learner
    encoding: Encoding
    id: str | None
    target: str
    labels: Labels = field(default_factory=Labels)
    rows: int = 0
    tables: list[str] = field(default_factory=list)
    seen_ids: SeenIds = field(default_factory=SeenIds)
    encoding_versions: list[EncodingVersion] = field(default_factory=list)
    pending_headers: list[list[str]] = field(default_factory=list)
    history: History = field(default_factory=History)
    periods: Periods | None = None
    has_rule: bool = True
    dialect: Dialect | None = None
    unit: str = ""
    monitor: Monitor = field(default_factory=Monitor)
    partial_tables: dict[str, int] = field(default_factory=dict)
    closed: dict[Id, Pending] = field(default_factory=dict)
    start_options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.encoding_versions = self.encoding_versions or [EncodingVersion(0, 0, len(self.encoding.columns))]

    @property
    def pending_rows(self) -> PendingRows:
        """The outstanding rows as annotators see them."""
        return PendingRows(self.pending_headers, self.learner.pending)

    def grow(self, encoding: Encoding) -> None:
        """Append columns to the inputs, by an encoding that extends the current one."""
        new = encoding.columns[len(self.encoding.columns) :]
        constants = [value for entry in new for value in entry.before]
        end, self.encoding = self.encoding.dim, encoding
        if constants:
            self.learner.widen(constants)
            self.monitor.inputs.widen(np.array(constants))
            # Columns that the model appends to a row, such as an intercept, stay last.
            self.labels.widen(end, constants)
            self.encoding_versions.append(EncodingVersion(len(self.tables), self.rows, len(encoding.columns)))

    def encoding_at(self, row: int) -> Encoding:
        """Return the encoding that was used for a row; rows count from 0 through all tables."""
        entries = max(version.entries for version in self.encoding_versions if version.rows <= row)
        return replace(self.encoding, columns=self.encoding.columns[:entries])

    def register_table(self, digest: str, file: str) -> None:
        """Register a table before its rows are processed; raise `InvalidError` if it was processed before."""
        if digest in self.tables:
            remedy = "Its rows would count twice; `qufur predict` predicts on them again."
            raise invalid("table", file, "one that was not asked about before", "the same again", remedy)
        self.tables.append(digest)

    def ask(self, batch: Batch, X: Floats | None = None) -> Answers:
        """Predict and decide on the rows of a table; X has their inputs if they are encoded already."""
        names = self.row_ids(batch)
        repeated = self.seen_ids.first_seen(names) if self.id else None
        if repeated is not None:
            received = f"{repeated!r} in row {batch.row(names.index(repeated))}, which was asked about before"
            remedy = "Drop the row; `qufur predict` predicts on it again."
            raise invalid("id", batch.file, "of a row that is new", received, remedy)
        check_once(names, [batch.row(position) for position in range(len(names))], batch.file)
        return self.ask_rows(self.encoding.encode(batch) if X is None else X, names, self._periods_of(batch))

    def ask_rows(self, X: Floats, names: Sequence[Id], periods: Ints | None = None) -> Answers:
        """Predict and decide on inputs with new ids; `periods` is for rules with a budget per period."""
        answers = self.learner.ask_many(X, ids=names, domain=periods)
        self._record_rows(X, names, answers.query)
        return answers

    def replay(
        self,
        X: Floats,
        names: Sequence[Id],
        decisions: RecordedDecisions,
        periods: Ints | None = None,
        *,
        present: Bools | None = None,
    ) -> None:
        """Apply recorded decisions; see `Learner.replay`."""
        self.learner.replay(X, names, decisions, periods, present=present)
        self._record_rows(X, names, decisions.query)

    def _record_rows(self, X: Floats, names: Sequence[Id], query: Bools) -> None:
        self.monitor.ask(X, query)
        self.rows += len(names)
        if self.id:
            self.seen_ids.add(names)

    def _periods_of(self, batch: Batch) -> Ints | None:
        if self.periods is None:
            return None
        numbers = self.periods.of(batch)
        return np.where(np.isnan(numbers), float(UNKNOWN), numbers).astype(np.int64)

    @property
    def period(self) -> str | None:
        """The start of the current period, for a budget per period."""
        number = getattr(self.learner.spending, "period", UNKNOWN)
        return None if self.periods is None or number == UNKNOWN else self.periods.begin(number)

    def row_ids(self, batch: Batch) -> list[Id]:
        """Return the ids of rows: from the id column, or consecutive numbers through all tables."""
        return ids(batch, self.id) if self.id else list(range(self.rows + 1, self.rows + 1 + len(batch)))

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The names of the classes; None if labels are numbers."""
        return getattr(self.learner.model, "classes", None)

    def read_labels(self, batch: Batch, column: str) -> tuple[Ints, Floats]:
        """Return the positions of labelled rows and their labels; a class is its index."""
        if self.classes is None:
            return labels(batch, column, skip_blank=True)
        return class_labels(batch, column, self.classes, skip_blank=True)

    @property
    def id_column(self) -> str:
        """The name of the id column in files for annotators."""
        return self.id or unused_name("row", {column_heading(self.target)})

    def unlabelled(self, rows: Iterable[tuple[str, str]]) -> list[Id]:
        """Return the ids of rows that are outstanding, or whose stored label differs from the given one.

        `rows` are pairs of id and label as written in a file.
        """
        cells = [(id.strip(), label) for id, label in rows]
        names = self.resolve_ids([id for id, _ in cells])
        labels = clean_texts(label for _, label in cells)
        return [name for name, label in zip(names, labels, strict=True) if self._is_unlabelled(name, label)]

    def _is_unlabelled(self, name: Id, label: str | None) -> bool:
        stored = self.labels.label(name)
        if stored is None or label is None:
            return name in self.learner.pending
        if self.classes is not None:
            return class_name(label) != self.classes[int(stored)]
        number = label_numbers([label])
        return number is None or number.item() != stored

    def resolve_ids(self, names: Sequence[Id]) -> list[Id]:
        """Map ids as written in a file to ids of this workbook; "12.0" matches 12 unless it is an id."""
        by_text: dict[str, Id] = {str(id): id for id in (*self.labels, *self.learner.pending)}
        resolved = []
        for name, is_row in zip(names, self.seen_ids.seen(names).tolist(), strict=True):
            text = str(name)
            forms = [unescaped(text), text, *([] if is_row else [category(text)])]
            resolved.append(next((by_text[form] for form in forms if form in by_text), name))
        return resolved

    def tell(
        self,
        names: Sequence[Id],
        labels: Floats,
        file: str,
        *,
        exact_ids: bool = False,
        replace: bool = False,
        accept_outliers: bool = False,
    ) -> TellResult:
        """Learn labels, all of them or none; a label that is stored already counts once.

        With `replace`, a different label replaces the stored one as if it had been the first: all labels are
        relearned, O(d²) each. Labels far outside the label range raise `InvalidError` unless
        `accept_outliers` is set. The names are ids as written in a file, see `resolve_ids`; with `exact_ids`,
        which takes O(1) per new label, they are ids of this workbook.
        """
        names = names if exact_ids else self.resolve_ids(names)
        given = dict(zip(names, as_labels(labels, len(names), file).tolist(), strict=True))
        if len(given) < len(names):
            duplicate = next(name for position, name in enumerate(names) if name in names[:position])
            raise invalid("id", file, "unique", f"{duplicate!r} more than once")
        new = [name for name in given if name not in self.labels]
        changed = [name for name in given if self.labels.label(name) not in (None, given[name])]
        for name in new:
            if name not in self.learner.pending:
                remedy = "Only queried rows accept a label."
                raise invalid("id", file, "outstanding", f"{name!r}, which is not", remedy)
        if changed and not replace:
            raise self.conflict(changed[0], given[changed[0]], file, "`replace=True` replaces it.")
        if not accept_outliers:
            self.refuse_outliers({name: given[name] for name in (*new, *changed)}, file)
        self._learn({name: given[name] for name in new})
        if changed:
            self._replace({name: given[name] for name in changed})
        return TellResult(len(new), len(given) - len(new), len(changed))

    def conflict(self, name: Id, label: float, file: str, remedy: str) -> InvalidError:
        """Build the error for a label that differs from the stored one."""
        new, stored = (
            f"{value:g}" if self.classes is None else repr(self.classes[int(value)])
            for value in (label, self.labels[name].label)
        )
        received = f"{new} for {name!r}, which has {stored}"
        return invalid("label", file, "equal to the stored label", received, remedy)

    def refuse_outliers(self, labels: dict[Id, float], file: str) -> None:
        """Raise `InvalidError` for the first label far outside the label range."""
        outlier = self.learner._first_outlier(list(labels), np.array(list(labels.values())))
        if outlier is not None:
            remedy = "`accept_outliers=True` accepts it."
            raise invalid("label", file, outlier.allowed, outlier.received, remedy)

    def _learn(self, labels: dict[Id, float]) -> None:
        if not labels:
            return
        queries, values = [self.learner.pending[name] for name in labels], np.array(list(labels.values()))
        state = self.learner.state
        # Only the rows of a model that can learn its labels again are needed later.
        rows = state.queried_rows(queries) if isinstance(state, Relabels) else feature_rows(queries)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutlierWarning)  # the caller has accepted outliers
            self.learner.tell_many(list(labels), self.learner.model.label_codec.decode(values))
        self.labels.add(list(labels), np.column_stack([values, decisions(queries)]), rows)

    def _replace(self, labels: dict[Id, float]) -> None:
        """Relearn all labels; subtracting a wrong one could leave rounding errors above the right ones."""
        numbers = self.labels.numbers
        new = numbers[:, 0].copy()
        new[self.labels.positions(list(labels))] = list(labels.values())
        cast(Relabels, self.learner.state).relabel(self.labels.rows, new)
        bought = ~np.isnan(numbers[:, 1])
        self.learner.ledger.correct(numbers[bought], new[bought])
        self.labels.replace(new)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the workbook atomically; the file replaces an existing one."""
        container.write(path, self.content(), self.from_content)

    def content(self, *, whole: bool = True) -> Content:
        """Return the whole state as JSON values and named arrays; unless whole, with cached rows only."""
        header, tensors = snapshot.encode(self.learner)
        monitor_values, monitor_arrays = self.monitor.save()
        closed = self.closed.values()
        fields: dict[str, Any] = {key: getattr(self, name) for key, name in PLAIN_FIELDS.items()} | {
            "encoding": self.encoding.state(),
            "told": list(self.labels),
            "closed": list(self.closed),
            "growth": self.encoding_versions,
            "history": asdict(self.history),
            "periods": self.periods and asdict(self.periods),
            "dialect": self.dialect and asdict(self.dialect),
            "watch": monitor_values,
        }
        fields = {key: value for key, value in fields.items() if value or key not in OPTIONAL_FIELDS}
        tensors |= {
            "workbook.numbers": self.labels.numbers,
            "workbook.closed": np.column_stack([decisions(closed), purchase_terms(closed)[:, 1:]]),
            "workbook.rows": self.labels.rows if whole else self.labels.cached_rows,
            "workbook.asked": self.seen_ids.digests(),
            **{f"workbook.watch.{name}": array for name, array in monitor_arrays.items()},
        }
        return {"version": VERSION, "workbook": fields, "learner": header}, tensors

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Workbook:
        """Load a workbook; raise `InvalidError` for a file that does not contain one."""
        content = container.read(path)
        try:
            return cls.from_content(content)
        except Exception as error:  # untrusted content can fail in any way
            kind = f"of another kind or version ({container.reason(error)})"
            received = f"{os.fspath(path)!r}, which is {kind}"
            raise invalid("path", "Workbook.load", "a file of `qufur ask`", received) from None

    @classmethod
    def from_content(cls, content: Content, *, whole: bool = True) -> Workbook:
        """Return the workbook of a `content`; unless whole, rows of labels may be missing."""
        header, tensors = content
        fields = header["workbook"]
        own = strip_prefix("workbook.", tensors)
        tensors = {name: array for name, array in tensors.items() if not name.startswith("workbook.")}
        learner = snapshot.decode(Learner, (header["learner"], tensors))
        numbers = own["numbers"]
        if numbers.shape[1:] == (3,):  # older versions did not store the largest losses
            numbers = np.column_stack([numbers, learner.model.largest_loss(numbers[:, 1])])
        labels_received = Labels(fields["told"], numbers, own["rows"])
        if whole and len(labels_received.cached_rows) < len(labels_received):
            raise invalid("rows", "the file", "as many as labels", len(own["rows"]))
        if "asked" in own:
            seen_ids = SeenIds.of_digests(own["asked"])
        else:  # a file of an older version; the ids of labels and outstanding rows are known
            seen_ids = SeenIds([*labels_received, *learner.outstanding])
        if "waiting" in own:  # version 1
            restore_lines(learner.pending, own["waiting"])
        periods, dialect = fields.get("periods"), fields.get("dialect")
        if bool(periods) != isinstance(learner.rule, PerPeriod):
            raise invalid("periods", "the file", "present exactly if the rule is PerPeriod", repr(periods))
        since = learner.ledger.examples, learner.spent
        return cls(
            learner=learner,
            encoding=Encoding.from_state(fields["encoding"]),
            labels=labels_received,
            seen_ids=seen_ids,
            encoding_versions=[EncodingVersion(*version) for version in fields.get("growth", ())],
            history=History(**fields.get("history", {})),
            periods=Periods(**periods) if periods else None,
            dialect=Dialect(**dialect) if dialect else None,
            monitor=Monitor.restored(fields.get("watch", {}), strip_prefix("watch.", own), since),
            # Files of version 0.1.0 have none.
            closed=closed_queries(fields.get("closed", ()), own.get("closed", np.empty((0, 5)))),
            **{name: fields[key] for key, name in PLAIN_FIELDS.items() if key in fields},
        )


def header_of(workbook: Workbook, columns: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the header of rows to label, and the columns of the table that it includes."""
    id, target = column_heading(workbook.id_column), column_heading(workbook.target)
    prediction = unused_name("prediction", {id, target})
    by_heading: dict[str, str] = {}
    for name in columns:
        if column_heading(name) not in (id, target, prediction):
            by_heading.setdefault(column_heading(name), name)
    return [id, *by_heading, prediction, target], list(by_heading.values())


def rows_to_label(
    answers: Answers, positions: Sequence[int], columns: Sequence[Sequence[Any]]
) -> list[list[Any]]:
    """Return the rows at the given positions, with id, the cells of `columns`, prediction and empty label."""
    predictions = [shown_prediction(answers.prediction[position]) for position in positions]
    cells = zip(*columns, predictions, strict=True)
    return [[answers.id[position], *row, ""] for position, row in zip(positions, cells, strict=True)]


def shown_prediction(prediction: Any) -> str:
    """Format a prediction: a number with six significant digits, or a class.

    >>> shown_prediction(0.123456789), shown_prediction("yes")
    ('0.123457', 'yes')
    """
    return str(prediction) if isinstance(prediction, str) else f"{prediction:.6g}"
