"""The rows of a pool that may be chosen, and those that have labels, as the table goes by once."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from qufur.arrays import Bools
from qufur.errors import invalid
from qufur.ids import KnownIds
from qufur.labelling.pool import MOST, candidates_for
from qufur.models.base import Id
from qufur.tables import Batch, ids
from qufur.tables.cells import is_missing
from qufur.tables.ids_and_labels import check_once
from qufur.tables.sample import Sample


class Candidates:
    """A sample of the rows without a label, and one of those that have a label.

    Parameters
    ----------
    id, target
        The columns of ids and of labels; None where there is none.
    known
        The ids of further rows that have labels.
    budget
        How many rows are to be chosen.
    seed
        Of what is drawn.

    Attributes
    ----------
    free, labelled
        The samples.
    found
        How many of the `known` ids there were.
    """

    def __init__(
        self, id: str | None, target: str | None, known: Collection[Id], budget: int, seed: int
    ) -> None:
        self._id, self._target, self._known, self._seen = id, target, known, KnownIds()
        self.free = Sample(candidates_for(budget), (seed, 0))
        self.labelled = Sample(MOST, (seed, 1))
        self.found = 0

    def look(self, batch: Batch) -> None:
        """Take in a batch, and complain if an id comes again."""
        names = ids(batch, self._id)
        if self._id is not None:
            self._check_new(names, batch)
        labelled = self._labelled(names, batch)
        self.free.add(batch, names, ~labelled)
        self.labelled.add(batch, names, labelled)

    def _labelled(self, names: list[Id], batch: Batch) -> Bools:
        known = np.array([name in self._known for name in names])
        self.found += int(np.count_nonzero(known))
        return known if self._target is None else known | ~is_missing(batch.column(self._target))

    def _check_new(self, names: list[Id], batch: Batch) -> None:
        check_once(names, [batch.row(place) for place in range(len(batch))], batch.file)
        again = self._seen.known(names)
        if again.any():
            place = int(again.argmax())
            received = f"{names[place]!r} in row {batch.row(place)} again"
            raise invalid("id", batch.file, "there once", received, "Keep one of them.")
        self._seen.add(names)
