"""Schema growth: entries that later tables append to an encoding. They are never inserted in between."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import LARGEST
from qufur.errors import invalid
from qufur.tables.batch import Batch
from qufur.tables.categorical import Categorical
from qufur.tables.cells import Column, category, first_other, is_missing, listed, numbers_or_nan
from qufur.tables.columns import Kind, Missing, Numeric, Part
from qufur.tables.inference import MOST_CATEGORIES, ColumnInference, ColumnPass, add_batch, inference_of
from qufur.tables.number_formats import Amount
from qufur.tables.text import BERT

if TYPE_CHECKING:
    from qufur.tables.encoding import Encoding

FINER = 30.0
"""A column gets another, finer scale if its standard deviation is less than its scale / FINER.

The scale of a column that was constant at first includes the distance from that constant, beside which small
variations would vanish.
"""


class ColumnGrowth(ColumnPass):
    """Growth of an input column in one pass over a later table.

    Parameters
    ----------
    entries
        Entries of the column so far.
    impute
        Whether cells may be missing. Invalid cells are not checked here: the encoding raises an error.

    Attributes
    ----------
    lacking
        Whether the table does not have the column.
    """

    def __init__(self, entries: Sequence[Kind], impute: bool) -> None:
        super().__init__(entries[0].name)
        self.lacking = False
        self._entries, self._impute, self._missing = entries, impute, False

    def add(self, batch: Batch) -> None:
        self.lacking = not batch.has(self.name)
        self._look(batch, batch.cells(self.name, self._impute))

    @property
    def is_complete(self) -> bool:
        """Whether no valid cell can add an entry."""
        return not self._impute

    @property
    def first_missing(self) -> bool:
        """Whether cells are missing and the column has no indicator of missing cells."""
        return self._missing and self._impute and not any(entry.indicators for entry in self._entries)

    @property
    def finer_scale(self) -> list[Numeric]:
        """Entries that scale formerly constant numbers, which would otherwise remain 0 in x."""
        return []

    @property
    def new(self) -> list[Kind]:
        """Entries to append."""
        numeric = isinstance(self, NumberGrowth)
        return [*([Missing(self.name, numeric)] if self.first_missing else []), *self.finer_scale]

    def _look(self, batch: Batch, column: Column) -> None:
        self._missing |= bool(is_missing(column).any())


class VaryingGrowth(ColumnGrowth):
    """Growth of a column of amounts or of lists of numbers, which may start to vary.

    A scaled number that was constant so far is 0 in all earlier rows. When it starts to vary, its scale is
    the root mean square distance from the old constant. If the standard deviation of a column of single
    numbers is much smaller than this, a second entry scales it by its own mean and standard deviation.
    """

    def __init__(self, entries: Sequence[Kind], impute: bool) -> None:
        super().__init__(entries, impute)
        self._first, *self._others = (entry for entry in entries if isinstance(entry, Numeric))
        varying = {index for entry in self._others if isinstance(entry, Part) for index in entry.places}
        deviation = self._first.deviation if self._first.scaled else ()
        self._constant = [j for j, unit in enumerate(deviation) if unit == 0 and j not in varying]

    @property
    def is_complete(self) -> bool:
        return super().is_complete and not self._constant

    @property
    def finer_scale(self) -> list[Numeric]:
        if not (self._constant and self._moments.count):
            return []
        return self._new_elements() if self._first.vector else self._new_scales()

    def _new_elements(self) -> list[Numeric]:
        """Return the entry of the elements of a list that start to vary."""
        mean = np.array(self._first.mean)[self._constant]
        scale = np.hypot(self._moments.std, self._moments.mean - mean)
        varying = np.flatnonzero(scale)
        places = tuple(self._constant[j] for j in varying)
        moments = tuple(mean[varying].tolist()), tuple(scale[varying].tolist())
        length = len(self._first.mean)
        return [Part(self.name, *moments, vector=True, places=places, length=length)] if places else []

    def _new_scales(self) -> list[Numeric]:
        entries: list[Numeric] = []
        plain = replace(self._first, blanks=False, added=False)
        mean, deviation = self._moments.mean.item(), self._moments.std.item()
        scale = min((other.deviation[0] for other in self._others), default=0.0)
        if not scale:
            scale = math.hypot(deviation, mean - self._first.mean[0])
            entries = [replace(plain, deviation=(scale,))] if scale else []
        if 0 < FINER * deviation < scale:
            entries.append(replace(plain, mean=(mean,), deviation=(deviation,)))
        return entries

    def _look(self, batch: Batch, column: Column) -> None:
        super()._look(batch, column)
        values = self._first.read(column) if self._constant else None
        if values is not None:
            constant = values[:, self._constant]
            self._moments.add(constant[(np.abs(constant) < LARGEST).all(axis=1)])


class NumberGrowth(VaryingGrowth):
    """Growth of a column of numbers.

    Attributes
    ----------
    outliers
        Row and content of the first cell that is not a number, and the number of such cells; they count as
        missing.
    """

    outliers: tuple[int, Any, int] | None = None

    @property
    def is_settled(self) -> bool:
        return True

    def _look(self, batch: Batch, column: Column) -> None:
        values = numbers_or_nan(column)
        unknown = np.isnan(values[:, 0])
        self._missing |= bool(unknown.any())
        indices = np.flatnonzero(unknown & ~is_missing(column))
        if len(indices):
            row, cell, count = self.outliers or (batch.row(int(indices[0])), column[indices[0]], 0)
            self.outliers = row, cell, count + len(indices)
        self._moments.add(values[np.abs(values[:, 0]) < LARGEST])


class CategoryGrowth(ColumnGrowth):
    """Growth of a categorical column by new categories, in the order of their rows up to the limit.

    Attributes
    ----------
    categories
        New categories that get a column of x.
    too_many
        Whether there are further new categories, which are encoded as zeros.
    """

    def __init__(self, entries: Sequence[Kind], impute: bool) -> None:
        super().__init__(entries, impute)
        existing = [name for entry in entries if isinstance(entry, Categorical) for name in entry.categories]
        # Erased categories keep their column of x, so they count towards the limit.
        self._known, self._room = set(existing), MOST_CATEGORIES - len(existing)
        self.categories: set[str] = set()
        self.too_many = False

    @property
    def is_complete(self) -> bool:
        return False

    @property
    def new(self) -> list[Kind]:
        appended = [Categorical(self.name, tuple(sorted(self.categories)))] if self.categories else []
        return [*super().new, *appended]

    def _look(self, batch: Batch, column: Column) -> None:
        super()._look(batch, column)
        if first_other(column) is not None:
            return
        for cell in dict.fromkeys(listed(column)):
            name = None if cell is None else category(cell)
            if name is None or name in self._known or name in self.categories:
                continue
            if len(self.categories) < self._room:
                self.categories.add(name)
            else:
                self.too_many = True


def growth_of(entries: Sequence[Kind], impute: bool) -> ColumnGrowth:
    """Return the growth of the column of these entries."""
    first = entries[0]
    if isinstance(first, Categorical):
        return CategoryGrowth(entries, impute)
    if isinstance(first, Numeric) and first.is_single:
        return NumberGrowth(entries, impute)
    # Embeddings of text always vary, and computing them is slow.
    return (VaryingGrowth if type(first) in (Numeric, Amount) else ColumnGrowth)(entries, impute)


class Growth:
    """Entries that a later table appends to an encoding, collected in one pass.

    * A new category gets a column of x, up to 100 in total.
    * A column with its first missing cell gets an indicator; the missing number becomes the mean.
    * A scaled column that starts to vary gets a column of x.
    * A column in `add` becomes an input.

    All entries are appended, so an older encoding is a prefix of a newer one. For rows of earlier tables the
    new columns of x have the values `before`.

    Parameters
    ----------
    encoding
        Encoding of the tables so far.
    add
        New columns that become inputs.
    categorical, embedding, text
        Types of these columns given by the user.
    text_model
        Model that embeds the text of a new column; it is downloaded if necessary.
    impute
        Whether missing cells are allowed in this and all later tables.
    scale
        Whether numbers of new columns are scaled.
    aside
        Columns that can never become inputs, such as the labels.

    Attributes
    ----------
    known
        Encoding of the tables so far, with `impute` applied.
    columns
        Growth of the columns that are inputs.
    added, offered
        New columns that become inputs, and new columns that do not.

    Examples
    --------
    >>> from qufur.tables import Encoding
    >>> encoding = Encoding.of([Batch({"wind": [1, 3], "sky": ["fog", "storm"]})])
    >>> later = Batch({"wind": [None, 3], "sky": ["fog", "hail"], "gate": [2, 4]})
    >>> growth = Growth(encoding, add=["gate"], impute=True)
    >>> growth.add(later)
    >>> growth.grown.names[3:], growth.before
    (['wind missing', 'sky=hail', 'gate', 'gate known'], [0.0, 0.0, 0.0, 0.0])
    >>> growth.grown.encode(later)
    array([[ 0.,  1.,  0.,  1.,  0., -1.,  1.],
           [ 1.,  0.,  0.,  0.,  1.,  1.,  1.]])
    """

    def __init__(
        self,
        encoding: Encoding,
        *,
        add: Sequence[str] = (),
        categorical: Sequence[str] = (),
        embedding: str | None = None,
        text: str | None = None,
        text_model: str = BERT,
        impute: bool = False,
        scale: bool = True,
        aside: Sequence[str] = (),
    ) -> None:
        self.known = replace(encoding, impute=encoding.impute or impute)
        self._scale = scale
        entries: dict[str, list[Kind]] = {}
        for entry in encoding.columns:
            entries.setdefault(entry.name, []).append(entry)
        self.columns = [growth_of(group, self.known.impute) for group in entries.values()]
        self.added = [name for name in dict.fromkeys(add) if name not in entries]
        for name in self.added:
            if name in aside:
                raise invalid("column to add", "Growth", "neither of ids nor of labels", repr(name))
        self._aside = {*aside, *self.added}
        self._types: dict[str | None, str] = {embedding: "embedding", text: "text"}
        self._types |= dict.fromkeys(categorical, "categorical")
        self._text_model = text_model
        self._inferences: list[ColumnInference] | None = None
        self.offered: list[str] = []

    @property
    def is_complete(self) -> bool:
        """Whether no table can add an entry."""
        return not self.added and all(column.is_complete for column in self.columns)

    def add(self, batch: Batch) -> None:
        """Update the growth with a batch."""
        if self._inferences is None:
            self._inferences = [
                inference_of(name, batch.file, self._types.get(name), self._text_model, added=True)
                for name in self.added
            ]
            self.offered = [name for name in self.known.new_columns(batch) if name not in self._aside]
        growing = [column for column in self.columns if not (column.is_complete and batch.has(column.name))]
        add_batch([*growing, *self._inferences], batch)

    @property
    def grown(self) -> Encoding:
        """Encoding with all new entries appended."""
        impute = self.known.impute
        new = [entry for column in self.columns for entry in column.new]
        for inference in self._inferences or ():
            entry = inference.kind(impute=impute)
            if isinstance(entry, Numeric):
                # Rows of earlier tables are like missing cells: one indicator serves both.
                entry = replace(entry, scaled=self._scale, added=True, blanks=False)
            new.append(entry)
        return replace(self.known, columns=(*self.known.columns, *new))

    @property
    def before(self) -> list[float]:
        """Values of the new columns of x for rows of earlier tables."""
        new = self.grown.columns[len(self.known.columns) :]
        return [value for entry in new for value in entry.before]
