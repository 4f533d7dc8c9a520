"""A learner at work on a person's tables: how rows become inputs, what they are called, which labels came."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qufur import snapshot
from qufur.answer import Answers
from qufur.arrays import Bools, Floats, Ints, as_labels, under
from qufur.errors import OutlierWarning, invalid
from qufur.estimates.query import Purchase
from qufur.estimates.watch import Watch
from qufur.ids import KnownIds
from qufur.labels import Labels
from qufur.learner import Learner
from qufur.models.base import Id
from qufur.rules.per_period import PerPeriod
from qufur.rules.period_spending import UNKNOWN
from qufur.storage import container
from qufur.storage.container import Content
from qufur.storage.versions import History
from qufur.tables import Batch, Encoding, ids, labels
from qufur.tables.cells import category, clean_texts
from qufur.tables.classes import class_labels, class_name
from qufur.tables.formats.dialect import Dialect
from qufur.tables.ids_and_labels import check_once
from qufur.tables.label_forms import label_numbers
from qufur.tables.periods import Periods
from qufur.tables.waiting import Waiting
from qufur.tables.written import free, heading, unescaped

if TYPE_CHECKING:
    from qufur.decisions import Decisions

VERSION = 1


@dataclass(frozen=True)
class Told:
    """How many labels were new, how many had come before, and how many of those were replaced."""

    new: int
    known: int
    replaced: int


class Stage(NamedTuple):
    """From which table and row on an encoding had so many entries; both are counted from 0."""

    tables: int
    rows: int
    entries: int


@dataclass
class Workbook:
    """A learner, and all that must stay the same from one table to the next.

    Attributes
    ----------
    learner
        What has been learned and bought.
    encoding
        How a row becomes an input; the first table decides, and later ones add to it.
    id
        The column that names the rows; None if rows are numbered, through all tables.
    target
        The column of labels.
    told
        The labels that came, by id, with what is needed to replace them.
    closed
        The terms of queries that were retracted, or whose labels were forgotten, by id: a label that arrives
        after all is learned, and counts for the error, on these terms.
    rows
        How many rows were asked about.
    tables
        Digests of the tables asked about.
    asked
        The ids of the rows asked about, if a column names them.
    growth
        How many tables and rows were asked about when the encoding got so many entries, each time it did.
    waiting
        The outstanding rows as they were written for the people who label.
    history
        Which command made this state, and which states came before.
    periods
        How rows are told apart by when they came, if labels are bought per period.
    has_rule
        Whether somebody said what labels may cost; who begins with labels may say it later.
    dialect
        How the first CSV table was written, or a later one of which somebody said it; None before.
    unit
        The currency or % of labels that were told so.
    watch
        What is followed of the inputs, and of how the work goes.
    unfinished
        By digest, how many rows were asked about of tables that are asked about bit by bit.
    """

    learner: Learner
    encoding: Encoding
    id: str | None
    target: str
    told: Labels = field(default_factory=Labels)
    rows: int = 0
    tables: list[str] = field(default_factory=list)
    asked: KnownIds = field(default_factory=KnownIds)
    growth: list[Stage] = field(default_factory=list)
    waiting: Waiting = field(default_factory=Waiting)
    history: History = field(default_factory=History)
    periods: Periods | None = None
    has_rule: bool = True
    dialect: Dialect | None = None
    unit: str = ""
    watch: Watch = field(default_factory=Watch)
    unfinished: dict[str, int] = field(default_factory=dict)
    closed: dict[Id, Purchase] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.growth = self.growth or [Stage(0, 0, len(self.encoding.columns))]

    def grow(self, encoding: Encoding) -> None:
        """Let inputs have further columns at the end, by an encoding that goes on from the present one."""
        new = encoding.columns[len(self.encoding.columns) :]
        constants = [value for entry in new for value in entry.before]
        end, self.encoding = self.encoding.dim, encoding
        if constants:
            self.learner.widen(constants)
            self.watch.inputs.widen(np.array(constants))
            # What a model itself adds to a row, such as an intercept, stays last.
            self.told.widen(end, constants)
            self.growth.append(Stage(len(self.tables), self.rows, len(encoding.columns)))

    def encoding_at(self, row: int) -> Encoding:
        """Return the encoding by which a row was asked about; rows are counted from 0, through all tables."""
        entries = max(stage.entries for stage in self.growth if stage.rows <= row)
        return replace(self.encoding, columns=self.encoding.columns[:entries])

    def note_table(self, digest: str, file: str) -> None:
        """Take note of a table that is going to be asked about; the same one a second time is refused."""
        if digest in self.tables:
            remedy = "Its rows would count twice; `qufur predict` predicts on them again."
            raise invalid("table", file, "one that was not asked about before", "the same again", remedy)
        self.tables.append(digest)

    def ask(self, batch: Batch, X: Floats | None = None) -> Answers:
        """Answer the rows of a table, whose inputs may be made already; their labels come later."""
        names = self.names(batch)
        again = self.asked.first_known(names) if self.id else None
        if again is not None:
            received = f"{again!r} in row {batch.row(names.index(again))}, which was asked about before"
            remedy = "Drop the row; `qufur predict` predicts on it again."
            raise invalid("id", batch.file, "of a row that is new", received, remedy)
        check_once(names, [batch.row(place) for place in range(len(names))], batch.file)
        return self.ask_rows(self.encoding.encode(batch) if X is None else X, names, self._periods_of(batch))

    def ask_rows(self, X: Floats, names: Sequence[Id], periods: Ints | None = None) -> Answers:
        """Answer inputs whose names are new; periods are for rules that go by them."""
        answers = self.learner.ask_many(X, ids=names, domain=periods)
        self._note_asked(X, names, answers.query)
        return answers

    def replay(
        self,
        X: Floats,
        names: Sequence[Id],
        decisions: Decisions,
        periods: Ints | None = None,
        *,
        present: Bools | None = None,
    ) -> None:
        """Take over what was decided about inputs, as `Learner.replay` does."""
        self.learner.replay(X, names, decisions, periods, present=present)
        self._note_asked(X, names, decisions.query)

    def _note_asked(self, X: Floats, names: Sequence[Id], query: Bools) -> None:
        self.watch.ask(X, query)
        self.rows += len(names)
        if self.id:
            self.asked.add(names)

    def _periods_of(self, batch: Batch) -> Ints | None:
        if self.periods is None:
            return None
        found = self.periods.of(batch)
        return np.where(np.isnan(found), float(UNKNOWN), found).astype(np.int64)

    @property
    def period(self) -> str | None:
        """When the running period began, if labels are bought per period."""
        number = getattr(self.learner.spending, "period", UNKNOWN)
        return None if self.periods is None or number == UNKNOWN else self.periods.begin(number)

    def names(self, batch: Batch) -> list[Id]:
        """Return what the rows are called: by a column, or by numbers that go on from the last table."""
        return ids(batch, self.id) if self.id else list(range(self.rows + 1, self.rows + 1 + len(batch)))

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The classes by name, if labels are classes."""
        return getattr(self.learner.model, "classes", None)

    def read_labels(self, batch: Batch, column: str) -> tuple[Ints, Floats]:
        """Return the places of rows with a label, and the labels; classes by their numbers."""
        if self.classes is None:
            return labels(batch, column, skip_blank=True)
        return class_labels(batch, column, self.classes, skip_blank=True)

    @property
    def id_column(self) -> str:
        """What the column of ids is called in the files for people who label."""
        return self.id or free("row", {heading(self.target)})

    def untold(self, rows: Iterable[tuple[str, str]]) -> list[Id]:
        """Return of ids and labels, as text, the ids that wait for a label or came with another one."""
        cells = [(id.strip(), label) for id, label in rows]
        names = self.known([id for id, _ in cells])
        labels = clean_texts(label for _, label in cells)
        return [name for name, label in zip(names, labels, strict=True) if self._is_untold(name, label)]

    def _is_untold(self, name: Id, label: str | None) -> bool:
        known = self.told.label(name)
        if known is None or label is None:
            return name in self.learner.queries
        if self.classes is not None:
            return class_name(label) != self.classes[int(known)]
        number = label_numbers([label])
        return number is None or number.item() != known

    def known(self, names: Sequence[Id]) -> list[Id]:
        """Return the ids of the rows that names stand for; 12.0 stands for 12 unless it is a row itself."""
        known: dict[str, Id] = {str(id): id for id in (*self.told, *self.learner.queries)}
        rows = self.asked.known(names).tolist()
        return [self._known(str(name), known, name, row) for name, row in zip(names, rows, strict=True)]

    @staticmethod
    def _known(text: str, known: dict[str, Id], name: Id, is_row: bool) -> Id:
        forms = [unescaped(text), text, *([] if is_row else [category(text)])]
        return next((known[form] for form in forms if form in known), name)

    def tell(
        self,
        names: Sequence[Id],
        labels: Floats,
        file: str,
        *,
        replace: bool = False,
        accept_outliers: bool = False,
    ) -> Told:
        """Learn labels; the same label twice is one, and nothing is learned if one of them is wrong.

        With `replace`, another label for a row that has one takes its place, as if it had been told at once:
        all labels are learned anew, O(d²) for each. Labels that are far out of range are refused unless
        `accept_outliers` says that they are right.
        """
        options = {"replace": replace, "accept_outliers": accept_outliers}
        return self.tell_known(self.known(names), labels, file, **options)

    def tell_known(
        self,
        names: Sequence[Id],
        labels: Floats,
        file: str,
        *,
        replace: bool = False,
        accept_outliers: bool = False,
    ) -> Told:
        """Learn labels as `tell` does, by ids just as they are known here: O(1) for each that is new."""
        wanted = dict(zip(names, as_labels(labels, len(names), file).tolist(), strict=True))
        if len(wanted) < len(names):
            twice = next(name for place, name in enumerate(names) if name in names[:place])
            raise invalid("id", file, "there once", f"{twice!r} more than once")
        new = [name for name in wanted if name not in self.told]
        other = [name for name in wanted if self.told.label(name) not in (None, wanted[name])]
        for name in new:
            if name not in self.learner.queries:
                remedy = "Labels are taken for rows that were asked for."
                raise invalid("id", file, "outstanding", f"{name!r}, which is not", remedy)
        if other and not replace:
            received = self.both_shown(other[0], wanted[other[0]])
            raise invalid("label", file, "the one that came before", received, "--replace takes the new one.")
        if not accept_outliers:
            self.refuse_outliers({name: wanted[name] for name in (*new, *other)}, file)
        self._learn({name: wanted[name] for name in new})
        if other:
            self._replace({name: wanted[name] for name in other})
        return Told(len(new), len(wanted) - len(new), len(other))

    def shown(self, label: float) -> str:
        """Return a label as people write it."""
        return f"{label:g}" if self.classes is None else repr(self.classes[int(label)])

    def both_shown(self, name: Id, label: float) -> str:
        """Return a label beside the one that came before."""
        return f"{self.shown(label)} for {name!r}, which has {self.shown(self.told[name].label)}"

    def refuse_outliers(self, labels: dict[Id, float], file: str) -> None:
        """Complain about the first label that is far out of the range known so far."""
        odd = self.learner.outlier(list(labels), np.array(list(labels.values())))
        if odd is not None:
            raise invalid("label", file, odd.allowed, odd.received, "--accept-outliers takes it as it is.")

    def _learn(self, labels: dict[Id, float]) -> None:
        if not labels:
            return
        queries, pending = self.learner.queries, self.learner.state.pending
        numbers = np.array([(label, *queries[name][:3]) for name, label in labels.items()])
        rows = np.array([pending[name] for name in labels])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutlierWarning)  # whoever is here has accepted them
            decoded = self.learner.model.decode_predictions(np.array(list(labels.values())))
            self.learner.tell_many(list(labels), decoded)
        self.told.add(list(labels), numbers, rows)

    def _replace(self, labels: dict[Id, float]) -> None:
        """Learn all labels anew: what a wrong one left behind may be larger than the right ones."""
        numbers = self.told.numbers
        new = numbers[:, 0].copy()
        new[self.told.places(list(labels))] = list(labels.values())
        self.learner.state.relearn(self.told.rows, new)
        bought = ~np.isnan(numbers[:, 1])
        old, prediction, probability, largest_loss = numbers[bought].T
        self.learner.ledger.correct(prediction, probability, largest_loss, old, new[bought])
        self.told.replace(new)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file, in place of what was there, or not at all."""
        container.write(path, self.content(), self.from_content)

    def content(self, *, whole: bool = True) -> Content:
        """Return everything as values for JSON and named arrays; unless whole, only rows that are held."""
        header, tensors = snapshot.encode(self.learner)
        headers, lines = self.waiting.save(self.learner.outstanding)
        watched, watch_arrays = self.watch.save()
        own: dict[str, Any] = {
            "encoding": self.encoding.state(),
            "id": self.id,
            "target": self.target,
            "told": list(self.told),
            "closed": list(self.closed),
            "rows": self.rows,
            "tables": self.tables,
            "growth": self.growth,
            "headers": headers,
            "history": asdict(self.history),
            "periods": None if self.periods is None else asdict(self.periods),
            "has_rule": self.has_rule,
            "dialect": self.dialect and asdict(self.dialect),
            "unit": self.unit,
            "watch": watched,
        } | ({"unfinished": self.unfinished} if self.unfinished else {})
        tensors |= {
            "workbook.numbers": self.told.numbers,
            "workbook.closed": np.array([*self.closed.values()], dtype=np.float64).reshape(-1, 5),
            "workbook.rows": self.told.rows if whole else self.told.held,
            "workbook.asked": self.asked.digests(),
            "workbook.waiting": lines,
            **{f"workbook.watch.{name}": array for name, array in watch_arrays.items()},
        }
        return {"version": VERSION, "workbook": own, "learner": header}, tensors

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Workbook:
        """Read it back; what is not the file of a workbook is refused."""
        content = container.read(path)
        try:
            return cls.from_content(content)
        except Exception:  # content from elsewhere can be wrong in any way
            received = f"{os.fspath(path)!r}, which is of another kind or version"
            raise invalid("path", "Workbook.load", "a file of `qufur ask`", received) from None

    @classmethod
    def from_content(cls, content: Content, *, whole: bool = True) -> Workbook:
        """Return the workbook that has this content; unless whole, rows may be elsewhere."""
        header, tensors = content
        own = header["workbook"]
        columns, rows = (tensors.pop(f"workbook.{name}") for name in ("numbers", "rows"))
        asked, lines, terms = (
            tensors.pop(f"workbook.{name}", None) for name in ("asked", "waiting", "closed")
        )
        watched = under("workbook.watch.", tensors)
        tensors = {name: array for name, array in tensors.items() if not name.startswith("workbook.")}
        learner = snapshot.decode(Learner, (header["learner"], tensors))
        if columns.shape[1:] == (3,):  # files of before leave out the largest losses
            columns = np.column_stack([columns, learner.model.largest_loss(columns[:, 1])])
        told = Labels(own["told"], columns, rows)
        if whole and len(told.held) < len(told):
            raise invalid("rows", "the file", "as many as labels", len(rows))
        encoding = Encoding.from_state(own["encoding"])
        # Files without it are of before; what has a label or waits for one is known all the same.
        known = KnownIds([*told, *learner.outstanding]) if asked is None else KnownIds.of_digests(asked)
        growth = [Stage(*stage) for stage in own.get("growth", ())]
        waiting = Waiting() if lines is None else Waiting.restored(own["headers"], lines, learner.outstanding)
        history = History(**own.get("history", {}))
        periods = Periods(**own["periods"]) if own.get("periods") else None
        if (periods is None) == isinstance(learner.rule, PerPeriod):
            raise invalid("periods", "the file", "there for a rule that needs them", repr(periods))
        dialect = Dialect(**own["dialect"]) if own.get("dialect") else None
        fixed = learner, encoding, own["id"], own["target"]
        book = cls(*fixed, told, own["rows"], own["tables"], known, growth, waiting, history, periods)
        book.has_rule, book.dialect, book.unit = own.get("has_rule", True), dialect, own.get("unit", "")
        book.watch = Watch.restored(own.get("watch", {}), watched, (learner.ledger.examples, learner.spent))
        book.unfinished = own.get("unfinished", {})
        if terms is not None:  # files of version 0.1.0 have none
            purchases = [Purchase(p, q, b, mean, bool(chance)) for p, q, b, mean, chance in terms.tolist()]
            book.closed = dict(zip(own["closed"], purchases, strict=True))
        return book
