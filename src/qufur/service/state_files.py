"""Export of streams to state files of the command line, and import of state files."""

from __future__ import annotations

import os
from typing import Any

from qufur.errors import invalid
from qufur.pending import feature_rows
from qufur.service.config import StreamConfig
from qufur.service.errors import NotFoundError
from qufur.service.rebuild import load, stored_rows
from qufur.service.store import Store
from qufur.service.stream import Stream
from qufur.tables.writers import column_heading, unused_name
from qufur.workbook import Workbook
from qufur.workbook.labels import Labels
from qufur.workbook.seen_ids import SeenIds
from qufur.workbook.workbook import shown_prediction


def export(store: Store, name: str, path: str | os.PathLike[str]) -> Stream:
    """Write the current state of a stream to a state file; a server may run meanwhile."""
    number = store.streams().get(name)
    if number is None:
        raise NotFoundError(f"There is no stream {ascii(name)[:80]}.")
    stream = load(store, number)
    _add_pending_rows(stream, store)
    stream.workbook.save(path)
    return stream


def read(path: str | os.PathLike[str]) -> Workbook:
    """Load a state file for import; raise `InvalidError` if a stream cannot continue it."""
    workbook = Workbook.load(path)
    if not workbook.has_rule:
        remedy = "`qufur ask` on a first table sets it."
        raise invalid("the state file", "qufur import", "one with a budget", "none", remedy)
    if workbook.periods is not None:
        allowed = "one whose labels are not bought per period"
        raise invalid("the state file", "qufur import", allowed, f"one with {workbook.periods.column!r}")
    return with_text_ids(workbook)


def with_text_ids(workbook: Workbook) -> Workbook:
    """Return the workbook with text ids and an id column, as streams have them."""
    if workbook.id is None:
        workbook.seen_ids = SeenIds([*range(1, workbook.rows + 1), *workbook.labels])
        workbook.id = "id"
    labels, pending = workbook.labels, workbook.learner.pending
    workbook.labels = Labels([str(id) for id in labels], labels.numbers, labels.rows)
    for queries in (pending, workbook.closed):
        records = list(queries.values())
        queries.clear()
        for query in records:
            query.id = str(query.id)
            queries[query.id] = query
    return workbook


def rows_of(workbook: Workbook, config: StreamConfig) -> dict[str, Any]:
    """Return the pending rows by id in the form of examples, as far as the workbook stores them."""
    pending = workbook.learner.pending
    if config.dim is not None:
        rows = feature_rows(pending.values())[:, : config.dim].astype("<f8")
        return {str(id): row.tobytes() for id, row in zip(pending, rows, strict=True)}
    cells = {str(id): workbook.pending_rows.cells(id) or {} for id in workbook.learner.outstanding}
    columns = {column_heading(name): name for name in config.columns or {}}
    return {
        id: {columns[heading]: cell for heading, cell in row.items() if heading in columns and cell != ""}
        for id, row in cells.items()
    }


def _add_pending_rows(stream: Stream, store: Store) -> None:
    """Add the pending rows in the form that annotators see in a file."""
    workbook, columns = stream.workbook, list(stream.config.columns or {})
    if not columns:
        return
    id, target = column_heading(workbook.id_column), column_heading(workbook.target)
    header = [id, *map(column_heading, columns), unused_name("prediction", {id, target, *columns}), target]
    missing = [id for id in map(str, workbook.learner.pending) if workbook.pending_rows.cells(id) is None]
    for id, record in stored_rows(store, stream.number, missing).items():
        prediction = shown_prediction(workbook.learner.pending[id].prediction)
        cells = [id, *(record.get(name) for name in columns), prediction, ""]
        workbook.pending_rows.add(header, [cells])
