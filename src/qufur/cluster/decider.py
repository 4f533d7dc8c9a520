"""Actor that decides the rows of a dataset, each once and in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur._internal.threads import single_blas_thread
from qufur.answer import Answers
from qufur.cluster.blocks import INPUTS, batch_of, inputs_in
from qufur.models.engines import compiled
from qufur.storage import container
from qufur.tables import Batch
from qufur.tables.batch import rows_at_a_time
from qufur.workbook import Workbook
from qufur.workbook.workbook import rows_to_label

if TYPE_CHECKING:
    import pyarrow as pa


class Decider:
    """Workbook that decides a dataset block by block, as a Ray actor.

    Rows are decided in batches of the size that `qufur ask` uses, counted from the first row of the dataset.
    No bit of a decision depends on the block boundaries, or on the row at which a retry resumes.

    Parameters
    ----------
    packed
        The bytes of the workbook's file; `partial_tables` has the number of rows decided so far.
    table
        The digest of the dataset.
    header, displayed
        Header and displayed columns of rows to label: see `header_of`.
    """

    def __init__(self, packed: bytes, table: str, header: Sequence[str], displayed: Sequence[str]) -> None:
        self._workbook = Workbook.from_content(container.unpack(packed, "the state"))
        self._table, self._header, self._displayed = table, header, list(displayed)
        self._rows = rows_at_a_time(text=self._workbook.encoding.text is not None)
        self._ahead: pa.Table | None = None

    def take(self, first: int, block: pa.Table) -> pa.Table | None:
        """Add a block whose first row has the number `first`, from 0, and decide all complete batches.

        Rows that were added before are ignored.

        Returns
        -------
        pyarrow.Table or None
            The answers of this call, or None if no batch was complete.
        """
        import pyarrow as pa

        overlap = self._done + len(self._ahead or ()) - first
        if overlap < 0:
            raise RuntimeError(f"{-overlap} rows before row {first} are missing")
        rows = block.slice(overlap)
        self._ahead = pa.concat_tables([self._ahead, rows]) if self._ahead else rows
        return self._decide_batches(min_rows=self._rows)

    def finish(self) -> pa.Table | None:
        """Decide the remaining rows, and return their answers."""
        return self._decide_batches(min_rows=1)

    def packed(self) -> bytes:
        """Return the bytes of the workbook's file."""
        return container.pack(self._workbook.content())

    @property
    def _done(self) -> int:
        return self._workbook.partial_tables[self._table]

    def _decide_batches(self, min_rows: int) -> pa.Table | None:
        import pyarrow as pa

        answers = []
        with single_blas_thread(), compiled.disabled():
            while self._ahead is not None and len(self._ahead) >= min_rows:
                batch, self._ahead = self._ahead.slice(0, self._rows), self._ahead.slice(self._rows)
                answers.append(self._decide(batch))
        return pa.concat_tables(answers) if answers else None

    def _decide(self, table: pa.Table) -> pa.Table:
        workbook, X = self._workbook, inputs_in(table)
        batch = Batch({INPUTS: X}, self._done + 1, "the dataset")
        if names := needed(workbook):
            batch = replace(batch, columns={**batch.columns, **batch_of(table.select(names)).columns})
        answers = workbook.ask(batch, X)
        queried = np.flatnonzero(answers.query)
        if len(queried):
            cells: Mapping[str, Any] = {}
            if self._displayed:
                cells = batch_of(table.select(self._displayed).take(queried)).columns
            rows = rows_to_label(answers, queried.tolist(), [cells[name] for name in self._displayed])
            workbook.pending_rows.add(self._header, rows)
        workbook.partial_tables[self._table] += len(X)
        return _as_table(answers, table, workbook.id)


def needed(workbook: Workbook) -> list[str]:
    """Return the columns needed beside the inputs: ids, and times for a budget per period."""
    names = workbook.id, None if workbook.periods is None else workbook.periods.column
    return list(dict.fromkeys(filter(None, names)))


def _as_table(answers: Answers, table: pa.Table, id: str | None) -> pa.Table:
    """Return the answers to the rows of a table whose column `id` names them; None for row numbers."""
    import pyarrow as pa

    are_integers = id is None or pa.types.is_integer(table.schema.field(id).type)
    ids, id_type = (answers.id, pa.int64()) if are_integers else (map(str, answers.id), pa.string())
    columns = {name: getattr(answers, name) for name in ("prediction", "uncertainty", "probability", "query")}
    return pa.table({"id": pa.array(ids, id_type), **columns})
