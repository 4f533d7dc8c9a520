"""Schema growth: columns that a dataset appends to an encoding before its first decision."""

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
    """Table on a cluster with the interface of a table file.

    Parameters
    ----------
    ray
        The module.
    table
        The table; tasks read its rows, and batches preserve their order.
    """

    format = "dataset"

    def __init__(self, ray: Any, table: Table) -> None:
        super().__init__(Path(table.name))
        self.columns = table.columns
        self._dataset, _ = table.mapped(ray, lambda block: block)

    def count(self) -> int:
        """Count the rows on the cluster."""
        return int(self._dataset.count())

    def batches(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield `size` rows at a time, independently of the block sizes."""
        first = 1
        with in_order(self._dataset):
            for block in self._dataset.iter_batches(batch_size=size, batch_format="pyarrow"):
                check_columns(block.column_names, self.columns)
                yield batch_of(block.select(list(columns or self.columns)), first, "the dataset")
                first += len(block)


def grow(ray: Any, table: Table, workbook: Workbook, *, impute: bool) -> None:
    """Append the inputs that a table needs to the workbook, after a pass over the table if one is needed.

    One task reads all rows in order, as `qufur ask` does, because the scales of a column depend on the order
    by rounding. The task runs on the cluster, so rows are not sent to the driver.
    """
    aside = [workbook.target, *filter(None, [workbook.id])]
    scale = not workbook.learner.model.tags.scales_inputs
    growth = Growth(workbook.encoding, impute=impute, scale=scale, aside=aside)
    if growth.is_complete:
        workbook.grow(growth.grown)
    else:
        task = ray.remote(num_cpus=0)(_grown)
        workbook.grow(ray.get(task.remote(DatasetFile(ray, table), growth)))


def _grown(file: DatasetFile, growth: Growth) -> Encoding:
    for batch in file.batches(rows_at_a_time(text=growth.known.text is not None)):
        growth.add(batch)
    return growth.grown
