"""What a dataset adds to an encoding, before a row of it is decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from qufur.cluster.blocks import batch_of, check_columns
from qufur.cluster.sources import Table, in_order
from qufur.tables import Batch, Encoding, Growth
from qufur.tables.batch import rows_at_a_time
from qufur.tables.formats.base import TableFile
from qufur.workbook import Workbook


class DatasetFile(TableFile):
    """A table on a cluster, as one that is read from a file.

    Parameters
    ----------
    ray
        The module.
    table
        Its rows are read by tasks, and are seen in order.
    """

    format = "dataset"

    def __init__(self, ray: Any, table: Table) -> None:
        super().__init__(Path(table.name))
        self.columns = table.columns
        self._dataset, _ = table.mapped(ray, lambda block: block)

    def count(self) -> int:
        """Let the cluster count."""
        return int(self._dataset.count())

    def batches(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield `size` rows at a time, whatever the blocks are."""
        first = 1
        with in_order(self._dataset):
            for block in self._dataset.iter_batches(batch_size=size, batch_format="pyarrow"):
                check_columns(block.column_names, self.columns)
                yield batch_of(block.select(list(columns or self.columns)), first, "the dataset")
                first += len(block)


def grow(ray: Any, table: Table, book: Workbook, *, impute: bool) -> None:
    """Let inputs get the columns that a table needs, by a pass over it where one is needed.

    One process sees all rows in order, as in `qufur ask`: the scales of a column depend on the order by
    rounding. It is a task of its own, so that rows do not travel to the driver.
    """
    aside = [book.target, *filter(None, [book.id])]
    scale = not book.learner.model.scales_inputs
    growth = Growth(book.encoding, impute=impute, scale=scale, aside=aside)
    if growth.needs_no_look:
        book.grow(growth.grown)
    else:
        task = ray.remote(num_cpus=0)(_grown)
        book.grow(ray.get(task.remote(DatasetFile(ray, table), growth)))


def _grown(file: DatasetFile, growth: Growth) -> Encoding:
    for batch in file.batches(rows_at_a_time(text=growth.known.text is not None)):
        growth.add(batch)
    return growth.grown
