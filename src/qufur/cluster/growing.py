"""What a dataset adds to an encoding, before a row of it is decided."""

from __future__ import annotations

from typing import Any

from qufur.cluster.blocks import batch_of, check_columns
from qufur.cluster.decider import ROWS
from qufur.cluster.sources import Table, in_order
from qufur.tables import Encoding, Growth
from qufur.workbook import Workbook


def grow(ray: Any, table: Table, book: Workbook, *, impute: bool) -> None:
    """Let inputs get the columns that a table needs, by a pass over it where one is needed.

    One process sees all rows in order, as in `qufur ask`: the scales of a column depend on the order by
    rounding. It is a task of its own, so that rows do not travel to the driver.
    """
    aside = [book.target, *filter(None, [book.id])]
    scale = not book.learner.model.scales_inputs
    growth = Growth(book.encoding, impute=impute, scale=scale, aside=aside)
    if not growth.needs_no_look:
        dataset, _ = table.mapped(ray, lambda block: block)
        growth_of = ray.remote(num_cpus=0)(_grown)
        book.grow(ray.get(growth_of.remote(dataset, growth, table.columns)))
    elif impute:
        book.grow(growth.grown)


def _grown(dataset: Any, growth: Growth, columns: list[str]) -> Encoding:
    first = 1
    with in_order(dataset):
        for block in dataset.iter_batches(batch_size=ROWS, batch_format="pyarrow"):
            check_columns(block.column_names, columns)
            growth.add(batch_of(block, first, "the dataset"))
            first += len(block)
    return growth.grown
