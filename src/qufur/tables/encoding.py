"""From rows of mixed columns to inputs, in a way that the first table decides and later ones add to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qufur.arrays import LARGEST, Floats
from qufur.errors import invalid
from qufur.tables.batch import Batch, spread
from qufur.tables.columns import Kind, Numeric, Text, kind_from_state, kind_state
from qufur.tables.embeddings import BERT
from qufur.tables.plain import numbers_in_text
from qufur.tables.survey import Survey, TextSurvey
from qufur.tables.text_vectors import vectors_of


@dataclass(frozen=True)
class Encoding:
    """What becomes of each column; made from the first table, and followed by every later one.

    It never changes; `Growth` makes one with further entries at the end, whose inputs come after all others.

    * Numeric columns stay as they are, for models that scale inputs. If scaled, they become
      (number − mean) / deviation, with the moments of the first table; a column that was constant there is
      0. Embeddings are treated so, number by number.
    * A column of text becomes the embedding that a language model makes of it.
    * Categorical columns become one-hot over the categories of the first table in sorted order. A category
      that the first table did not have becomes all zeros.
    * Missing cells are errors unless `impute`. Then a missing number is the mean of the first table, and so
      is a later cell that is no number; columns that had missing cells there get an indicator. A missing
      category is one of its own if the first table had missing cells there, and all zeros if not.
    * The order of columns in later tables does not matter. A column that is lacking there is an error, and
      with `impute` all its cells are missing; one that is new is ignored.

    Parameters
    ----------
    columns
        The columns used, in the order of the first table; then further entries for them, or for new columns.
    impute
        Whether cells may be missing.
    aside
        The columns of the first table that are no inputs; None if that is not known.

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
        """Decide in one pass over the first table.

        A column is numeric if all its cells are numbers, an embedding if they are lists of numbers of one
        length, and categorical if not. Cells such as 1,000, 5% and € 3.20 are numbers too, dates and times
        become hour, weekday, month and days, and of more than 100 categories the hashes share columns;
        `notes` says where this was done.

        Parameters
        ----------
        batches
            The first table.
        skip, id, target
            Columns that are no inputs.
        numeric, categorical
            Columns said to be so: text among numbers is then an error, and number codes are categories.
        embedding
            A column whose cells are lists of numbers, also as text such as [0.5, 1.25] in a CSV file.
        text
            A column of free text. Needs the extra `text`.
        text_model
            The name or the folder of the `transformers` model that makes vectors of text; see `TokenMeans`.
            It is downloaded here if need be, and never by `encode`: a state may come from anywhere.
        impute
            Whether cells may be missing.
        scale
            Whether numbers are scaled; False is for models that do so themselves, such as `Experts`.
        """
        aside = {name for name in (id, target, *skip) if name is not None}
        said = [*numeric, *categorical, *(name for name in (embedding, text) if name is not None)]
        surveys: list[Survey] | None = None
        for batch in batches:
            if surveys is None:
                _check_names(batch, aside, said)
                surveys = [
                    TextSurvey(name, batch.file, text_model)
                    if name == text
                    else Survey(
                        name,
                        batch.file,
                        numeric=name in numeric,
                        categorical=name in categorical,
                        embedding=name == embedding,
                    )
                    for name in _columns(batch, {*aside, *said})
                    if name not in aside
                ]
            _add(batch, surveys)
        if not surveys:
            raise invalid("columns", "Encoding", "at least one that is not set aside", "none", "Skip fewer.")
        kinds = (survey.kind(impute=impute) for survey in surveys)
        return cls(
            tuple(replace(kind, scaled=scale) if isinstance(kind, Numeric) else kind for kind in kinds),
            impute,
            tuple(sorted(aside)),
        )

    @property
    def dim(self) -> int:
        """Number of columns of x."""
        return len(self.names)

    @property
    def names(self) -> list[str]:
        """One per column of x, such as wind, season=winter, wind missing or text[3]."""
        return [name for column in self.columns for name in column.names]

    @property
    def text(self) -> str | None:
        """The column of text, if there is one."""
        return next((column.name for column in self.columns if isinstance(column, Text)), None)

    def fetch(self, model: str) -> None:
        """Load the model of a column of text, and download it if need be; it must be one of those known."""
        known = [column.model for column in self.columns if isinstance(column, Text)]
        if model not in known:
            names = " or ".join(map(repr, known))
            allowed = f"that of the first table, {names}" if known else "left out without a column of text"
            raise invalid("text_model", "Encoding", allowed, repr(model))
        vectors_of(model, fetch=True)

    @property
    def notes(self) -> list[str]:
        """What was made of cells that need not be meant so, a line per column."""
        return [column.note for column in self.columns if column.note]

    @property
    def constant(self) -> list[str]:
        """The scaled columns of one number only so far, which say nothing until they vary."""
        varied: dict[str, bool] = {}
        for column in self.columns:
            if isinstance(column, Numeric) and column.scaled and not column.vector:
                varied[column.name] = varied.get(column.name, False) or column.deviation > (0.0,)
        return [name for name, did in varied.items() if not did]

    def new_columns(self, batch: Batch) -> list[str]:
        """Return the columns that are neither inputs nor set aside in the first table, if that is known."""
        if self.aside is None:
            return []
        known = {*self.aside, *(column.name for column in self.columns)}
        return [name for name in _columns(batch, known) if name not in known]

    def encode(self, batch: Batch) -> Floats:
        """Return the inputs (n, dim), O(n · dim)."""
        plain = [column for column in self.columns if type(column) is Numeric and len(column.names) == 1]
        if len(plain) == len(self.columns):
            values = numbers_in_text(batch, [column.name for column in plain])
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
        """Return the encoding that gave a state.

        >>> encoding = Encoding.of([Batch({"wind": [1, 3]})])
        >>> Encoding.from_state(encoding.state()) == encoding
        True
        """
        try:
            aside = state.get("aside")  # files of before do not have it
            columns = tuple(map(kind_from_state, state["columns"]))
            return cls(columns, state["impute"], None if aside is None else tuple(aside))
        except (AttributeError, KeyError, TypeError):
            raise invalid("state", "Encoding", "what state() gave", "something else") from None


def _add(batch: Batch, surveys: list[Survey]) -> None:
    settled = [survey for survey in surveys if survey.is_settled]
    values = numbers_in_text(batch, [survey.name for survey in settled])
    for survey in surveys if values is None else [survey for survey in surveys if survey not in settled]:
        survey.add(batch)
    if values is not None:
        for survey, column in zip(settled, values.T, strict=True):
            survey.add_numbers(column[:, None])


def _together(columns: Sequence[Numeric]) -> Numeric:
    """Return columns of one number each as one of vectors; all of them are scaled, or none is."""
    mean, deviation = zip(*((*c.mean, *c.deviation) for c in columns), strict=True)
    return Numeric("", mean, deviation, vector=True, scaled=columns[0].scaled)


def _columns(batch: Batch, named: set[str]) -> list[str]:
    """Return the columns; a matrix of which a number is named is taken number by number."""
    return list(batch.columns) if named.isdisjoint(batch.numbers) else spread(batch.columns, batch.numbers)


def _check_names(batch: Batch, aside: set[str], said: Sequence[str]) -> None:
    for name in (*said, *sorted(aside)):
        batch.column(name)
        if name in said and (name in aside or said.count(name) > 1):
            allowed = "set aside, or said to be of one kind"
            raise invalid(f"column {name!r}", "Encoding", allowed, "more than one of these")
