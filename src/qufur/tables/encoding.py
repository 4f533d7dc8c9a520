"""Encoding of mixed columns as inputs, inferred from the first table and extended by later ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qufur.arrays import LARGEST, Floats
from qufur.errors import invalid
from qufur.tables.batch import Batch, spread
from qufur.tables.columns import Kind, Numeric, Text, kind_from_state, kind_state
from qufur.tables.inference import ColumnInference, add_batch, inference_of
from qufur.tables.text import BERT, vectors_of


@dataclass(frozen=True)
class Encoding:
    """Mapping from columns to inputs, inferred from the first table and applied to every later one.

    An encoding is immutable; `Growth` creates one with entries appended, whose inputs follow all others.

    * Numeric columns are unchanged for models that scale inputs. If scaled, they become
      (number − mean) / deviation, with the moments of the first table; a column that was constant there is
      0. Embeddings are scaled number by number.
    * A column of text becomes its embedding by a language model.
    * Categorical columns become one-hot over the categories of the first table in sorted order. A category
      that the first table did not have becomes all zeros.
    * Missing cells are errors unless `impute`. Then the mean of the first table replaces missing numbers and
      later cells that are not numbers, and columns with missing cells in the first table get an indicator.
      Missing cells are a separate category if the first table had some there, and all zeros otherwise.
    * The order of columns in later tables is irrelevant. A missing column is an error; with `impute` all its
      cells are missing. A new column is ignored.

    Parameters
    ----------
    columns
        Entries in the order of the first table, then appended entries for these or for new columns.
    impute
        Whether cells may be missing.
    aside
        Columns of the first table that are not inputs; None if unknown.

    Examples
    --------
    >>> first = Batch({"wind": ["1", "3"], "season": ["winter", "spring"]})
    >>> encoding = Encoding.of([first])
    >>> encoding.names
    ['wind', 'season=spring', 'season=winter']
    >>> encoding.encode(Batch({"season": ["spring", "summer"], "wind": [2, 4]}))
    array([[0., 1., 0.],
           [2., 0., 0.]])
    """

    columns: tuple[Kind, ...]
    impute: bool = False
    aside: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        batches: Iterable[Batch],
        *,
        skip: Sequence[str] = (),
        id: str | None = None,
        target: str | None = None,
        numeric: Sequence[str] = (),
        categorical: Sequence[str] = (),
        embedding: str | None = None,
        text: str | None = None,
        text_model: str = BERT,
        impute: bool = False,
        scale: bool = True,
    ) -> Encoding:
        """Infer the encoding in one pass over the first table.

        A column is numeric if all its cells are numbers, an embedding if they are lists of numbers of one
        length, and categorical otherwise. Cells such as 1,000, 5% and € 3.20 are numbers too. Dates and times
        become hour, weekday, month and days. More than 100 categories are hashed. `notes` lists the columns
        that were read in one of these ways.

        Parameters
        ----------
        batches
            The first table.
        skip, id, target
            Columns that are not inputs.
        numeric, categorical
            Columns of a given type: text in a numeric column is an error, numbers may be categories.
        embedding
            A column whose cells are lists of numbers, also as text such as [0.5, 1.25] in a CSV file.
        text
            A column of free text. Needs the extra `text`.
        text_model
            Name or folder of the `transformers` model that embeds text; see `TokenMeans`. It is downloaded
            here if necessary, and never by `encode`, since a state file may be untrusted.
        impute
            Whether cells may be missing.
        scale
            Whether numbers are scaled; False for models that scale inputs themselves, such as `Experts`.

        Raises
        ------
        InvalidError
            If a named column is missing, the cells of a column are not of one type, or no input remains.
        """
        aside = {name for name in (id, target, *skip) if name is not None}
        typed = [*numeric, *categorical, *(name for name in (embedding, text) if name is not None)]
        types: dict[str | None, str] = {embedding: "embedding", text: "text"}
        types |= dict.fromkeys(numeric, "numeric")
        types |= dict.fromkeys(categorical, "categorical")
        inferences: list[ColumnInference] | None = None
        for batch in batches:
            if inferences is None:
                _check_names(batch, aside, typed)
                inferences = [
                    inference_of(name, batch.file, types.get(name), text_model)
                    for name in _columns(batch, {*aside, *typed})
                    if name not in aside
                ]
            add_batch(inferences, batch)
        if not inferences:
            raise invalid("columns", "Encoding", "at least one that is not set aside", "none", "Skip fewer.")
        entries = (inference.kind(impute=impute) for inference in inferences)
        return cls(
            tuple(replace(entry, scaled=scale) if isinstance(entry, Numeric) else entry for entry in entries),
            impute,
            tuple(sorted(aside)),
        )

    @property
    def dim(self) -> int:
        """Number of columns of x."""
        return len(self.names)

    @property
    def names(self) -> list[str]:
        """Names of the inputs, such as wind, season=winter, wind missing or text[3]."""
        return [name for column in self.columns for name in column.names]

    @property
    def text(self) -> str | None:
        """The column of text, if there is one."""
        return next((column.name for column in self.columns if isinstance(column, Text)), None)

    def fetch(self, model: str) -> None:
        """Load the model of a column of text and download it if necessary; it must be in this encoding."""
        models = [column.model for column in self.columns if isinstance(column, Text)]
        if model not in models:
            names = " or ".join(map(repr, models))
            allowed = f"that of the first table, {names}" if models else "left out without a column of text"
            raise invalid("text_model", "Encoding", allowed, repr(model))
        vectors_of(model, fetch=True)

    @property
    def notes(self) -> list[str]:
        """Messages about readings of cells that may not be intended, one per column."""
        return [column.note for column in self.columns if column.note]

    @property
    def constant(self) -> list[str]:
        """Scaled columns that have been constant so far, which carry no information until they vary."""
        varied: dict[str, bool] = {}
        for column in self.columns:
            if isinstance(column, Numeric) and column.scaled and not column.vector:
                varied[column.name] = varied.get(column.name, False) or column.deviation > (0.0,)
        return [name for name, has_varied in varied.items() if not has_varied]

    def new_columns(self, batch: Batch) -> list[str]:
        """Return the columns that are neither inputs nor ignored in the first table, if that is known."""
        if self.aside is None:
            return []
        seen = {*self.aside, *(column.name for column in self.columns)}
        return [name for name in _columns(batch, seen) if name not in seen]

    def encode(self, batch: Batch) -> Floats:
        """Return the inputs (n, dim), O(n · dim).

        Raises
        ------
        InvalidError
            If a column is missing or a cell is invalid. The message names the column and the row.
        """
        plain = [column for column in self.columns if type(column) is Numeric and len(column.names) == 1]
        if len(plain) == len(self.columns):
            values = batch.numbers_in_text([column.name for column in plain])
            X = None if values is None else _together(plain).transform(values)
            if X is not None and (np.abs(X) < LARGEST).all():
                return X
        return np.concatenate([column.encode(batch, self.impute) for column in self.columns], axis=1)

    def state(self) -> dict[str, Any]:
        """Return the encoding as JSON values."""
        columns = [kind_state(column) for column in self.columns]
        return {"impute": self.impute, "columns": columns, "aside": self.aside and list(self.aside)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Encoding:
        """Return the encoding whose JSON values `state` returned.

        >>> encoding = Encoding.of([Batch({"wind": [1, 3]})])
        >>> Encoding.from_state(encoding.state()) == encoding
        True
        """
        try:
            aside = state.get("aside")  # missing in files written by older versions
            columns = tuple(map(kind_from_state, state["columns"]))
            return cls(columns, state["impute"], None if aside is None else tuple(aside))
        except (AttributeError, KeyError, TypeError):
            raise invalid("state", "Encoding", "a value that state() returned", "another value") from None


def _together(columns: Sequence[Numeric]) -> Numeric:
    """Return columns of single numbers as one vector column; either all of them are scaled, or none."""
    mean, deviation = zip(*((*c.mean, *c.deviation) for c in columns), strict=True)
    return Numeric("", mean, deviation, vector=True, scaled=columns[0].scaled)


def _columns(batch: Batch, named: set[str]) -> list[str]:
    """Return the columns; a matrix is split into single columns if one of these is in `named`."""
    return list(batch.columns) if named.isdisjoint(batch.numbers) else spread(batch.columns, batch.numbers)


def _check_names(batch: Batch, aside: set[str], typed: Sequence[str]) -> None:
    for name in (*typed, *sorted(aside)):
        batch.column(name)
        if name in typed and (name in aside or typed.count(name) > 1):
            allowed = "ignored, or of one type"
            raise invalid(f"column {name!r}", "Encoding", allowed, "more than one of these")
