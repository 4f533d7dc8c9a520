"""Streams as state files of the commands, and state files as streams: the same workbook in both."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from qufur.errors import invalid
from qufur.ids import KnownIds
from qufur.service.description import Description
from qufur.service.events import decode
from qufur.service.loading import load
from qufur.service.logged import examples_of
from qufur.service.refusals import NotFoundError
from qufur.service.store import Store
from qufur.service.stream import Stream
from qufur.tables.written import free, heading
from qufur.workbook import Workbook


def export(store: Store, name: str, path: str | os.PathLike[str]) -> Stream:
    """Write a stream as it stands after its last event to a state file; others may write meanwhile."""
    number = store.streams().get(name)
    if number is None:
        raise NotFoundError(f"There is no stream {ascii(name)[:80]}.")
    stream = load(store, number)
    _keep_waiting(stream, store)
    stream.book.save(path)
    return stream


def read(path: str | os.PathLike[str]) -> Workbook:
    """Return the workbook of a state file, as a stream can have it; one that no stream can is refused."""
    book = Workbook.load(path)
    if not book.has_rule:
        remedy = "`qufur ask` on a first table says it."
        raise invalid("the state file", "qufur import", "one that says what labels may cost", "none", remedy)
    if book.periods is not None:
        allowed = "one whose labels are not bought per period"
        raise invalid("the state file", "qufur import", allowed, f"one with {book.periods.column!r}")
    return with_text_ids(book)


def with_text_ids(book: Workbook) -> Workbook:
    """Return the same work with ids as text, and with a column of ids, as requests have them."""
    if book.id is None:
        book.asked = KnownIds([*range(1, book.rows + 1), *book.told])
        book.id = "id"
    header, tensors = book.content()
    own, learner = header["workbook"], header["learner"]
    named = [(own, "told"), (own, "closed"), (learner, "ids"), (learner["ledger"], "open")]
    named += [(learner["state"], name) for name in ("pending", "fresh") if name in learner["state"]]
    for values, name in named:
        values[name] = [str(id) for id in values[name]]
    return Workbook.from_content((header, tensors))


def rows_of(book: Workbook, description: Description) -> dict[str, Any]:
    """Return the rows that wait for labels as their examples would have come, as far as that is known."""
    pending = book.learner.state.pending
    if description.dim is not None:
        return {id: np.array(pending[id][: description.dim], "<f8").tobytes() for id in map(str, pending)}
    cells = {str(id): book.waiting.cells(id) or {} for id in book.learner.outstanding}
    columns = {heading(name): name for name in description.columns or {}}
    return {
        id: {columns[called]: cell for called, cell in row.items() if called in columns and cell != ""}
        for id, row in cells.items()
    }


def _keep_waiting(stream: Stream, store: Store) -> None:
    """Take note of the rows that wait, as people are to see them who label from a file."""
    book, columns = stream.book, list(stream.description.columns or {})
    if not columns:
        return
    id, target = heading(book.id_column), heading(book.target)
    header = [id, *map(heading, columns), free("prediction", {id, target, *columns}), target]
    unknown = [id for id in map(str, book.learner.queries) if book.waiting.cells(id) is None]
    for one, record in _records(store, stream.number, unknown):
        said = book.learner.queries[one].prediction
        book.waiting.add(header, [[one, *(record.get(name) for name in columns), f"{said:.6g}", ""]])


def _records(store: Store, stream: int, ids: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield examples with their records, each event read once."""
    found = store.find(stream, ids)
    for event in store.events_at(stream, sorted(set(found.values()))):
        for _, id, part in examples_of(event, event.opened()):
            if id in found:
                yield id, decode(part)[1]
